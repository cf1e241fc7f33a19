import type { MediaLeg } from "./port.ts";
import { base64Of, countOf, formatOf, isInbound, partOf, textOf, type Frame } from "./stream-frames.ts";
import { reorderBuffer } from "./reorder-buffer.ts";
import { streamLeg, type Dialect, type MediaSocket, type StreamTold } from "./stream-leg.ts";

/** Media streaming over WebSockets (https://developers.telnyx.com/docs/voice/programmable-voice/media-streaming). Frames may come out of order. */
function dialect(): Dialect {
  let hears: StreamTold | null = null;
  const sound = reorderBuffer<string>((payload) => hears?.audio(payload));
  const start = (frame: Frame, told: StreamTold): void => {
    const begun = partOf(frame, "start");
    const format = partOf(begun, "media_format");
    told.start(
      textOf(begun, "call_control_id"),
      formatOf(textOf(format, "encoding"), countOf(format, "sample_rate"), countOf(format, "channels")),
    );
  };
  const media = (frame: Frame, told: StreamTold): void => {
    const sent = partOf(frame, "media");
    if (!isInbound(sent)) return;
    hears = told;
    sound.push(countOf(sent, "chunk"), textOf(sent, "payload"));
  };
  return {
    returns_cleared: true,
    read(frame, told) {
      switch (frame["event"]) {
        case "media":
          media(frame, told);
          return;
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
        case "error":
          told.complaint();
          return;
        case "connected":
          return;
        default:
          told.bad();
      }
    },
    flush: () => sound.flush(),
    media: (frame) => `{"event":"media","media":{"payload":"${base64Of(frame)}"}}`,
    mark: (name) => `{"event":"mark","mark":{"name":${JSON.stringify(name)}}}`,
    clear: () => '{"event":"clear"}',
  };
}

/** A leg over a bidirectional stream of Telnyx. It has no message for keys; marks that were cleared come back. */
export const telnyxLeg = (socket: MediaSocket): MediaLeg => streamLeg(socket, dialect());
