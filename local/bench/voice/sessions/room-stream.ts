import { EventEmitter } from "node:events";
import { AudioStream, Room } from "@livekit/rtc-node";
import { microphoneIn, ROOM_RATE } from "../../../harness/sessions/room-client.ts";
import type { SessionAccess } from "../../../harness/sessions/session-port.ts";
import { isRecord, recordIn } from "../../../../shared/json.ts";
import { spareSound } from "../../../../services/conversation/rooms/room-events.ts";
import { mediaOf, soundOf, UNHEARD, type StreamSocket } from "./session-sound.ts";

const FRAME_MS = 20;
/** Loudness above which a frame is speech: a room sends sound all the time. */
const LOUD = 500;
const [OPEN, CLOSED] = [1, 3];

/** A session in a LiveKit room, with the manners of a carrier's stream. What the agent says comes when the room's library has it for the loudspeaker, behind its jitter buffer. */
class RoomStream extends EventEmitter implements StreamSocket {
  readonly #room: Room;
  readonly #hears: (pcm: Int16Array) => void;

  constructor(room: Room, hears: (pcm: Int16Array) => void) {
    super();
    this.#room = room;
    this.#hears = hears;
    room.on("disconnected", () => this.emit("close"));
  }

  get readyState(): number {
    return this.#room.isConnected ? OPEN : CLOSED;
  }

  send(data: string | Buffer): void {
    const message = recordIn(data.toString());
    const media = message?.["media"];
    if (message?.["event"] === "stop")
      void this.#room.localParticipant?.publishData(Buffer.from('{"type":"leave"}'), {
        reliable: true,
        topic: "callagent",
      });
    if (!Buffer.isBuffer(data) || !isRecord(media)) return;
    const bytes = soundOf(data, String(media["payload"]));
    this.#hears(new Int16Array(bytes.slice().buffer));
  }

  /** The room is closed by the other side once it has been left. */
  close(): void {}

  terminate(): void {
    void this.#room.disconnect();
  }
}

/** Joins a session's room. */
export async function roomStream(access: SessionAccess, listens: boolean): Promise<StreamSocket> {
  const room = new Room();
  spareSound(room);
  let stream: RoomStream | null = null;
  room.on("trackSubscribed", (track) => {
    void (async () => {
      const sound = new AudioStream(track, { sampleRate: ROOM_RATE, numChannels: 1, frameSizeMs: FRAME_MS });
      for await (const { data } of sound) {
        if (!data.some((sample) => Math.abs(sample) > LOUD)) continue;
        stream?.emit("message", listens ? mediaOf(new Uint8Array(data.slice().buffer)) : UNHEARD);
      }
    })();
  });
  await room.connect(access.url, access.token, { autoSubscribe: true, dynacast: false });
  const { hears } = await microphoneIn(room);
  stream = new RoomStream(room, hears);
  return stream;
}
