/* The page behind a join link: the SDK with a person's buttons. */
import { offerRecording } from "./recording.js";
import { SessionError } from "./session-error.js";
import { join, wasJoined } from "./session.js";

const KEYS = [..."123456789*0#"];
/** What is there while the conversation lasts. */
const DURING = ["mute", "end", "meter", "keypad", "typed"];
/** Keys that are shown as pressed. */
const SHOWN_KEYS = 20;

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
  for (const id of ["start", ...DURING, "keys", "pressed"]) at(id).hidden = true;
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
    for (const id of DURING) at(id).hidden = false;
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

for (const name of KEYS) {
  const key = document.createElement("button");
  key.type = "button";
  key.className = "plain";
  key.textContent = name;
  key.addEventListener("click", () => {
    session.press(name);
    at("pressed").hidden = false;
    at("pressed").textContent =
      `Pressed ${`${at("pressed").textContent.replace("Pressed ", "")}${name}`.slice(-SHOWN_KEYS)}`;
  });
  at("keys").append(key);
}
at("keypad").addEventListener("click", () => {
  at("keys").hidden = !at("keys").hidden;
  at("keypad").setAttribute("aria-expanded", String(!at("keys").hidden));
});
at("typed").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = at("text").value.trim();
  if (text === "") return;
  session.say(text);
  at("text").value = "";
});

const { refused } = document.body.dataset;
const isOurs = wasJoined(location.pathname);
// the tab that joined comes back to what is taken
if (refused && !(isOurs && refused === "SESSION_TAKEN")) finish(new SessionError(refused).message);
else if (isOurs) {
  say("You were in this conversation. Press the button to go on.");
  at("start").textContent = "Go on";
}
