/* The web SDK: `join(link)` lets this page take part in a session (docs/rtc.md). No build step; types in session.d.ts. */
import { canEnterRooms, openRoom } from "./room-transport.js";
import { microphoneError, SessionError } from "./session-error.js";
import { openSocket } from "./socket-transport.js";

export { SessionError };

const RETRY_MS = 500;
/** The session waits 15 s for sound on a socket that looks open, and 5 s more for a tab that is gone. */
const RETRY_FOR_MS = 20000;
/** An answer that takes longer has lost its network. */
const ANSWER_MS = 3000;
/** The conversation is prepared meanwhile, its first words are made into sound. */
const FIRST_ANSWER_MS = 15000;
/** A network that is gone closes no connection: it is asked for an answer so often. */
const PING_MS = 1000;
/** Without an answer for so long a person is told; a transport is left when its own time is over. */
const SILENT_MS = 2500;
const LAST_WORDS_MS = 1000;

const GONE = "The network is gone. Trying to come back…";
const MUTED = "Your microphone is muted. Press Unmute to talk.";
/** What the other transport may do better at. */
const OTHER_WAY = new Set(["CONNECTION", "NETWORK", "DEPENDENCY_DOWN"]);

/** Where a tab keeps the secret of a session that it has joined. */
export const keyOf = (link) => `resume ${new URL(link, location.href).href}`;

/** Whether this tab was in the session before, and can go on. */
export const wasJoined = (link) => sessionStorage.getItem(keyOf(link)) !== null;

/** Asks for a token: the first time it takes the session for this tab. `livekit`: one for a LiveKit room will do. */
async function access(link, livekit) {
  const resume = sessionStorage.getItem(keyOf(link));
  let answer;
  try {
    // without a type of its own the request needs no leave of another origin's server
    answer = await fetch(link, {
      method: "POST",
      body: JSON.stringify(resume ? { resume, livekit } : { livekit }),
      signal: AbortSignal.timeout(resume ? ANSWER_MS : FIRST_ANSWER_MS),
    });
  } catch {
    throw new SessionError("NETWORK");
  }
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new SessionError(body.code);
  sessionStorage.setItem(keyOf(link), body.resume);
  return body;
}

async function openMedia() {
  if (!navigator.mediaDevices || !window.AudioWorkletNode) throw new SessionError("BROWSER");
  const stream = await navigator.mediaDevices
    .getUserMedia({ audio: { echoCancellation: true, noiseSuppression: true, autoGainControl: true } })
    .catch((error) => {
      throw microphoneError(error.name);
    });
  const context = new AudioContext();
  await context.audioWorklet.addModule(new URL("audio.js", import.meta.url));
  // without a loudspeaker some browsers wait for ever
  const plays = context.resume().then(() => true);
  if (!(await Promise.race([plays, new Promise((resolve) => setTimeout(resolve, ANSWER_MS, false))]))) {
    for (const track of stream.getTracks()) track.stop();
    void context.close();
    throw new SessionError("LOUDSPEAKER");
  }
  const microphone = new AudioWorkletNode(context, "microphone", { numberOfOutputs: 0 });
  context.createMediaStreamSource(stream).connect(microphone);
  return { stream, context, microphone };
}

/**
 * A session that was joined. Events (CustomEvent, what they carry in `detail`): `state` {state, message}, `transcript` {lines}, `node` {name}, `level` {peak}, `speech` {…}. States: talking,
 * reconnecting, ended.
 */
export class Session extends EventTarget {
  muted = false;
  state = "connecting";
  lines = [];
  #link;
  #media;
  #transport = null;
  /** When the ping that was not answered yet was sent, ms; null: none waits. */
  #pingedAt = null;
  #watching;

  constructor(link, media) {
    super();
    this.#link = link;
    this.#media = media;
    media.microphone.port.addEventListener("message", ({ data: { peak } }) => {
      this.#tell("level", { peak: this.muted ? 0 : peak });
    });
    media.microphone.port.start();
    media.stream.getAudioTracks()[0].addEventListener("ended", () => {
      this.#tell("state", {
        state: this.state,
        message: "The microphone is gone. Connect it and load this page again.",
      });
    });
    this.#watching = setInterval(() => this.#watch(), PING_MS);
    addEventListener("offline", () => this.#falter());
    // a tab that is closed leaves in order, so that the session knows that it was left
    addEventListener("pagehide", () => this.#transport && this.#transport.close());
  }

  /** How the media travel: "livekit" or "websocket"; null: they do not at the moment. */
  get transport() {
    return this.#transport && this.#transport.name;
  }

  /** Sends a message of the session (docs/rtc.md). */
  send(message) {
    if (this.#transport) this.#transport.send(message);
  }

  /** Has a text spoken: a session of mode RTC_STREAM. */
  speak(text, how = {}) {
    const utterance_id = how.utterance_id || crypto.randomUUID();
    this.send({ type: "speak", text, ...how, utterance_id });
    return utterance_id;
  }

  /** A key of a telephone: 0 to 9, *, #. */
  press(name) {
    this.send({ type: "digit", name });
  }

  /** Says something by typing it: a turn of the person. */
  say(text) {
    this.send({ type: "say", text });
  }

  mute(muted) {
    this.muted = muted;
    if (this.#transport) this.#transport.mute(muted);
    if (this.state === "talking") this.#talk();
  }

  leave() {
    this.send({ type: "leave" });
    this.#finish("You have ended the conversation.");
  }

  /** Connects; for `join`. In a LiveKit room where the deployment has them, over its WebSocket where not, or where that does not come about. */
  async connect() {
    // a call has its link once the microphone is there
    if (typeof this.#link === "function") this.#link = await this.#link();
    const ways = canEnterRooms() ? [true, false] : [false];
    for (const livekit of ways) {
      try {
        return await this.#open(await access(this.#link, livekit));
      } catch (error) {
        if (!livekit || !OTHER_WAY.has(error.code) || this.state === "ended") throw error;
      }
    }
  }

  #tell(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }

  #enter(state, message) {
    this.state = state;
    this.#tell("state", { state, message });
  }

  #talk() {
    this.#enter("talking", this.muted ? MUTED : "You can talk now.");
  }

  async #open(how) {
    const opened = await (how.transport === "livekit" ? openRoom : openSocket)(how, this.#media, {
      received: (message) => this.#received(message),
      lost: (transport, isReplaced) => this.#lost(transport, isReplaced),
    }).catch(() => {
      throw new SessionError("CONNECTION");
    });
    if (this.state === "ended") return opened.close();
    this.#transport = opened;
    this.#pingedAt = null;
    opened.mute(this.muted);
    this.#talk();
  }

  #lost(transport, isReplaced) {
    if (this.#transport !== transport || this.state === "ended") return;
    this.#transport = null;
    if (isReplaced) this.#finish("The conversation goes on in another window.");
    else void this.#reconnect();
  }

  #received(message) {
    switch (message.type) {
      case "pong":
        this.#pingedAt = null;
        if (this.state === "reconnecting" && this.#transport) this.#talk();
        return;
      case "transcript":
        this.lines = [...this.lines.slice(0, message.from), ...message.lines];
        return this.#tell("transcript", { lines: this.lines, from: message.from });
      case "node":
        return this.#tell("node", { name: message.name });
      case "speech":
        return this.#tell("speech", message);
      case "end":
        this.#finish("The conversation is over. You can close this page.");
    }
  }

  /** Leaves a connection over which no answer comes any more. */
  #watch() {
    const transport = this.#transport;
    if (!transport) return;
    if (this.#pingedAt === null) this.#pingedAt = performance.now();
    const waitedMs = performance.now() - this.#pingedAt;
    if (waitedMs > transport.answerMs) {
      this.#lost(transport, false);
      return transport.close();
    }
    if (waitedMs > SILENT_MS) this.#falter();
    this.send({ type: "ping" });
  }

  /** The next answer, if there is one, says that the network is back. */
  #falter() {
    if (this.state === "talking") this.#enter("reconnecting", GONE);
  }

  async #reconnect() {
    this.#enter("reconnecting", GONE);
    for (const until = performance.now() + RETRY_FOR_MS; performance.now() < until;) {
      if (this.state === "ended") return;
      try {
        return await this.connect();
      } catch (error) {
        if (error.isFinal) break;
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
    if (this.state !== "ended") this.#finish("The connection is lost, and the conversation has ended.");
  }

  #finish(message) {
    // who has left is not told that it is over
    if (this.state === "ended") return;
    this.#enter("ended", message);
    this.release();
  }

  /** Lets go of microphone and loudspeaker; a session that has ended, or could not be joined, has done so. */
  release() {
    clearInterval(this.#watching);
    for (const track of this.#media.stream.getTracks()) track.stop();
    // the last words are on their way to the loudspeaker still
    setTimeout(() => {
      if (this.#transport) this.#transport.close();
      void this.#media.context.close();
    }, LAST_WORDS_MS);
  }
}

/** Joins the session behind a join link; call it when a person has pressed a button, for browsers ask for that before sound. `onState` hears of states from the first on. SessionError. */
export async function join(link, { onState } = {}) {
  const session = new Session(link, await openMedia());
  if (onState) session.addEventListener("state", ({ detail }) => onState(detail));
  try {
    await session.connect();
  } catch (error) {
    session.release();
    throw error;
  }
  return session;
}
