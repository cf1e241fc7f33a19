import { MS_PER_SECOND } from "../../../shared/time/clock.ts";

/** Length of the frames that the source is given, ms: without a queue of its own it takes no others. */
export const ROOM_FRAME_MS = 10;
/** What waits at most, ms: the pipeline sends 200 ms ahead; what is more is late. */
const MAX_WAITING_MS = 1000;

/** What a playout does. `capture`: gives the source a frame, which is sent at once; `played`: all before this mark was played. */
export interface RoomPlayoutDeps {
  rate: number;
  capture(pcm: Int16Array): void;
  played(mark: string): void;
}

/**
 * Sound on its way into a room: cut into the source's frames and given to it in real time, silence where there is none, so that nothing waits behind it and all that was not given can be taken
 * back. The packets go out as the frames come: the other side's jitter buffer grows with what they are late. Bounded: what does not fit is dropped.
 */
export class RoomPlayout {
  readonly #deps: RoomPlayoutDeps;
  readonly #silence: Int16Array;
  #waiting: (Int16Array | string)[] = [];
  #waitingMs = 0;

  constructor(deps: RoomPlayoutDeps) {
    this.#deps = deps;
    this.#silence = new Int16Array((deps.rate * ROOM_FRAME_MS) / MS_PER_SECOND);
  }

  /** Sound of 16 bit little-endian, whole frames of 10 ms. */
  add(pcm: Uint8Array): void {
    const samples = new Int16Array(pcm.byteLength >> 1);
    new Uint8Array(samples.buffer).set(pcm.subarray(0, samples.byteLength));
    const { length } = this.#silence;
    for (let at = 0; at + length <= samples.length; at += length) {
      if (this.#waitingMs >= MAX_WAITING_MS) return;
      // a copy each: the native library reads a frame from the start of its buffer
      this.#waiting.push(samples.slice(at, at + length));
      this.#waitingMs += ROOM_FRAME_MS;
    }
  }

  /** Has it told when all sound so far was played. */
  mark(name: string): void {
    this.#waiting.push(name);
  }

  /** Throws away what was not played, its marks too. */
  clear(): void {
    this.#waiting = [];
    this.#waitingMs = 0;
  }

  /** The next 10 ms. To be called every 10 ms. */
  tick(): void {
    let next = this.#waiting.shift();
    for (; typeof next === "string"; next = this.#waiting.shift()) this.#deps.played(next);
    if (next) this.#waitingMs -= ROOM_FRAME_MS;
    this.#deps.capture(next ?? this.#silence);
  }
}
