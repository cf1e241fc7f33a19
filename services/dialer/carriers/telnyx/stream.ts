import type { StreamDialect } from "../../../../shared/contracts/records/stream-dialect.ts";

/**
 * Telnyx's media streaming (https://developers.telnyx.com/docs/voice/programmable-voice/media-streaming). Frames may come out of order; there is no message for DTMF, but a
 * command; marks that were cleared come back.
 */
export const telnyxStream: StreamDialect = {
  dtmf: "command",
  returns_cleared_marks: true,
  content_types: null,
  receive: {
    start: {
      event: "start",
      call_id: "start.call_control_id",
      stream_id: [],
      encoding: "start.media_format.encoding",
      sample_rate: "start.media_format.sample_rate",
      channels: "start.media_format.channels",
    },
    media: { event: "media", payload: "media.payload", track: "media.track", sequence: "media.chunk" },
    mark: { event: "mark", name: "mark.name" },
    dtmf: { event: "dtmf", digit: "dtmf.digit" },
    stop: ["stop"],
    error: ["error"],
    ignored: ["connected"],
  },
  send: {
    media: { event: "media", media: { payload: "{payload}" } },
    mark: { event: "mark", mark: { name: "{name}" } },
    clear: { event: "clear" },
    dtmf: null,
  },
};
