/* Why a session can't be joined, in words for the person. */
const WORDS = {
  LEAD_NOT_FOUND: "This link does not work, or not any more. Ask for a new one.",
  SESSION_TAKEN: "Somebody has joined this conversation already, in another window or on another device.",
  SESSION_OVER: "This conversation is over.",
  DOOR_NOT_FOUND: "Calls are not taken here any more.",
  CALL: "The call can't be made: the network is gone, or no calls are taken from this page.",
  PAYLOAD_INVALID: "This page does not say what is needed for a call.",
  SESSION_HELD: "The conversation can't begin at the moment. Try again later.",
  NUMBER_BLACKLISTED: "This conversation is not available.",
  BUSY: "All places are taken at the moment. Try again in a minute.",
  RATE_LIMITED: "That was tried too often. Wait a minute, then try again.",
  NotAllowedError:
    "The microphone is not allowed. Allow it for this page in your browser, then press the button again.",
  NotFoundError: "No microphone was found. Connect one, then press the button again.",
  NotReadableError: "The microphone is in use by another program. Close it, then press the button again.",
  MICROPHONE: "The microphone can't be used. Check it, then press the button again.",
  LOUDSPEAKER: "No loudspeaker can be used. Connect one, then press the button again.",
  BROWSER: "This browser can't be used here: the page must be opened over https, in a current browser.",
  NETWORK: "There is no network. Check it, then press the button again.",
  CONNECTION: "The connection can't be made. Check your network, then try again.",
};
const FINAL = new Set(["DOOR_NOT_FOUND", "PAYLOAD_INVALID", "LEAD_NOT_FOUND", "SESSION_TAKEN", "SESSION_OVER"]);

/** Why a session can't be joined: `code`, and `message` in plain words. `isFinal`: trying again does not help. */
export class SessionError extends Error {
  constructor(code, otherwise = "The conversation can't begin. Try again in a minute.") {
    super(WORDS[code] || otherwise);
    this.name = "SessionError";
    this.code = code;
    this.isFinal = FINAL.has(code);
  }
}

/** Why there is no microphone, by the name of the browser's error. */
export const microphoneError = (name) => new SessionError(WORDS[name] ? name : "MICROPHONE");
