/* The web SDK: `call(door)` lets a visitor of this page call without a link (docs/rtc.md). Types in call.d.ts. */
import { join, keyOf, SessionError } from "./session.js";

/** The conversation is prepared meanwhile. */
const ANSWER_MS = 15000;

const addressOf = (door) => new URL(`../call/${encodeURIComponent(door)}`, import.meta.url).href;
const kept = (door) => `call ${addressOf(door)}`;

/** Asks for a session of this tab's own; its link. SessionError. */
async function begun(door, variables) {
  let answer;
  try {
    // without a type of its own the request needs no leave of another origin's server
    answer = await fetch(addressOf(door), {
      method: "POST",
      body: JSON.stringify({ variables }),
      signal: AbortSignal.timeout(ANSWER_MS),
    });
  } catch {
    // an answer to a website that is not the door's can't be read either
    throw new SessionError("CALL");
  }
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new SessionError(body.code);
  sessionStorage.setItem(keyOf(body.url), body.resume);
  sessionStorage.setItem(kept(door), body.url);
  return body.url;
}

/** Goes on in the call that this tab had before the page was loaded again; null: there is none, or it is over. */
async function goneOn(door, how) {
  const link = sessionStorage.getItem(kept(door));
  if (!link) return null;
  try {
    return await join(link, how);
  } catch (error) {
    if (!error.isFinal) throw error;
    return null;
  }
}

/**
 * Calls through a door when a person has pressed a button. `variables`: what the template is to know of the visitor; `onState` hears of states from the first on. Resolves with a Session of
 * session.js. SessionError.
 */
export async function call(door, { variables = {}, onState } = {}) {
  const how = { onState };
  // the microphone first: whoever refuses it has not called
  const session = (await goneOn(door, how)) || (await join(() => begun(door, variables), how));
  session.addEventListener("state", ({ detail }) => {
    if (detail.state === "ended") sessionStorage.removeItem(kept(door));
  });
  return session;
}
