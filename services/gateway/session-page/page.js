/* The page behind a join link: one session, over the WebSocket that docs/rtc.md describes. */
const RETRY_MS = 500;
/** The session waits for a tab that is gone for 5 s. */
const RETRY_FOR_MS = 5000;
/** More than this waits unsent: what is said now would come too late, bytes. */
const MAX_UNSENT = 32000;

const at = (id) => document.getElementById(id);
const say = (text) => {
  at("status").textContent = text;
};
const KEPT = `resume ${location.pathname}`;

const REFUSALS = {
  LEAD_NOT_FOUND: "This link does not work, or not any more. Ask for a new one.",
  SESSION_TAKEN: "Somebody has joined this conversation already, in another window or on another device.",
  SESSION_OVER: "This conversation is over.",
  SESSION_HELD: "The conversation can't begin at the moment. Try again later.",
  NUMBER_BLACKLISTED: "This conversation is not available.",
  BUSY: "All places are taken at the moment. Try again in a minute.",
  RATE_LIMITED: "That was tried too often. Wait a minute, then try again.",
};
const MICROPHONE = {
  NotAllowedError:
    "The microphone is not allowed. Allow it for this page in your browser, then press the button again.",
  NotFoundError: "No microphone was found. Connect one, then press the button again.",
  NotReadableError: "The microphone is in use by another program. Close it, then press the button again.",
};

let socket = null;
let over = false;
let muted = false;
let media = null;
let wakeLock = null;

async function openMedia() {
  if (!navigator.mediaDevices || !window.AudioWorkletNode)
    throw new Error("This browser can't be used here: the page must be opened over https, in a current browser.");
  const stream = await navigator.mediaDevices
    .getUserMedia({ audio: { echoCancellation: true, noiseSuppression: true, autoGainControl: true } })
    .catch((error) => {
      throw new Error(MICROPHONE[error.name] || "The microphone can't be used. Check it, then press the button again.");
    });
  const context = new AudioContext();
  await context.audioWorklet.addModule("/r/assets/audio.js");
  await context.resume();
  const microphone = new AudioWorkletNode(context, "microphone", { numberOfOutputs: 0 });
  const loudspeaker = new AudioWorkletNode(context, "loudspeaker", { numberOfInputs: 0, outputChannelCount: [1] });
  context.createMediaStreamSource(stream).connect(microphone);
  loudspeaker.connect(context.destination);
  microphone.port.addEventListener("message", ({ data: { frame, peak } }) => {
    at("level").value = muted ? 0 : peak;
    if (!socket || socket.readyState !== WebSocket.OPEN || socket.bufferedAmount > MAX_UNSENT) return;
    socket.send(muted ? new Int16Array(frame.length) : frame);
  });
  microphone.port.start();
  loudspeaker.port.addEventListener("message", ({ data: name }) => tell({ type: "mark", name }));
  loudspeaker.port.start();
  stream
    .getAudioTracks()[0]
    .addEventListener("ended", () => say("The microphone is gone. Connect it and load this page again."));
  return { stream, context, loudspeaker };
}

const tell = (message) => {
  if (socket && socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
};

/** Asks for a token: the first time it takes the session for this tab. */
async function access() {
  const resume = sessionStorage.getItem(KEPT);
  const answer = await fetch(location.pathname, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(resume ? { resume } : {}),
  });
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) {
    const error = new Error(REFUSALS[body.code] || "The conversation can't begin. Try again in a minute.");
    error.isFinal = body.code === "SESSION_OVER" || body.code === "LEAD_NOT_FOUND" || body.code === "SESSION_TAKEN";
    throw error;
  }
  sessionStorage.setItem(KEPT, body.resume);
  return body;
}

function showLines({ from, lines }) {
  const list = at("words");
  at("heading").hidden = false;
  while (list.children.length > from) list.lastElementChild.remove();
  for (const { role, content } of lines) {
    const item = document.createElement("li");
    const who = document.createElement("b");
    who.textContent = role === "user" ? "You" : "Assistant";
    item.append(who, content);
    list.append(item);
  }
}

function received({ data }) {
  if (typeof data !== "string") {
    const pcm = new Int16Array(data);
    media.loudspeaker.port.postMessage({ type: "sound", pcm }, [pcm.buffer]);
    return;
  }
  const message = JSON.parse(data);
  if (message.type === "mark" || message.type === "clear") media.loudspeaker.port.postMessage(message, []);
  else if (message.type === "transcript") showLines(message);
  else if (message.type === "node") document.body.dataset.node = message.name;
  else if (message.type === "end") finish("The conversation is over. You can close this page.");
}

function connect({ url, token }) {
  return new Promise((resolve, reject) => {
    const next = new WebSocket(url, ["callagent.session", token]);
    next.binaryType = "arraybuffer";
    next.addEventListener("open", () => {
      socket = next;
      tell({ type: "start" });
      say("You can talk now.");
      resolve();
    });
    next.addEventListener("message", received);
    next.addEventListener("error", () =>
      reject(new Error("The connection can't be made. Check your network, then try again.")),
    );
    next.addEventListener("close", ({ code }) => {
      if (socket !== next || over) return;
      socket = null;
      if (code === 4001) finish("The conversation goes on in another window.");
      else void reconnect();
    });
  });
}

async function reconnect() {
  say("The network is gone. Trying to come back…");
  for (const until = performance.now() + RETRY_FOR_MS; performance.now() < until;) {
    if (over) return;
    try {
      return await connect(await access());
    } catch (error) {
      if (error.isFinal) break;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
  if (!over) finish("The connection is lost, and the conversation has ended.");
}

function finish(text) {
  over = true;
  say(text);
  for (const id of ["start", "mute", "end", "meter"]) at(id).hidden = true;
  if (wakeLock) void wakeLock.release().catch(() => undefined);
  if (!media) return;
  for (const track of media.stream.getTracks()) track.stop();
  // the last words are in the loudspeaker's queue still
  setTimeout(() => void media.context.close(), 1000);
}

async function start() {
  at("start").disabled = true;
  say("Allow the microphone when your browser asks…");
  try {
    media = media || (await openMedia());
    say("Connecting…");
    await connect(await access());
    for (const id of ["mute", "end", "meter"]) at(id).hidden = false;
    at("start").hidden = true;
    at("mute").focus();
    wakeLock = navigator.wakeLock ? await navigator.wakeLock.request("screen").catch(() => null) : null;
  } catch (error) {
    if (error.isFinal) return finish(error.message);
    say(error instanceof TypeError ? "There is no network. Check it, then press the button again." : error.message);
    at("start").disabled = false;
  }
}

at("start").addEventListener("click", () => void start());
at("mute").addEventListener("click", () => {
  muted = !muted;
  at("mute").setAttribute("aria-pressed", String(muted));
  at("mute").textContent = muted ? "Unmute" : "Mute";
});
at("end").addEventListener("click", () => {
  tell({ type: "leave" });
  finish("You have ended the conversation.");
});
if (sessionStorage.getItem(KEPT)) {
  say("You were in this conversation. Press the button to go on.");
  at("start").textContent = "Go on";
}
