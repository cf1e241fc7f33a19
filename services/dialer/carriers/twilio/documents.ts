import { fail } from "../../../../shared/errors.ts";
import { element, escaped, responseDocument } from "../xml.ts";

/** Longest inline document Twilio takes. */
const MAX_DOCUMENT_CHARS = 4000;

/** Ends the call. */
export const hangUpDocument = (): string => responseDocument(element("Hangup"));

/** Nothing to do: the answer to a report. */
export const emptyDocument = (): string => responseDocument("");

/** What the relay needs to know. `action`: asked when the relay is over, for what comes next. */
export interface RelayOptions { url: string; action: string; language: string; voice: string | null }

/** Connects the answered call to our WebSocket, the carrier doing the speech (https://www.twilio.com/docs/voice/twiml/connect/conversationrelay). */
export function relayDocument({ url, action, language, voice }: RelayOptions): string {
  const relay = element("ConversationRelay", { url, language, voice, dtmfDetection: "true", interruptible: "any", reportInputDuringAgentSpeech: "any", events: "speaker-events" });
  const text = responseDocument(element("Connect", { action }, relay));
  if (text.length > MAX_DOCUMENT_CHARS) {
    fail("VALIDATION_FAILED", `The call document has ${text.length} characters, ${MAX_DOCUMENT_CHARS} are allowed: shorten PUBLIC_WS_URL, PUBLIC_HTTP_URL or the template's voice.`);
  }
  return text;
}

/** Connects the call to another number. */
export const transferDocument = (to: string, from: string): string =>
  responseDocument(element("Dial", { callerId: from }, element("Number", {}, escaped(to))));
