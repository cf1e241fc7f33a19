/* What the page offers after the end: the recording of a test session, for the tab that held it. */
import { keyOf } from "./session.js";

const AGAIN_MS = 2000;
/** A recording is stored within seconds, or where something is slow, within a minute. */
const STORED_WITHIN_MS = 60000;
const WORDS = {
  RECORDING_NOT_READY: "The recording is still being stored…",
  RECORDING_NOT_FOUND: "There is no recording of this conversation.",
  OTHER: "The recording can't be read at the moment.",
  LATE: "The recording is still being stored. Look again in a minute.",
  READY: "The conversation was recorded. It can be heard here for an hour after its end.",
  LOADING: "The recording is being loaded…",
  LOADED: "",
};
/** This tab has no right to hear it, or not any more. */
const NOT_OURS = new Set(["LEAD_NOT_FOUND", "FORBIDDEN", "UNAUTHENTICATED"]);

const at = (id) => document.getElementById(id);
const say = (code) => {
  const text = WORDS[code] || WORDS.OTHER;
  at("recording").hidden = false;
  // what is said again is not read out again
  if (at("recording-status").textContent !== text) at("recording-status").textContent = text;
};

/** What the button does. */
let act = () => undefined;
at("hear").addEventListener("click", () => act());

/** Asks for the recording, or for its first byte: whether it is there. Its code where it is not. */
async function ask(resume, headers) {
  try {
    const answer = await fetch(`${location.pathname}/recording`, {
      headers: { Authorization: `Bearer ${resume}`, ...headers },
      cache: "no-store",
    });
    if (answer.ok) return { code: "READY", answer };
    return { code: (await answer.json()).code || "OTHER" };
  } catch {
    return { code: "OTHER" };
  }
}

function offer(text, does) {
  const button = at("hear");
  act = does;
  button.textContent = text;
  button.hidden = false;
  button.disabled = false;
  // the button that was pressed last is gone from the page
  if (document.activeElement === document.body) button.focus();
}

async function load(resume) {
  at("hear").disabled = true;
  say("LOADING");
  const { code, answer } = await ask(resume, {});
  const sound = answer ? await answer.blob().catch(() => null) : null;
  if (!sound) {
    say(code === "READY" ? "OTHER" : code);
    return offer("Try again", () => void load(resume));
  }
  const player = at("player");
  player.src = URL.createObjectURL(sound);
  player.hidden = false;
  at("hear").hidden = true;
  at("recording-status").textContent = WORDS.LOADED;
  player.focus();
  // where the browser wants a person's own press for it, the player has a button
  await player.play().catch(() => undefined);
}

async function look(resume) {
  at("hear").hidden = true;
  for (const until = performance.now() + STORED_WITHIN_MS; performance.now() < until;) {
    const { code } = await ask(resume, { Range: "bytes=0-0" });
    if (NOT_OURS.has(code)) return;
    say(code);
    if (code === "READY") return offer("Hear the recording", () => void load(resume));
    if (code === "RECORDING_NOT_FOUND") return;
    if (code !== "RECORDING_NOT_READY") return offer("Look again", () => void look(resume));
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
  say("LATE");
  offer("Look again", () => void look(resume));
}

/** Offers the recording of the session that is over, if this tab held it and may hear it. */
export function offerRecording() {
  const resume = sessionStorage.getItem(keyOf(location.pathname));
  if (resume) void look(resume);
}
