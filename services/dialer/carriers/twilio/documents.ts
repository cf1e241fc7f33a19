import { fail } from "../../../../shared/errors.ts";
import type { MediaTarget } from "../carrier-port.ts";
import { element, escaped, responseDocument } from "../xml.ts";

/** Longest inline document Twilio takes. */
const MAX_DOCUMENT_CHARS = 4000;

/** Ends the call. */
export const hangUpDocument = (): string => responseDocument(element("Hangup"));

/** Says a sentence; what stands behind it follows. */
export const said = (sentence: string, language: string): string => element("Say", { language }, escaped(sentence));

/** Says a sentence and ends the call. */
export const spokenEnd = (sentence: string, language: string): string =>
  responseDocument(said(sentence, language) + element("Hangup"));

/**
 * Settings of the relay. `action`: asked when the relay is over, for what comes next. `record_to`: the call is recorded in two channels, and this
 * address gets the end of it.
 */
export interface RelayOptions {
  url: string;
  action: string;
  language: string;
  voice: string | null;
  record_to?: string | null;
}

/** Begins to record beside what follows in the document (https://www.twilio.com/docs/voice/twiml/recording). */
const recordingStart = (recordingStatusCallback: string): string =>
  element(
    "Start",
    {},
    element("Recording", {
      channels: "dual",
      trim: "do-not-trim",
      recordingStatusCallback,
      recordingStatusCallbackMethod: "POST",
      recordingStatusCallbackEvent: "completed absent",
    }),
  );

const bounded = (text: string): string =>
  text.length <= MAX_DOCUMENT_CHARS
    ? text
    : fail(
        "VALIDATION_FAILED",
        `The call document has ${text.length} characters, ${MAX_DOCUMENT_CHARS} are allowed: shorten PUBLIC_WS_URL, PUBLIC_HTTP_URL or the template's voice.`,
      );

/** Connects the answered call to our WebSocket, the carrier doing the speech (https://www.twilio.com/docs/voice/twiml/connect/conversationrelay). */
export function relayDocument({ url, action, language, voice, record_to = null }: RelayOptions): string {
  const relay = element("ConversationRelay", {
    url,
    language,
    voice,
    dtmfDetection: "true",
    interruptible: "any",
    reportInputDuringAgentSpeech: "any",
    events: "speaker-events",
  });
  return bounded(
    responseDocument((record_to === null ? "" : recordingStart(record_to)) + element("Connect", { action }, relay)),
  );
}

/**
 * Connects the audio of the answered call, both ways, to our WebSocket
 * (https://www.twilio.com/docs/voice/twiml/stream#bidirectional-media-streams). The address takes no query.
 */
export const streamDocument = ({
  url,
  action,
  record_to = null,
}: Pick<RelayOptions, "url" | "action" | "record_to">): string =>
  bounded(
    responseDocument(
      (record_to === null ? "" : recordingStart(record_to)) +
        element("Connect", { action }, element("Stream", { url })),
    ),
  );

/** Connects the answered call to its conversation; `at` gives the addresses of callbacks. */
export const talkDocument = (
  media: MediaTarget,
  at: (kind: "relay-end" | "stream") => string,
  record_to: string | null = null,
): string =>
  media.kind === "audio"
    ? streamDocument({ url: media.url, action: at("stream"), record_to })
    : relayDocument({ ...media, action: at("relay-end"), record_to });

/** Connects the call to another number. */
export const transferDocument = (to: string, from: string): string =>
  responseDocument(element("Dial", { callerId: from }, element("Number", {}, escaped(to))));
