import type { DialRequest, MediaTarget } from "../carrier-port.ts";

/** Telnyx's bounds; a longer ring or call is refused. */
const MAX_RING_SECONDS = 600;
const MIN_TALK_SECONDS = 30;
const MAX_TALK_SECONDS = 14_400;

/** Telnyx's client_state: base64, repeated with every event of the call. */
export const stateOf = (text: string): string => Buffer.from(text, "utf8").toString("base64");

/** Where events of a call of ours go. */
export const hooksOf = (callback_base: string, call_ref: string) => ({
  webhook_url: `${callback_base}/event/${call_ref}`,
  webhook_url_method: "POST",
});

/** Samples a second of what we send; answering takes no other. */
const STREAM_RATE = 8000;

/** Connects the call to our WebSocket at the answer: the carrier does the speech. */
const relayOf = ({ url, language, voice }: MediaTarget) => ({
  conversation_relay_config: {
    url,
    language,
    ...(voice === null ? {} : { voice }),
    dtmf_detection: true,
    interruptible: "any",
  },
});

/** The same with its audio, both ways: the callee's to us, ours to the callee. */
const streamOf = ({ url }: MediaTarget) => ({
  stream_url: url,
  stream_track: "inbound_track",
  stream_codec: "PCMU",
  stream_bidirectional_mode: "rtp",
  stream_bidirectional_codec: "PCMU",
  stream_bidirectional_target_legs: "self",
});

/** Connects the call to its conversation at the answer. */
export const talkOf = (media: MediaTarget) => (media.kind === "audio" ? streamOf(media) : relayOf(media));

/** Records the whole call from the answer, both sides apart. */
export const recordingIf = (record: boolean) =>
  record ? { record: "record-from-answer", record_channels: "dual", record_format: "wav" } : {};

/** The dial request as Telnyx takes it. AMD results come as events of their own, so nothing waits for them. */
export const dialBody = (
  connection_id: string,
  { call_ref, to, from, ring_seconds, talk_seconds, media, record, await_beep, callback_base }: DialRequest,
) => ({
  connection_id,
  to,
  from,
  ...hooksOf(callback_base, call_ref),
  command_id: call_ref,
  client_state: stateOf(call_ref),
  timeout_secs: Math.min(ring_seconds, MAX_RING_SECONDS),
  time_limit_secs: Math.min(Math.max(talk_seconds, MIN_TALK_SECONDS), MAX_TALK_SECONDS),
  // "detect" distinguishes human from voicemail; "greeting_end" also reports the end of a voicemail greeting, with a beep or without
  answering_machine_detection: await_beep ? "greeting_end" : "detect",
  ...recordingIf(record),
  ...talkOf(media),
  ...(media.kind === "audio" ? { stream_bidirectional_sampling_rate: STREAM_RATE } : {}),
});
