import type { StreamDialect } from "../../../../shared/contracts/records/stream-dialect.ts";

/**
 * Plivo's audio streaming (https://www.plivo.com/docs/voice/concepts/audio-streaming). Nothing comes back of audio that was cleared. The stream names the call's leg, but the
 * dialer knows the call by the name of its request.
 */
export const plivoStream: StreamDialect = {
  dtmf: "message",
  returns_cleared_marks: false,
  content_types: { pcmu: "audio/x-mulaw", pcma: "audio/x-alaw", s16le: "audio/x-l16" },
  receive: {
    start: {
      event: "start",
      call_id: null,
      stream_id: ["start.streamId", "streamId"],
      encoding: "start.mediaFormat.encoding",
      sample_rate: "start.mediaFormat.sampleRate",
      channels: "start.mediaFormat.channels",
    },
    media: { event: "media", payload: "media.payload", track: "media.track", sequence: null },
    mark: { event: "playedStream", name: "name" },
    dtmf: { event: "dtmf", digit: "dtmf.digit" },
    stop: ["stop"],
    error: ["incorrectPayload", "error"],
    ignored: ["clearedAudio"],
  },
  send: {
    media: {
      event: "playAudio",
      media: { contentType: "{content_type}", sampleRate: "{sample_rate}", payload: "{payload}" },
    },
    mark: { event: "checkpoint", streamId: "{stream_id}", name: "{name}" },
    clear: { event: "clearAudio", streamId: "{stream_id}" },
    dtmf: { event: "sendDTMF", dtmf: "{digits}" },
  },
};
