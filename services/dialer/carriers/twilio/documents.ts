import { fail } from "../../../../shared/errors.ts";

/** Longest inline document Twilio takes. */
const MAX_DOCUMENT_CHARS = 4000;

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;", "'": "&apos;" };
/** Characters XML 1.0 can't hold at all, escaped or not. */
// oxlint-disable-next-line no-control-regex -- these are the characters meant
const FORBIDDEN = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]/g;

const escaped = (text: string): string => text.replace(FORBIDDEN, "").replace(/[&<>"']/g, (c) => ENTITIES[c] ?? c);

const attributes = (values: Record<string, string | null>): string =>
  Object.entries(values).map(([name, value]) => (value === null ? "" : ` ${name}="${escaped(value)}"`)).join("");

const response = (inside: string): string => `<?xml version="1.0" encoding="UTF-8"?><Response>${inside}</Response>`;

/** Ends the call. */
export const hangUpDocument = (): string => response("<Hangup/>");

/** Nothing to do: the answer to a report. */
export const emptyDocument = (): string => response("");

/** What the relay needs to know. `action`: asked when the relay is over, for what comes next. */
export interface RelayOptions { url: string; action: string; language: string; voice: string | null }

/** Connects the answered call to our WebSocket, the carrier doing the speech (https://www.twilio.com/docs/voice/twiml/connect/conversationrelay). */
export function relayDocument({ url, action, language, voice }: RelayOptions): string {
  const relay = attributes({ url, language, voice, dtmfDetection: "true", interruptible: "any", reportInputDuringAgentSpeech: "any", events: "speaker-events" });
  const text = response(`<Connect${attributes({ action })}><ConversationRelay${relay}/></Connect>`);
  if (text.length > MAX_DOCUMENT_CHARS) {
    fail("VALIDATION_FAILED", `The call document has ${text.length} characters, ${MAX_DOCUMENT_CHARS} are allowed: shorten PUBLIC_WS_URL, PUBLIC_HTTP_URL or the template's voice.`);
  }
  return text;
}

/** Connects the call to another number. */
export const transferDocument = (to: string, from: string): string =>
  response(`<Dial${attributes({ callerId: from })}><Number>${escaped(to)}</Number></Dial>`);
