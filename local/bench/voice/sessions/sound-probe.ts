import { AudioSource, type AudioFrame } from "@livekit/rtc-node";
import type { RoomNews, RoomOrder } from "../../../../services/conversation/rooms/room-messages.ts";
import { RoomPlayout } from "../../../../services/conversation/rooms/room-playout.ts";
import { pcmOf } from "../../../speech/wav.ts";
import { SoundLog, type Places } from "./sound-stages.ts";

/** In a process of rooms, before its program: notes when sound comes out of LiveKit's library, and when it is given to it. */

const told = new SoundLog();
const given = new SoundLog();
const idOf = new WeakMap<RoomPlayout, string>();
/** The room that an order is for, and the one whose turn it is to give sound. */
let ordered = "";
let giving = "";

/** What passed since it was asked last, by the rooms' ids in this process. */
export const passedHere = (): Pick<Places, "told" | "given"> => ({ told: told.take(), given: given.take() });

const isSound = (message: RoomNews): message is Extract<RoomNews, { kind: "audio" }> => message.kind === "audio";
const { send } = process;
Object.assign(process, {
  send(message: RoomNews, ...more: unknown[]): unknown {
    if (isSound(message)) told.note(message.id, pcmOf(message.pcm));
    return send === undefined ? false : Reflect.apply(send, process, [message, ...more]);
  },
});
process.on("message", (order: RoomOrder) => {
  ordered = order.id;
});

const { add, tick } = RoomPlayout.prototype;
const { captureFrame } = AudioSource.prototype;
Object.assign(RoomPlayout.prototype, {
  add(this: RoomPlayout, pcm: Uint8Array): void {
    idOf.set(this, ordered);
    add.call(this, pcm);
  },
  tick(this: RoomPlayout): void {
    giving = idOf.get(this) ?? "";
    tick.call(this);
  },
});
Object.assign(AudioSource.prototype, {
  captureFrame(this: AudioSource, frame: AudioFrame): Promise<void> {
    given.note(giving, frame.data);
    return captureFrame.call(this, frame);
  },
});
