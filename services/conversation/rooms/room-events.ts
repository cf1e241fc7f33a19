import { isRecord } from "../../../shared/json.ts";

/** Events of LiveKit's native library that are of sound alone. A room of it takes nothing from them. */
const OF_SOUND: ReadonlySet<unknown> = new Set(["audioStreamEvent", "captureAudioFrame"]);
/** What takes the events in a room of the library (1.1.0). */
const TAKES = "onFfiEvent";

const isOfSound = (event: unknown): boolean =>
  isRecord(event) && isRecord(event["message"]) && OF_SOUND.has(event["message"]["case"]);

/**
 * Spares a room, before it is joined, the events of sound. The library tells every event of a process to all of its rooms, 200 a second of each room for its two directions, and each of them takes a
 * lock of its own to look away: of ten rooms 20,000 a second. A room of another version, that takes events otherwise, stays as it is.
 */
export function spareSound(room: object): void {
  const take: unknown = Reflect.get(room, TAKES);
  if (typeof take !== "function") return;
  Reflect.set(room, TAKES, (event: unknown): unknown =>
    isOfSound(event) ? undefined : Reflect.apply(take, room, [event]),
  );
}
