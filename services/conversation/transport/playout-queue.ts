import { MS_PER_SECOND } from "../../../shared/time/clock.ts";
import { FRAME_MS } from "./port.ts";
import { silentFrame } from "../audio/frame-pool.ts";
import type { Pcm } from "../audio/port.ts";
import { speechMs, spokenPrefix } from "../audio/speech-duration.ts";

/** A part of our speech. `group` ties the parts of one utterance together; `aside` marks audio without words of the conversation (a filler, DTMF tones). */
export interface PartSpec {
  readonly text: string;
  readonly group: number;
  readonly interruptible: boolean;
  readonly aside: boolean;
}

/** One part with its audio. Counts are samples: received from synthesis, sent to the carrier, heard by the caller. */
export interface Part extends Omit<PartSpec, "text"> {
  text: string;
  chunks: Pcm[];
  /** Samples before the first chunk: heard and released. */
  base: number;
  received: number;
  sent: number;
  heard: number;
  ended: boolean;
}

/** A frame of audio and the samples each part contributed to it. */
export interface QueuedFrame {
  readonly pcm: Pcm;
  readonly pieces: readonly { part: Part; samples: number }[];
}

/** The share of a part's audio that was heard, 0 to 1. While its audio still arrives, the text gives the expected length. */
function heardShare(part: Part, rate: number): number {
  // less than a frame at the end waits for the audio of the next part
  if (part.ended && part.heard > part.received - (FRAME_MS * rate) / MS_PER_SECOND && part.heard > 0) return 1;
  if (part.ended && part.heard >= part.received) return 1;
  const total = part.ended ? part.received : Math.max(part.received, (speechMs(part.text) * rate) / MS_PER_SECOND);
  return total === 0 ? 0 : part.heard / total;
}

function copySamples(part: Part, from: number, to: Pcm): void {
  let at = part.base;
  let filled = 0;
  for (const chunk of part.chunks) {
    const begin = Math.max(0, from + filled - at);
    if (begin < chunk.length) {
      const some = chunk.subarray(begin, begin + to.length - filled);
      to.set(some, filled);
      filled += some.length;
      if (filled === to.length) return;
    }
    at += chunk.length;
  }
}

/** Releases the chunks that were heard to their end. */
function releaseHeard(part: Part): void {
  for (let first = part.chunks[0]; first && part.base + first.length <= part.heard; first = part.chunks[0]) {
    part.chunks.shift();
    part.base += first.length;
  }
}

/** The parts of our speech in order, and how much of each was sent and heard. */
export class PlayoutQueue {
  readonly #rate: number;
  readonly #frameSamples: number;
  #parts: Part[] = [];
  /** Parts heard to their end since the last `commitHeard`. */
  #finished: Part[] = [];

  constructor(rate: number, frameSamples: number) {
    this.#rate = rate;
    this.#frameSamples = frameSamples;
  }

  get isEmpty(): boolean {
    return this.#parts.length === 0;
  }
  /** Some audio of the queued parts was heard. */
  get begun(): boolean {
    return this.#parts.some((p) => p.heard > 0);
  }
  /** Every queued part has ended and was sent. */
  get allSent(): boolean {
    return this.#parts.every((p) => p.ended && p.sent === p.received);
  }
  get interruptible(): boolean {
    return this.#parts.every((p) => p.interruptible);
  }
  /** Audio not heard yet, ms; Infinity while a part has not ended. */
  get leftMs(): number {
    return this.#parts.reduce(
      (ms, p) => ms + (p.ended ? ((p.received - p.heard) * MS_PER_SECOND) / this.#rate : Infinity),
      0,
    );
  }
  /** What was heard of each queued part, ms. */
  get unfinished(): { group: number; heard_ms: number }[] {
    return this.#parts.map(({ group, heard }) => ({
      group,
      heard_ms: Math.floor((heard * MS_PER_SECOND) / this.#rate),
    }));
  }

  /** Appends a part without audio. */
  add(spec: PartSpec): Part {
    const part: Part = { ...spec, chunks: [], base: 0, received: 0, sent: 0, heard: 0, ended: false };
    this.#parts.push(part);
    return part;
  }

  /** The next frame, across the seam of two parts where needed so that no gap arises; null: no whole frame is ready. */
  nextFrame(): QueuedFrame | null {
    const ready = this.#ready();
    if (ready === 0) {
      this.#finishHeard();
      return null;
    }
    // a partial frame waits for more audio unless none will come
    if (ready < this.#frameSamples && this.#parts.some((p) => !p.ended)) return null;
    const pcm = silentFrame(this.#frameSamples);
    const pieces: { part: Part; samples: number }[] = [];
    let filled = 0;
    for (const part of this.#parts) {
      const samples = Math.min(this.#frameSamples - filled, part.received - part.sent);
      if (samples > 0) {
        copySamples(part, part.sent, pcm.subarray(filled, filled + samples));
        part.sent += samples;
        pieces.push({ part, samples });
        filled += samples;
      }
      if (filled === this.#frameSamples || !part.ended) break;
    }
    return { pcm, pieces };
  }

  /** Counts the first samples of a frame as heard. */
  hear({ pieces }: QueuedFrame, samples: number): void {
    let left = samples;
    for (const { part, samples: most } of pieces) {
      const heard = Math.min(left, most);
      part.heard += heard;
      left -= heard;
      releaseHeard(part);
    }
    this.#finishHeard();
  }

  /** Audio that was sent and not heard is to be sent again. */
  rewind(): void {
    for (const part of this.#parts) part.sent = part.heard;
  }

  /** Forgets the parts heard to their end: `spoken` covers later speech only. */
  commitHeard(): void {
    this.#finished = [];
  }

  clear(): void {
    this.#parts = [];
    this.#finished = [];
  }

  /** The words heard of the last utterance of which a word was heard: of one that has only just begun there is none yet. */
  spoken(): string {
    // asked at every tick of a silent call
    if (this.#finished.length === 0 && this.#parts.length === 0) return "";
    const texts = new Map<number, string>();
    for (const part of [...this.#finished, ...this.#parts]) {
      if (part.aside) continue;
      const text = spokenPrefix(part.text, heardShare(part, this.#rate));
      const isHeard = part.heard > 0 || (part.ended && part.received === 0 && this.#finished.includes(part));
      const before = texts.get(part.group);
      if (isHeard && text !== "") texts.set(part.group, before === undefined ? text : `${before} ${text}`);
    }
    return [...texts.values()].at(-1) ?? "";
  }

  /** Samples that can be sent now without a gap; counts no further than one frame. */
  #ready(): number {
    let ready = 0;
    for (const part of this.#parts) {
      ready += part.received - part.sent;
      if (ready >= this.#frameSamples || !part.ended) break;
    }
    return ready;
  }

  /** Moves the parts at the head that have ended and have no audio left to hear. */
  #finishHeard(): void {
    for (let first = this.#parts[0]; first?.ended && first.heard >= first.received; first = this.#parts[0])
      this.#finished.push(...this.#parts.splice(0, 1));
  }
}
