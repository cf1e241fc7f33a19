import { BrowserLeg } from "../../../../services/conversation/browser/browser-leg.ts";
import type { MediaLegEvents } from "../../../../services/conversation/transport/port.ts";
import { pcmOf } from "../../../speech/wav.ts";
import { SoundLog, type Places } from "./sound-stages.ts";

/** Notes the sound that passes the legs of sessions in this process, from now on: what is asked for comes by the rooms' names. */
export function watchLegs(): () => Pick<Places, "heard" | "written"> {
  const heard = new SoundLog();
  const written = new SoundLog();
  const roomOf = new WeakMap<BrowserLeg, string>();
  const { listen, write } = BrowserLeg.prototype;
  Object.assign(BrowserLeg.prototype, {
    listen(this: BrowserLeg, events: MediaLegEvents): void {
      let name = "";
      listen.call(this, {
        ...events,
        ready: (room, format) => {
          name = room ?? "";
          roomOf.set(this, name);
          events.ready(room, format);
        },
        audio: (frame) => {
          heard.note(name, pcmOf(frame));
          events.audio(frame);
        },
      });
    },
    write(this: BrowserLeg, frame: Uint8Array): void {
      written.note(roomOf.get(this) ?? "", pcmOf(frame));
      write.call(this, frame);
    },
  });
  return () => ({ heard: heard.take(), written: written.take() });
}
