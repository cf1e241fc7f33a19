/* The page behind a join link: the SDK with a person's buttons. */
import { offerRecording } from "./recording.js";
import { join, wasJoined } from "./session.js";

const at = (id) => document.getElementById(id);
const say = (text) => {
  at("status").textContent = text;
};

let session = null;
let wakeLock = null;

function showLines({ lines, from }) {
  const list = at("words");
  at("heading").hidden = false;
  while (list.children.length > from) list.lastElementChild.remove();
  for (const { role, content } of lines.slice(from)) {
    const item = document.createElement("li");
    const who = document.createElement("b");
    who.textContent = role === "user" ? "You" : "Assistant";
    item.append(who, content);
    list.append(item);
  }
}

function finish(text) {
  say(text);
  for (const id of ["start", "mute", "end", "meter"]) at(id).hidden = true;
  if (wakeLock) void wakeLock.release().catch(() => undefined);
  offerRecording();
}

function follow(joined) {
  session = joined;
  showLines({ lines: joined.lines, from: 0 });
  at("heading").hidden = joined.lines.length === 0;
  showTransport();
  joined.addEventListener("state", showTransport);
  joined.addEventListener("transcript", ({ detail }) => showLines(detail));
  joined.addEventListener("node", ({ detail }) => {
    document.body.dataset.node = detail.name;
  });
  joined.addEventListener("level", ({ detail }) => {
    at("level").value = detail.peak;
  });
}

const onState = ({ state, message }) => (state === "ended" ? finish(message) : say(message));
const showTransport = () => {
  document.body.dataset.transport = session.transport || "";
};

async function start() {
  at("start").disabled = true;
  say("Allow the microphone when your browser asks…");
  try {
    follow(await join(location.pathname, { onState }));
    if (session.state === "ended") return;
    for (const id of ["mute", "end", "meter"]) at(id).hidden = false;
    at("start").hidden = true;
    at("mute").focus();
    wakeLock = navigator.wakeLock ? await navigator.wakeLock.request("screen").catch(() => null) : null;
  } catch (error) {
    if (error.isFinal) return finish(error.message);
    say(error.message);
    at("start").disabled = false;
  }
}

at("start").addEventListener("click", () => void start());
at("mute").addEventListener("click", () => {
  session.mute(!session.muted);
  at("mute").setAttribute("aria-pressed", String(session.muted));
  at("mute").textContent = session.muted ? "Unmute" : "Mute";
});
at("end").addEventListener("click", () => session.leave());
if (wasJoined(location.pathname)) {
  say("You were in this conversation. Press the button to go on.");
  at("start").textContent = "Go on";
}
