import type { AudioFormat, MediaLeg } from "./port.ts";
import { base64Of, countOf, formatOf, isInbound, partOf, textOf, type Frame } from "./stream-frames.ts";
import { streamLeg, type Dialect, type MediaSocket, type StreamTold } from "./stream-leg.ts";

const CONTENT_TYPE: Record<AudioFormat["codec"], string> = {
  pcmu: "audio/x-mulaw",
  pcma: "audio/x-alaw",
  s16le: "audio/x-l16",
};

/** Audio streaming (https://www.plivo.com/docs/voice/concepts/audio-streaming). The stream ends with its socket. */
function dialect(): Dialect {
  let streamId = '""';
  let kind = "";
  const start = (frame: Frame, told: StreamTold): void => {
    const begun = partOf(frame, "start");
    const named = partOf(begun, "mediaFormat");
    const format = formatOf(textOf(named, "encoding"), countOf(named, "sampleRate"), countOf(named, "channels"));
    streamId = JSON.stringify(textOf(begun, "streamId") || textOf(frame, "streamId"));
    if (format) kind = `"contentType":"${CONTENT_TYPE[format.codec]}","sampleRate":${format.rate}`;
    // the dialer knows the call by the name of its request, which the stream does not tell: one lead, one name
    told.start("", format);
  };
  return {
    returns_cleared: false,
    read(frame, told) {
      switch (frame["event"]) {
        case "media": {
          const media = partOf(frame, "media");
          if (isInbound(media)) told.audio(textOf(media, "payload"));
          return;
        }
        case "playedStream":
          told.markBack(textOf(frame, "name"));
          return;
        case "dtmf":
          told.digit(textOf(partOf(frame, "dtmf"), "digit"));
          return;
        case "start":
          start(frame, told);
          return;
        case "stop":
          told.stop();
          return;
        case "clearedAudio":
          return;
        case "incorrectPayload":
        case "error":
          told.complaint();
          return;
        default:
          told.bad();
      }
    },
    media: (frame) => `{"event":"playAudio","media":{${kind},"payload":"${base64Of(frame)}"}}`,
    mark: (name) => `{"event":"checkpoint","streamId":${streamId},"name":${JSON.stringify(name)}}`,
    clear: () => `{"event":"clearAudio","streamId":${streamId}}`,
    keys: (digits) => `{"event":"sendDTMF","dtmf":${JSON.stringify(digits)}}`,
  };
}

/** A leg over a bidirectional stream of Plivo. Of audio that was cleared nothing comes back: its marks are told as cleared at once. */
export const plivoLeg = (socket: MediaSocket): MediaLeg => streamLeg(socket, dialect());
