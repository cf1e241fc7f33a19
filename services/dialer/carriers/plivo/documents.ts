import type { XmlTurnReply } from "../../../../shared/contracts/conversation.ts";
import { LANGUAGE_FIELD } from "../../../../shared/phrases.ts";
import type { InboundCall, InboundDecision } from "../carrier-port.ts";
import { bare } from "./dial-request.ts";
import { element, escaped, responseDocument } from "../xml.ts";
import { recognitionLanguage, speechVoice } from "./voices.ts";

/**
 * A voicemail greeting counts as over after this much silence. Its beep is not waited for: the conversation learns of the voicemail with the
 * first speech passed on, which may be after the beep, and then it would say nothing until the voicemail hangs up.
 */
const GREETING_OVER_MS = 2000;
/** Plivo takes documents of up to 100 KB; this many characters stay below that however they are written, and no caller listens longer. */
const MAX_SPOKEN_CHARS = 8000;
/** The voices take this much at once. */
const MAX_SPEAK_CHARS = 2500;
/** Bounds of GetInput's executionTimeout, in seconds. */
const LISTEN_SECONDS = { least: 5, most: 60 };
/** An entry of DTMF ends this many seconds after its last digit, after this many digits, or with the finishing digit. */
const KEYS_END_SECONDS = 3;
const MAX_KEYS = 32;
const FINISHING_KEY = "#";
/** Between two requests for the conversation's next step, in seconds: Plivo counts whole ones. */
const THINKING_SECONDS = 1;

/** Where the follow-up is asked for. */
export interface Place {
  callback_base: string;
  call_ref: string;
}

interface Manner {
  language: string;
  voice: string | null;
}

/** Texts cut to what one Speak takes, at a blank where there is one. */
function* portions(text: string): Generator<string> {
  let rest = text.trim();
  while (rest.length > MAX_SPEAK_CHARS) {
    const blank = rest.lastIndexOf(" ", MAX_SPEAK_CHARS);
    const end = blank > 0 ? blank : MAX_SPEAK_CHARS;
    yield rest.slice(0, end);
    rest = rest.slice(end).trimStart();
  }
  if (rest !== "") yield rest;
}

const speak = (text: string, { language, voice }: Manner): string =>
  [...portions(text)]
    .map((portion) => element("Speak", { ...speechVoice(language, voice) }, escaped(portion)))
    .join("");

const hangUp = element("Hangup");

const redirect = (url: string): string => element("Redirect", { method: "POST" }, escaped(url));

/** The address asked next. The number distinguishes a retry of this question from the same answer given again. */
export const turnUrl = (
  { callback_base, call_ref }: Place,
  { turn, language }: Pick<XmlTurnReply, "turn" | "language">,
): string => `${callback_base}/turn/${call_ref}?turn=${turn}&${LANGUAGE_FIELD}=${encodeURIComponent(language)}`;

/** Says interruptible text while it listens, other text before. */
function listening(reply: XmlTurnReply, next: XmlTurnReply["next"] & { kind: "listen" }, place: Place): string {
  const firmEnd = reply.say.findLastIndex((s) => !s.interruptible) + 1;
  const [firm, loose] = [reply.say.slice(0, firmEnd), reply.say.slice(firmEnd)].map((texts) =>
    texts.map(({ text }) => speak(text, reply)).join(""),
  );
  const url = turnUrl(place, reply);
  const input = element(
    "GetInput",
    {
      action: url,
      method: "POST",
      inputType: next.keys_only ? "dtmf" : "dtmf speech",
      executionTimeout: String(Math.min(Math.max(next.seconds, LISTEN_SECONDS.least), LISTEN_SECONDS.most)),
      speechEndTimeout: next.keys_only ? null : "auto",
      digitEndTimeout: String(KEYS_END_SECONDS),
      numDigits: String(MAX_KEYS),
      finishOnKey: FINISHING_KEY,
      language: next.keys_only ? null : recognitionLanguage(reply.language),
      redirect: "true",
    },
    loose ?? "",
  );
  return `${firm ?? ""}${input}${redirect(url)}`; // nothing heard: asked again
}

/** Cuts what is said to what a document holds. */
function bounded(reply: XmlTurnReply): XmlTurnReply {
  let left = MAX_SPOKEN_CHARS;
  const say = reply.say.map(({ text, interruptible }) => {
    const kept = text.slice(0, left);
    left -= kept.length;
    return { text: kept, interruptible };
  });
  return { ...reply, say };
}

function insideOf(reply: XmlTurnReply, place: Place): string {
  const { next } = reply;
  const said = (): string => reply.say.map(({ text }) => speak(text, reply)).join("");
  switch (next.kind) {
    case "listen":
      return listening(reply, next, place);
    case "again":
      return `${said()}${element("Wait", { length: String(THINKING_SECONDS) })}${redirect(turnUrl(place, reply))}`;
    case "message":
      return `${said()}${element("Wait", { length: String(Math.max(1, next.patience_seconds)), silence: "true", minSilence: String(GREETING_OVER_MS) })}${speak(next.message.slice(0, MAX_SPOKEN_CHARS), reply)}${hangUp}`;
    case "hang_up":
      return `${said()}${hangUp}`;
    case "nothing":
      return "";
  }
}

/** The next step of a conversation (https://www.plivo.com/docs/voice/xml/getinput). */
export const turnDocument = (reply: XmlTurnReply, place: Place): string =>
  responseDocument(insideOf(bounded(reply), place));

/** Connects the call to another number; `caller_id` null: the caller's own. `first`: what is said before. */
export const dialDocument = (
  to: string,
  caller_id: string | null,
  first: { message: string | null; language: string } | null = null,
): string => {
  const message = first?.message ?? "";
  const said =
    first === null ? "" : speak(message.slice(0, MAX_SPOKEN_CHARS), { language: first.language, voice: null });
  return responseDocument(`${said}${element("Dial", { callerId: caller_id }, element("Number", {}, escaped(to)))}`);
};

/** Rejects an inbound call, with a reason where there is one. */
export const rejectDocument = (message: string | null, language: string): string =>
  responseDocument(
    message === null || message.trim() === ""
      ? element("Hangup", { reason: "rejected" })
      : `${speak(message.slice(0, MAX_SPOKEN_CHARS), { language, voice: null })}${hangUp}`,
  );

/** Says a sentence and ends the call. */
export const farewellDocument = (sentence: string, language: string): string =>
  responseDocument(`${speak(sentence, { language, voice: null })}${hangUp}`);

/**
 * Connects the audio of the call, both ways, to our WebSocket; the call ends with it (https://www.plivo.com/docs/voice/xml/the-stream-element).
 * Plivo reports the stream's own state besides.
 */
const streaming = (url: string, { callback_base, call_ref }: Place): string =>
  `${element(
    "Stream",
    {
      bidirectional: "true",
      keepCallAlive: "true",
      contentType: "audio/x-mulaw;rate=8000",
      statusCallbackUrl: `${callback_base}/stream/${call_ref}`,
      statusCallbackMethod: "POST",
    },
    escaped(url),
  )}${hangUp}`;

/** Connects an answered call to the conversation that waits at this WebSocket. */
export const streamDocument = (url: string, place: Place): string => responseDocument(streaming(url, place));

/** Accepts an inbound call whose conversation waits at this WebSocket, for so long at most. */
export const inboundStreamDocument = (url: string, talk_seconds: number, place: Place): string =>
  responseDocument(`${element("Hangup", { schedule: String(talk_seconds) })}${streaming(url, place)}`);

/** Accepts an inbound call, for so long at most; `greeting` null: it is asked for as with an outbound call. */
export function connectDocument(
  greeting: XmlTurnReply | null,
  talk_seconds: number,
  token: string,
  place: Place,
): string {
  const limit = element("Hangup", { schedule: String(talk_seconds) });
  const answer = `${place.callback_base}/answer/${place.call_ref}?media=${encodeURIComponent(token)}`;
  return responseDocument(`${limit}${greeting === null ? redirect(answer) : insideOf(bounded(greeting), place)}`);
}

/** The document that an inbound call is answered with. */
export function inboundDocument({ from, to }: InboundCall, decision: InboundDecision): string {
  switch (decision.kind) {
    case "reject":
      return rejectDocument(decision.message, decision.language);
    case "redirect":
      // a caller who withheld the number has none to show
      return dialDocument(bare(decision.to), from === null ? bare(to) : null, decision);
    case "connect": {
      const { media, talk_seconds, greeting } = decision;
      return media.kind === "audio"
        ? inboundStreamDocument(media.url, talk_seconds, decision)
        : connectDocument(greeting, talk_seconds, media.token, decision);
    }
  }
}
