import { MS_PER_SECOND } from "../../../shared/time/clock.ts";

/** Length of the frames that the source is given, ms. */
const FRAME_MS = 10;
/** The source is given so much ahead, ms: a late tick is not heard, and a barge-in takes effect at once. */
const AHEAD_MS = 30;
/** What waits at most, ms: the pipeline sends 200 ms ahead; what is more is late. */
const MAX_WAITING_MS = 1000;

/** What a playout does. `capture`: gives the source a frame; `drop`: empties it; `played`: all before this mark was played. */
export interface RoomPlayoutDeps {
  rate: number;
  capture(pcm: Int16Array): void;
  drop(): void;
  played(mark: string): void;
}

/** Sound on its way into a room: cut into the source's frames and paced by one clock; what is not given to the source yet can be taken back. Bounded: what does not fit is dropped. */
export class RoomPlayout {
  readonly #deps: RoomPlayoutDeps;
  readonly #frameSamples: number;
  #waiting: (Int16Array | string)[] = [];
  #waitingMs = 0;
  #marks: { name: string; at_ms: number }[] = [];
  /** When the source will have played what it was given. */
  #until = 0;

  constructor(deps: RoomPlayoutDeps) {
    this.#deps = deps;
    this.#frameSamples = (deps.rate * FRAME_MS) / MS_PER_SECOND;
  }

  /** Sound of 16 bit little-endian, whole frames of 10 ms. */
  add(pcm: Uint8Array): void {
    const samples = new Int16Array(pcm.byteLength >> 1);
    new Uint8Array(samples.buffer).set(pcm.subarray(0, samples.byteLength));
    for (let at = 0; at + this.#frameSamples <= samples.length; at += this.#frameSamples) {
      if (this.#waitingMs >= MAX_WAITING_MS) return;
      // a copy each: the native library reads a frame from the start of its buffer
      this.#waiting.push(samples.slice(at, at + this.#frameSamples));
      this.#waitingMs += FRAME_MS;
    }
  }

  /** Has it told when all sound so far was played. */
  mark(name: string): void {
    this.#waiting.push(name);
  }

  /** Throws away what was not played, its marks too. */
  clear(now: number): void {
    this.#waiting = [];
    this.#waitingMs = 0;
    this.#marks = [];
    if (this.#until > now) this.#deps.drop();
    this.#until = now;
  }

  /** Gives the source what is due. To be called every 10 ms. */
  tick(now: number): void {
    if (this.#until < now) this.#until = now;
    while (this.#until - now <= AHEAD_MS - FRAME_MS || typeof this.#waiting[0] === "string") {
      const next = this.#waiting.shift();
      if (next === undefined) break;
      if (typeof next === "string") {
        this.#marks.push({ name: next, at_ms: this.#until });
        continue;
      }
      this.#waitingMs -= FRAME_MS;
      this.#until += FRAME_MS;
      this.#deps.capture(next);
    }
    for (let first = this.#marks[0]; first && first.at_ms <= now; first = this.#marks[0]) {
      this.#marks.shift();
      this.#deps.played(first.name);
    }
  }
}
