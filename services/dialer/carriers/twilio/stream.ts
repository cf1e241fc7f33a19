import type { StreamDialect } from "../../../../shared/contracts/records/stream-dialect.ts";

/** Twilio's Media Streams (https://www.twilio.com/docs/voice/media-streams/websocket-messages): no message for DTMF; marks that were cleared come back. */
export const twilioStream: StreamDialect = {
  dtmf: "tones",
  returns_cleared_marks: true,
  content_types: null,
  receive: {
    start: {
      event: "start",
      call_id: "start.callSid",
      stream_id: ["streamSid", "start.streamSid"],
      encoding: "start.mediaFormat.encoding",
      sample_rate: "start.mediaFormat.sampleRate",
      channels: "start.mediaFormat.channels",
    },
    media: { event: "media", payload: "media.payload", track: "media.track", sequence: null },
    mark: { event: "mark", name: "mark.name" },
    dtmf: { event: "dtmf", digit: "dtmf.digit" },
    stop: ["stop"],
    error: [],
    ignored: ["connected"],
  },
  send: {
    media: { event: "media", streamSid: "{stream_id}", media: { payload: "{payload}" } },
    mark: { event: "mark", streamSid: "{stream_id}", mark: { name: "{name}" } },
    clear: { event: "clear", streamSid: "{stream_id}" },
    dtmf: null,
  },
};
