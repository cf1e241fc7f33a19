import { abortedError } from "../model-errors.ts";
import { ModelError, type Transcription, type TranscriptionModel } from "../port.ts";
import { unlessAborted } from "../step-timeout.ts";
import type { Transcriber } from "./openai-transcription.ts";
import { SampleBuffer } from "./sample-buffer.ts";

/** Speech that is transcribed in one piece, seconds; of a longer stretch the oldest part is transcribed first. */
export const MAX_SEGMENT_SECONDS = 30;
/** That part is cut in a pause somewhere after this. */
const MIN_PART_SECONDS = 20;
const STEP_MS = 20;
/** Length of the pause to cut at, in steps. */
const PAUSE_STEPS = 5;

/** A question that several callers of `text` wait for; it is cancelled when the last of them aborts. */
interface PendingText {
  readonly samples: number;
  readonly words: Promise<string>;
  readonly cancelled: AbortController;
  waiting: number;
}

/** Joins texts that were said one after the other. */
export const joinTexts = (...texts: readonly string[]): string => texts.filter((text) => text !== "").join(" ");

/** Where to cut a long stretch of speech: the middle of the quietest 100 ms after `from_seconds`, in samples. */
export function quietestCut(pcm: Int16Array, rate: number, from_seconds: number): number {
  const step = Math.max(1, Math.round((rate * STEP_MS) / 1000));
  const first = Math.floor((from_seconds * rate) / step);
  const count = Math.floor(pcm.length / step);
  const energy = Float64Array.from({ length: Math.max(0, count - first) }, (_, i) => {
    let sum = 0;
    for (let at = (first + i) * step; at < (first + i + 1) * step; at++) sum += (pcm[at] ?? 0) ** 2;
    return sum;
  });
  let [best, least] = [count - first, Infinity];
  for (let i = 0; i + PAUSE_STEPS <= energy.length; i++) {
    let sum = 0;
    for (let s = i; s < i + PAUSE_STEPS; s++) sum += energy[s] ?? 0;
    if (sum < least) [best, least] = [i + (PAUSE_STEPS >> 1), sum];
  }
  return Math.min(pcm.length, (first + best) * step);
}

class SegmentedStretch implements Transcription {
  readonly #ask: Transcriber;
  readonly #how: { rate: number; language: string };
  readonly #samples = new SampleBuffer();
  readonly #closed = new AbortController();
  /** Words of the parts that were cut off, in order. */
  #earlier: Promise<string> = Promise.resolve("");
  /** The error of a part that could not be transcribed; thrown once, for the rest can still be understood. */
  #lost: unknown = null;
  #pending: PendingText | null = null;

  constructor(ask: Transcriber, how: { rate: number; language: string }) {
    this.#ask = ask;
    this.#how = how;
  }

  push(pcm: Int16Array): void {
    if (this.#closed.signal.aborted) return;
    this.#samples.add(pcm);
    if (this.#samples.length >= MAX_SEGMENT_SECONDS * this.#how.rate) this.#cutOldest();
  }

  async text(signal: AbortSignal): Promise<string> {
    if (signal.aborted || this.#closed.signal.aborted) throw abortedError();
    const pending = this.#pending?.samples === this.#samples.length ? this.#pending : this.#askAnew();
    pending.waiting++;
    try {
      const earlier = await unlessAborted(this.#earlier, signal);
      if (this.#lost !== null) {
        const lost = this.#lost;
        this.#lost = null;
        throw lost;
      }
      return joinTexts(earlier, await unlessAborted(pending.words, signal));
    } catch (error) {
      // the next call asks again after a failed answer
      const failed = !(error instanceof ModelError && error.code === "MODEL_ABORTED");
      if (failed && this.#pending === pending) this.#pending = null;
      throw error;
    } finally {
      if (--pending.waiting === 0 && signal.aborted) this.#cancel(pending);
    }
  }

  close(): void {
    this.#closed.abort();
    this.#pending = null;
  }

  #askAnew(): PendingText {
    const cancelled = new AbortController();
    const samples = this.#samples.length;
    const words =
      samples === 0
        ? Promise.resolve("")
        : this.#transcribe(this.#samples.all(), AbortSignal.any([cancelled.signal, this.#closed.signal]));
    words.catch(() => undefined);
    return (this.#pending = { samples, words, cancelled, waiting: 0 });
  }

  #cancel(pending: PendingText): void {
    pending.cancelled.abort();
    if (this.#pending === pending) this.#pending = null;
  }

  #transcribe(pcm: Int16Array, signal: AbortSignal): Promise<string> {
    return this.#ask({ ...this.#how, pcm }, signal);
  }

  #cutOldest(): void {
    const part = this.#samples.cut(quietestCut(this.#samples.all(), this.#how.rate, MIN_PART_SECONDS));
    const [before, words] = [this.#earlier, this.#transcribe(part, this.#closed.signal)];
    words.catch((error: unknown) => {
      this.#lost = error;
    });
    this.#earlier = Promise.all([before, words.catch(() => "")]).then(([a, b]) => joinTexts(a, b));
    this.#pending = null;
  }
}

/** A model that transcribes a stretch of speech when its text is requested, and every half minute of it. */
export const segmentedTranscription = (ask: Transcriber): TranscriptionModel => ({
  open: (how) => new SegmentedStretch(ask, { rate: how.rate, language: how.language }),
});
