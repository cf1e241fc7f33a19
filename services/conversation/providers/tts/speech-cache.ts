import { abortedError } from "../model-errors.ts";
import type { SpeechModel } from "../port.ts";
import { unlessAborted } from "../deadline.ts";

/** Sound that a process keeps, unless told otherwise: about 11 minutes at 24 kHz. */
export const SPEECH_CACHE_BYTES = 32 * 1024 * 1024;
/** A sentence that takes a larger part of what is kept is not kept itself. */
const MAX_SHARE = 0.25;

/** A speech model whose sentences are kept. */
export interface CachedSpeech extends SpeechModel {
  warm(text: string): Promise<void>;
}
/** Sound kept by all models of a process. */
export interface SpeechCache {
  of(model: SpeechModel): CachedSpeech;
  /** Bytes that are kept. */
  size(): number;
}

/** A synthesis on its way, which several may listen to from its beginning. */
interface Tape {
  readonly pieces: Int16Array[];
  bytes: number;
  over: boolean;
  fault: unknown;
  listeners: number;
  readonly letGo: AbortController;
  grown: PromiseWithResolvers<void>;
}

const bytesOf = (pieces: readonly Int16Array[]): number => pieces.reduce((sum, pcm) => sum + pcm.byteLength, 0);

/** Sentences that were spoken to their end, up to so many bytes; those not asked for the longest go first. */
class Shelf {
  readonly #most: number;
  readonly #kept = new Map<string, readonly Int16Array[]>();
  bytes = 0;
  constructor(most: number) {
    this.#most = most;
  }
  get(key: string): readonly Int16Array[] | undefined {
    const kept = this.#kept.get(key);
    if (kept === undefined) return undefined;
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    return kept;
  }
  put(key: string, pieces: readonly Int16Array[], bytes: number): void {
    if (bytes > this.#most * MAX_SHARE || this.#kept.has(key)) return;
    this.#kept.set(key, pieces);
    this.bytes += bytes;
    for (const [oldest, old] of this.#kept) {
      if (this.bytes <= this.#most) return;
      this.#kept.delete(oldest);
      this.bytes -= bytesOf(old);
    }
  }
}

/** Records a synthesis to its end; what was cut or failed is not kept. */
async function record(tape: Tape, sound: AsyncIterable<Int16Array>, done: (whole: boolean) => void): Promise<void> {
  const tell = (): void => {
    const { resolve } = tape.grown;
    tape.grown = Promise.withResolvers();
    resolve();
  };
  try {
    for await (const pcm of sound) {
      tape.pieces.push(pcm);
      tape.bytes += pcm.byteLength;
      tell();
    }
  } catch (error) {
    tape.fault = error;
  }
  tape.over = true;
  done(tape.fault === null && !tape.letGo.signal.aborted);
  tell();
}

/** Plays a tape from its beginning, as it grows. */
async function* play(tape: Tape, signal: AbortSignal): AsyncGenerator<Int16Array> {
  tape.listeners++;
  try {
    for (let at = 0; ;) {
      const next = tape.pieces[at];
      if (signal.aborted) throw abortedError();
      if (next !== undefined) {
        at++;
        yield next;
        continue;
      }
      if (tape.fault !== null) throw tape.fault;
      if (tape.over) return;
      await unlessAborted(tape.grown.promise, signal);
    }
  } finally {
    if (--tape.listeners === 0 && !tape.over) tape.letGo.abort();
  }
}

/** Keeps whole sentences by sound and text; who asks for one that is on its way listens in. */
export function speechCache({ max_bytes = SPEECH_CACHE_BYTES }: { max_bytes?: number } = {}): SpeechCache {
  const shelf = new Shelf(max_bytes);
  const tapes = new Map<string, Tape>();

  const tapeOf = (key: string, model: SpeechModel, text: string): Tape => {
    const known = tapes.get(key);
    if (known !== undefined && !known.letGo.signal.aborted) return known;
    const tape: Tape = {
      pieces: [],
      bytes: 0,
      over: false,
      fault: null,
      listeners: 0,
      letGo: new AbortController(),
      grown: Promise.withResolvers(),
    };
    tapes.set(key, tape);
    void record(tape, model.speak(text, tape.letGo.signal), (whole) => {
      if (tapes.get(key) === tape) tapes.delete(key);
      if (whole) shelf.put(key, tape.pieces, tape.bytes);
    });
    return tape;
  };

  return {
    size: () => shelf.bytes,
    of(model) {
      async function* speak(text: string, signal: AbortSignal): AsyncGenerator<Int16Array> {
        const key = `${model.signature}\n${text}`;
        const kept = shelf.get(key);
        if (kept === undefined) {
          yield* play(tapeOf(key, model, text), signal);
          return;
        }
        for (const pcm of kept) {
          if (signal.aborted) throw abortedError();
          yield pcm;
        }
      }
      return {
        rate: model.rate,
        signature: model.signature,
        speak,
        async warm(text) {
          if (shelf.get(`${model.signature}\n${text}`) !== undefined) return;
          try {
            for await (const _ of speak(text, new AbortController().signal));
          } catch {
            // it is asked for again when it is to be said, and fails there
          }
        },
      };
    },
  };
}

/** One model with a cache of its own. */
export const cachedSpeech = (model: SpeechModel, bounds: { max_bytes?: number } = {}): CachedSpeech =>
  speechCache(bounds).of(model);
