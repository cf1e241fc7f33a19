import { abortedError } from "../model-errors.ts";
import { SampleBuffer } from "./sample-buffer.ts";
import type { Transcriber } from "./openai-transcription.ts";
import { ModelError, type Transcription, type TranscriptionModel } from "../port.ts";
import { quietestCut } from "./quietest-cut.ts";
import { unlessAborted } from "../deadline.ts";

/** Speech that is kept to be sent in one piece; of what is longer the oldest part is sent, and its words kept. */
export const MAX_SEGMENT_SECONDS = 30;
/** The part is cut in a pause somewhere after this. */
const MIN_PART_SECONDS = 20;
/** A question that several wait for; it is let go when the last of them has gone. */
interface Asked {
  readonly samples: number;
  readonly words: Promise<string>;
  readonly letGo: AbortController;
  waiting: number;
}

/** Joins what was said one after the other. */
export const joinTexts = (...texts: readonly string[]): string => texts.filter((text) => text !== "").join(" ");

class Segment implements Transcription {
  readonly #ask: Transcriber;
  readonly #how: { rate: number; language: string; hints: readonly string[] };
  readonly #sound = new SampleBuffer();
  readonly #closed = new AbortController();
  /** Words of parts that were cut off, in order. */
  #earlier: Promise<string> = Promise.resolve("");
  /** A part whose words could not be had; told once, for the rest can still be understood. */
  #lost: unknown = null;
  #asked: Asked | null = null;

  constructor(ask: Transcriber, how: { rate: number; language: string; hints: readonly string[] }) {
    this.#ask = ask;
    this.#how = how;
  }

  push(pcm: Int16Array): void {
    if (this.#closed.signal.aborted) return;
    this.#sound.add(pcm);
    if (this.#sound.length >= MAX_SEGMENT_SECONDS * this.#how.rate) this.#cutOldest();
  }

  async text(signal: AbortSignal): Promise<string> {
    if (signal.aborted || this.#closed.signal.aborted) throw abortedError();
    const asked = this.#asked?.samples === this.#sound.length ? this.#asked : this.#anew();
    asked.waiting++;
    try {
      const earlier = await unlessAborted(this.#earlier, signal);
      if (this.#lost !== null) {
        const lost = this.#lost;
        this.#lost = null;
        throw lost;
      }
      return joinTexts(earlier, await unlessAborted(asked.words, signal));
    } catch (error) {
      // an answer that failed is asked for anew by the next one
      if (!(error instanceof ModelError && error.code === "MODEL_ABORTED") && this.#asked === asked) this.#asked = null;
      throw error;
    } finally {
      if (--asked.waiting === 0 && signal.aborted) this.#drop(asked);
    }
  }

  close(): void {
    this.#closed.abort();
    this.#asked = null;
  }

  #anew(): Asked {
    const letGo = new AbortController();
    const samples = this.#sound.length;
    const words =
      samples === 0
        ? Promise.resolve("")
        : this.#words(this.#sound.all(), AbortSignal.any([letGo.signal, this.#closed.signal]));
    words.catch(() => undefined);
    return (this.#asked = { samples, words, letGo, waiting: 0 });
  }

  #drop(asked: Asked): void {
    asked.letGo.abort();
    if (this.#asked === asked) this.#asked = null;
  }

  #words(pcm: Int16Array, signal: AbortSignal): Promise<string> {
    return this.#ask({ ...this.#how, pcm }, signal);
  }

  #cutOldest(): void {
    const part = this.#sound.cut(quietestCut(this.#sound.all(), this.#how.rate, MIN_PART_SECONDS));
    const [before, words] = [this.#earlier, this.#words(part, this.#closed.signal)];
    words.catch((error: unknown) => {
      this.#lost = error;
    });
    this.#earlier = Promise.all([before, words.catch(() => "")]).then(([a, b]) => joinTexts(a, b));
    this.#asked = null;
  }
}

/** A model that is asked for the words of a stretch of speech when it is over, and at most every half minute. */
export const segmentedTranscription = (ask: Transcriber): TranscriptionModel => ({
  open: (how) => new Segment(ask, { rate: how.rate, language: how.language, hints: how.hints }),
});
