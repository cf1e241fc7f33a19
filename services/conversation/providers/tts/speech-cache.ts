import { LRUCache } from "lru-cache";
import { abortedError } from "../model-errors.ts";
import type { SpeechModel } from "../port.ts";
import { unlessAborted } from "../step-timeout.ts";

/** Audio that a process keeps by default, bytes: about 11 minutes at 24 kHz. */
export const SPEECH_CACHE_BYTES = 32 * 1024 * 1024;
/** A sentence larger than this share of the cache is not kept. */
const MAX_SHARE = 0.25;

/** A speech model whose sentences are cached. */
export interface CachedSpeech extends SpeechModel {
  warm(text: string): Promise<void>;
}
/** Audio cached for all models of a process. */
export interface SpeechCache {
  of(model: SpeechModel): CachedSpeech;
  /** Bytes that are kept. */
  size(): number;
}

/** A synthesis under way, which several listeners may hear from its beginning. */
interface Synthesis {
  readonly chunks: Int16Array[];
  over: boolean;
  error: unknown;
  listeners: number;
  readonly cancelled: AbortController;
  /** Resolves when a chunk is added or the synthesis is over. */
  changed: PromiseWithResolvers<void>;
}

const bytesOf = (chunks: readonly Int16Array[]): number => chunks.reduce((sum, pcm) => sum + pcm.byteLength, 0);

/** Collects a synthesis to its end; `done` is true unless it was cancelled or failed. */
async function collect(
  synthesis: Synthesis,
  audio: AsyncIterable<Int16Array>,
  ended: (done: boolean) => void,
): Promise<void> {
  const notify = (): void => {
    const { resolve } = synthesis.changed;
    synthesis.changed = Promise.withResolvers();
    resolve();
  };
  try {
    for await (const pcm of audio) {
      synthesis.chunks.push(pcm);
      notify();
    }
  } catch (error) {
    synthesis.error = error;
  }
  synthesis.over = true;
  ended(synthesis.error === null && !synthesis.cancelled.signal.aborted);
  notify();
}

/** Plays a synthesis from its beginning as it grows; the last listener to leave cancels it. */
async function* listenTo(synthesis: Synthesis, signal: AbortSignal): AsyncGenerator<Int16Array> {
  synthesis.listeners++;
  try {
    for (let at = 0; ;) {
      const next = synthesis.chunks[at];
      if (signal.aborted) throw abortedError();
      if (next !== undefined) {
        at++;
        yield next;
        continue;
      }
      if (synthesis.error !== null) throw synthesis.error;
      if (synthesis.over) return;
      await unlessAborted(synthesis.changed.promise, signal);
    }
  } finally {
    if (--synthesis.listeners === 0 && !synthesis.over) synthesis.cancelled.abort();
  }
}

/** Caches whole sentences by model and text; a second request for a sentence under way shares its synthesis. */
export function speechCache({ max_bytes = SPEECH_CACHE_BYTES }: { max_bytes?: number } = {}): SpeechCache {
  const sentences = new LRUCache<string, readonly Int16Array[]>({
    maxSize: max_bytes,
    maxEntrySize: Math.floor(max_bytes * MAX_SHARE),
    sizeCalculation: (chunks) => Math.max(1, bytesOf(chunks)),
  });
  const underWay = new Map<string, Synthesis>();

  const synthesisOf = (key: string, model: SpeechModel, text: string): Synthesis => {
    const known = underWay.get(key);
    if (known !== undefined && !known.cancelled.signal.aborted) return known;
    const synthesis: Synthesis = {
      chunks: [],
      over: false,
      error: null,
      listeners: 0,
      cancelled: new AbortController(),
      changed: Promise.withResolvers(),
    };
    underWay.set(key, synthesis);
    void collect(synthesis, model.speak(text, synthesis.cancelled.signal), (done) => {
      if (underWay.get(key) === synthesis) underWay.delete(key);
      if (done && !sentences.has(key)) sentences.set(key, synthesis.chunks);
    });
    return synthesis;
  };

  return {
    size: () => sentences.calculatedSize,
    of(model) {
      const keyOf = (text: string): string => `${model.signature}\n${text}`;
      async function* speak(text: string, signal: AbortSignal): AsyncGenerator<Int16Array> {
        const key = keyOf(text);
        const cached = sentences.get(key);
        if (cached === undefined) {
          yield* listenTo(synthesisOf(key, model, text), signal);
          return;
        }
        for (const pcm of cached) {
          if (signal.aborted) throw abortedError();
          yield pcm;
        }
      }
      return {
        rate: model.rate,
        signature: model.signature,
        speak,
        async warm(text) {
          if (sentences.get(keyOf(text)) !== undefined) return;
          try {
            for await (const _ of speak(text, new AbortController().signal));
          } catch {
            // it is requested again when it is to be said, and fails there
          }
        },
      };
    },
  };
}
