import type { Clock } from "../../../../shared/time/clock.ts";
import { startTimer } from "../../../../shared/time/timer.ts";
import type { ModelAddress } from "../addresses.ts";
import { abortedError } from "../model-errors.ts";
import { SampleBuffer } from "./sample-buffer.ts";
import { languageOf } from "../../../../shared/phrases.ts";
import { TRANSCRIPTION_TIMEOUT_MS } from "./openai-transcription.ts";
import { failover, type FailoverListener } from "../failover.ts";
import { ModelError, type Transcription, type TranscriptionModel } from "../port.ts";
import { joinTexts } from "./segmented-transcription.ts";
import { TranscriptionStream, type TranscriptionStreamOptions } from "./transcription-stream.ts";
import type { Dialect } from "../realtime/realtime-dialect.ts";
import { unlessAborted } from "../step-timeout.ts";

/** Audio after which a commit is sent unasked, seconds. */
const MAX_UNCOMMITTED_SECONDS = 30;

type Open = Parameters<TranscriptionModel["open"]>[0];
/** Options of a streaming model. `segmented` takes over when the session fails twice. */
export interface RealtimeTranscriptionOptions {
  readonly address: ModelAddress;
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly segmented: TranscriptionModel;
  readonly onFailover?: FailoverListener;
}

interface StretchOptions {
  how: Open;
  options: RealtimeTranscriptionOptions;
  failed(error: unknown): void;
}

class StreamedStretch implements Transcription {
  readonly #o: StretchOptions;
  readonly #closed = new AbortController();
  /** Audio without text yet, in case it has to be sent again. */
  readonly #untranscribed = new SampleBuffer();
  /** The part of it that was committed, and the wait for its text. */
  #committed: { samples: number; done: PromiseWithResolvers<void>; stop: () => void } | null = null;
  #stream: TranscriptionStream | null = null;
  #reconnects = 1;
  /** Takes over once the session has failed. */
  #segmented: Transcription | null = null;
  #words = "";
  #partial = "";
  /** Commits in order, and how many are still to come. */
  #commits: Promise<void> = Promise.resolve();
  #pendingCommits = 0;

  constructor(o: StretchOptions) {
    this.#o = o;
    this.#connect();
  }

  push(pcm: Int16Array): void {
    if (this.#closed.signal.aborted) return;
    if (this.#segmented !== null) {
      this.#segmented.push(pcm);
      return;
    }
    this.#untranscribed.add(pcm);
    this.#stream?.append(pcm);
    if (this.#pendingCommits === 0 && this.#untranscribed.length >= MAX_UNCOMMITTED_SECONDS * this.#o.how.rate)
      this.#commitNext();
  }

  async text(signal: AbortSignal): Promise<string> {
    if (signal.aborted || this.#closed.signal.aborted) throw abortedError();
    await unlessAborted(this.#commitNext(), AbortSignal.any([signal, this.#closed.signal]));
    return this.#segmented === null ? this.#words : joinTexts(this.#words, await this.#segmented.text(signal));
  }

  close(): void {
    this.#closed.abort();
    this.#resolveCommitted();
    this.#stream?.close();
    this.#stream = null;
    this.#segmented?.close();
  }

  /** Resolves when the text of all audio pushed so far is known, or `#segmented` is to be asked for it. */
  #commitNext(): Promise<void> {
    this.#pendingCommits++;
    return (this.#commits = this.#commits.then(() => this.#commit()));
  }

  async #commit(): Promise<void> {
    const samples = this.#untranscribed.length;
    if (samples > 0 && this.#stream !== null && !this.#closed.signal.aborted) {
      const late = (): void =>
        this.#useSegmented(
          new ModelError(
            "MODEL_TIMEOUT",
            `the transcription session was silent for ${TRANSCRIPTION_TIMEOUT_MS} ms`,
            true,
          ),
        );
      const stop = startTimer(this.#o.options.clock, TRANSCRIPTION_TIMEOUT_MS, late);
      const committed = { samples, done: Promise.withResolvers<void>(), stop };
      this.#committed = committed;
      this.#stream.commit();
      await committed.done.promise;
    }
    this.#pendingCommits--;
  }

  #resolveCommitted(): void {
    this.#committed?.stop();
    this.#committed?.done.resolve();
    this.#committed = null;
  }

  #connect(): void {
    const { how, options } = this.#o;
    const session: TranscriptionStreamOptions = {
      address: options.address,
      dialect: options.dialect,
      rate: how.rate,
      language: languageOf(how.language),
    };
    this.#stream = new TranscriptionStream(session, {
      delta: (text) => {
        this.#partial += text;
        how.onPartial?.(joinTexts(this.#words, this.#partial.trim()));
      },
      completed: (text) => this.#completed(text),
      failed: (error) => this.#lost(error),
    });
  }

  #completed(text: string): void {
    if (this.#committed === null) return;
    this.#untranscribed.cut(this.#committed.samples);
    this.#words = joinTexts(this.#words, text);
    this.#partial = "";
    this.#resolveCommitted();
  }

  /** Replaces a lost session once, and sends the audio without text again. */
  #lost(error: ModelError): void {
    if (this.#closed.signal.aborted || this.#segmented !== null) return;
    if (this.#reconnects-- <= 0) {
      this.#useSegmented(error);
      return;
    }
    this.#partial = "";
    this.#connect();
    const [all, committed] = [this.#untranscribed.all(), this.#committed?.samples ?? 0];
    this.#stream?.append(all.subarray(0, committed));
    if (committed > 0) this.#stream?.commit();
    this.#stream?.append(all.subarray(committed));
  }

  #useSegmented(error: ModelError): void {
    this.#o.failed(error);
    this.#stream?.close();
    this.#stream = null;
    const { onPartial: _, ...how } = this.#o.how;
    this.#segmented = this.#o.options.segmented.open(how);
    this.#segmented.push(this.#untranscribed.cut(this.#untranscribed.length));
    this.#resolveCommitted();
  }
}

/** A model that transcribes during speech, over one realtime session for each stretch of speech; segmented where such sessions fail, and for a while afterwards. */
export function realtimeTranscription(options: RealtimeTranscriptionOptions): TranscriptionModel {
  const live: TranscriptionModel = {
    open: (how) => new StreamedStretch({ how, options, failed: (error) => order.failed(live, error) }),
  };
  const order = failover<TranscriptionModel>(live, options.segmented, options.clock, options.onFailover);
  return { streams: true, open: (how) => (order.endpoints()[0] ?? live).open(how) };
}
