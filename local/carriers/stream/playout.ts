import { frameBytes, FRAME_MS, type SoundFormat } from "./audio-format.ts";

/** How well the agent's sound came. */
export interface PlayoutFacts {
  /** Messages with sound that came. */
  frames: number;
  /** The largest time between two of them within one utterance, ms. */
  gap_ms: number;
  /** How often there was nothing to play in the middle of an utterance, and the longest such hole, ms. */
  underruns: number;
  underrun_ms: number;
  /** Sound that was played, ms. */
  played_ms: number;
  clears: number;
}

/** The carrier's queue of what is to be played to the person. */
export interface Playout {
  /** Takes sound in; false when there is too much waiting, and it is thrown away. */
  push(bytes: Uint8Array, now: number): boolean;
  /** To be told of when all before it has been played. */
  mark(name: string): void;
  /** Throws away what waits; the names of the marks that went with it, and how much sound, ms. */
  clear(): { marks: string[]; lost_ms: number };
  /** The next frame, as long as there is sound (the last of it may be shorter), and the marks that have been reached. */
  next(now: number): { frame: Uint8Array | null; reached: string[] };
  waiting_ms(): number;
  facts(): PlayoutFacts;
}

/** Silence that lasts longer is no hole but a pause between utterances, ms. */
export const PAUSE_MS = 700;
/** As much may wait, ms. */
const MOST_WAITING_MS = 600_000;

type Piece = { bytes: Uint8Array } | { mark: string };

/** An empty queue. */
export const createPlayout = (format: SoundFormat): Playout => new Queue(frameBytes(format));

class Queue implements Playout {
  readonly #size: number;
  readonly #facts: PlayoutFacts = { frames: 0, gap_ms: 0, underruns: 0, underrun_ms: 0, played_ms: 0, clears: 0 };
  #pieces: Piece[] = [];
  #waiting = 0;
  #lastCame: number | null = null;
  /** When the last sound will have been played; null while more waits. */
  #dryAt: number | null = null;

  constructor(size: number) {
    this.#size = size;
  }

  push(bytes: Uint8Array, now: number): boolean {
    const facts = this.#facts;
    if (this.#toMs(this.#waiting + bytes.length) > MOST_WAITING_MS) return false;
    facts.frames += 1;
    if (this.#lastCame !== null && now - this.#lastCame <= PAUSE_MS)
      facts.gap_ms = Math.max(facts.gap_ms, Math.round(now - this.#lastCame));
    this.#lastCame = now;
    if (this.#dryAt !== null && now > this.#dryAt && now - this.#dryAt <= PAUSE_MS) {
      facts.underruns += 1;
      facts.underrun_ms = Math.max(facts.underrun_ms, Math.round(now - this.#dryAt));
    }
    this.#dryAt = null;
    if (bytes.length > 0) this.#pieces.push({ bytes });
    this.#waiting += bytes.length;
    return true;
  }

  mark(name: string): void {
    this.#pieces.push({ mark: name });
  }

  clear(): { marks: string[]; lost_ms: number } {
    const lost_ms = Math.round(this.#toMs(this.#waiting));
    const marks = this.#pieces.flatMap((piece) => ("mark" in piece ? [piece.mark] : []));
    this.#pieces = [];
    this.#waiting = 0;
    this.#lastCame = null;
    this.#dryAt = null;
    this.#facts.clears += 1;
    return { marks, lost_ms };
  }

  next(now: number): { frame: Uint8Array | null; reached: string[] } {
    const reached = this.#reachedMarks();
    const frame = this.#taken();
    if (frame) {
      this.#waiting -= frame.length;
      this.#facts.played_ms += this.#toMs(frame.length);
      this.#dryAt = this.#waiting === 0 ? now + this.#toMs(frame.length) : null;
    }
    return { frame, reached };
  }

  waiting_ms(): number {
    return this.#toMs(this.#waiting);
  }

  facts(): PlayoutFacts {
    return { ...this.#facts, played_ms: Math.round(this.#facts.played_ms) };
  }

  #toMs(bytes: number): number {
    return (bytes / this.#size) * FRAME_MS;
  }

  #reachedMarks(): string[] {
    const reached: string[] = [];
    for (let [first] = this.#pieces; first && "mark" in first; [first] = this.#pieces) {
      reached.push(first.mark);
      this.#pieces.shift();
    }
    return reached;
  }

  /** Up to a frame of sound, across the pieces. */
  #taken(): Uint8Array | null {
    const [first] = this.#pieces;
    if (!first || "mark" in first) return null;
    if (first.bytes.length === this.#size) {
      this.#pieces.shift();
      return first.bytes;
    }
    const parts: Uint8Array[] = [];
    let missing = this.#size;
    for (let [piece] = this.#pieces; piece && "bytes" in piece && missing > 0; [piece] = this.#pieces) {
      const part = piece.bytes.subarray(0, missing);
      parts.push(part);
      missing -= part.length;
      if (part.length === piece.bytes.length) this.#pieces.shift();
      else piece.bytes = piece.bytes.subarray(part.length);
    }
    return Buffer.concat(parts);
  }
}
