import type { MediaLeg } from "./port.ts";
import { base64Of, countOf, formatOf, isInbound, partOf, textOf, type Frame } from "./stream-frames.ts";
import { streamLeg, type Dialect, type MediaSocket, type StreamTold } from "./stream-leg.ts";

/** Media Streams (https://www.twilio.com/docs/voice/media-streams/websocket-messages). */
function dialect(): Dialect {
  let streamSid = '""';
  const start = (frame: Frame, told: StreamTold): void => {
    const begun = partOf(frame, "start");
    const format = partOf(begun, "mediaFormat");
    streamSid = JSON.stringify(textOf(frame, "streamSid") || textOf(begun, "streamSid"));
    told.start(
      textOf(begun, "callSid"),
      formatOf(textOf(format, "encoding"), countOf(format, "sampleRate"), countOf(format, "channels")),
    );
  };
  return {
    returns_cleared: true,
    read(frame, told) {
      switch (frame["event"]) {
        case "media": {
          const media = partOf(frame, "media");
          if (isInbound(media)) told.audio(textOf(media, "payload"));
          return;
        }
        case "mark":
          told.markBack(textOf(partOf(frame, "mark"), "name"));
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
        case "connected":
          return;
        default:
          told.bad();
      }
    },
    media: (frame) => `{"event":"media","streamSid":${streamSid},"media":{"payload":"${base64Of(frame)}"}}`,
    mark: (name) => `{"event":"mark","streamSid":${streamSid},"mark":{"name":${JSON.stringify(name)}}}`,
    clear: () => `{"event":"clear","streamSid":${streamSid}}`,
  };
}

/** A leg over a bidirectional stream of Twilio. It has no message for keys; marks that were cleared come back. */
export const twilioLeg = (socket: MediaSocket): MediaLeg => streamLeg(socket, dialect());
