import { fail } from "../../../../shared/errors.ts";
import { element, escaped, responseDocument } from "../xml.ts";

/** Longest inline document Twilio takes. */
const MAX_DOCUMENT_CHARS = 4000;

/** Ends the call. */
export const hangUpDocument = (): string => responseDocument(element("Hangup"));

/** Nothing to do: the answer to a report. */
export const emptyDocument = (): string => responseDocument("");

/** What the relay needs to know. `action`: asked when the relay is over, for what comes next. `record_to`: the call is recorded, both sides apart, and the end of that told there. */
export interface RelayOptions { url: string; action: string; language: string; voice: string | null; record_to?: string | null }

/** Begins to record beside what follows in the document (https://www.twilio.com/docs/voice/twiml/recording). */
const recordingStart = (recordingStatusCallback: string): string =>
  element("Start", {}, element("Recording", { channels: "dual", trim: "do-not-trim", recordingStatusCallback, recordingStatusCallbackMethod: "POST", recordingStatusCallbackEvent: "completed absent" }));

/** Connects the answered call to our WebSocket, the carrier doing the speech (https://www.twilio.com/docs/voice/twiml/connect/conversationrelay). */
export function relayDocument({ url, action, language, voice, record_to = null }: RelayOptions): string {
  const relay = element("ConversationRelay", { url, language, voice, dtmfDetection: "true", interruptible: "any", reportInputDuringAgentSpeech: "any", events: "speaker-events" });
  const text = responseDocument((record_to === null ? "" : recordingStart(record_to)) + element("Connect", { action }, relay));
  if (text.length > MAX_DOCUMENT_CHARS) {
    fail("VALIDATION_FAILED", `The call document has ${text.length} characters, ${MAX_DOCUMENT_CHARS} are allowed: shorten PUBLIC_WS_URL, PUBLIC_HTTP_URL or the template's voice.`);
  }
  return text;
}

/** Connects the call to another number. */
export const transferDocument = (to: string, from: string): string =>
  responseDocument(element("Dial", { callerId: from }, element("Number", {}, escaped(to))));
