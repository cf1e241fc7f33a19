import type { Clock } from "../../../../shared/clock.ts";
import { startTimer } from "../../timer.ts";
import type { ModelAddress } from "../addresses.ts";
import { abortedError } from "../model-errors.ts";
import { SampleBuffer } from "./sample-buffer.ts";
import { languageOf, promptOf, TRANSCRIPTION_TIMEOUT_MS } from "./openai-transcription.ts";
import { failover, type FailoverListener } from "../failover.ts";
import { ModelError, type Transcription, type TranscriptionModel } from "../port.ts";
import { joinTexts } from "./segmented-transcription.ts";
import {
  openTranscriptionStream,
  type RealtimeDialect,
  type TranscriptionStream,
  type TranscriptionStreamOptions,
} from "./transcription-stream.ts";
import { unlessAborted } from "../deadline.ts";

/** Sound the server is given at most before its words are asked for. */
const MAX_UNCOMMITTED_SECONDS = 30;

type Open = Parameters<TranscriptionModel["open"]>[0];
/** What a streaming model needs. `pieces` does its work where the session fails twice. */
export interface RealtimeTranscription {
  readonly address: ModelAddress;
  readonly dialect: RealtimeDialect;
  readonly clock: Clock;
  readonly pieces: TranscriptionModel;
  readonly resting?: FailoverListener;
}

class Stretch implements Transcription {
  readonly #o: { how: Open; parts: RealtimeTranscription; failed(fault: unknown): void };
  readonly #closed = new AbortController();
  /** Sound whose words are not known yet, in case it has to be sent again. */
  readonly #unheard = new SampleBuffer();
  /** Of it, what was committed, and who waits for its words. */
  #committed: { samples: number; done: PromiseWithResolvers<void>; stop: () => void } | null = null;
  #line: TranscriptionStream | null = null;
  #reconnects = 1;
  /** Does the work once the session has failed. */
  #pieces: Transcription | null = null;
  #words = "";
  #partial = "";
  /** Commits one after the other, and how many are still to come. */
  #chain: Promise<void> = Promise.resolve();
  #questions = 0;

  constructor(o: { how: Open; parts: RealtimeTranscription; failed(fault: unknown): void }) {
    this.#o = o;
    this.#connect();
  }

  push(pcm: Int16Array): void {
    if (this.#closed.signal.aborted) return;
    if (this.#pieces !== null) {
      this.#pieces.push(pcm);
      return;
    }
    this.#unheard.add(pcm);
    this.#line?.append(pcm);
    if (this.#questions === 0 && this.#unheard.length >= MAX_UNCOMMITTED_SECONDS * this.#o.how.rate) this.#asked();
  }

  async text(signal: AbortSignal): Promise<string> {
    if (signal.aborted || this.#closed.signal.aborted) throw abortedError();
    await unlessAborted(this.#asked(), AbortSignal.any([signal, this.#closed.signal]));
    return this.#pieces === null ? this.#words : joinTexts(this.#words, await this.#pieces.text(signal));
  }

  close(): void {
    this.#closed.abort();
    this.#settle();
    this.#line?.close();
    this.#line = null;
    this.#pieces?.close();
  }

  /** Resolves when the words of all that was pushed are known, or the pieces are to be asked for them. */
  #asked(): Promise<void> {
    this.#questions++;
    return (this.#chain = this.#chain.then(() => this.#commit()));
  }

  async #commit(): Promise<void> {
    const samples = this.#unheard.length;
    if (samples > 0 && this.#line !== null && !this.#closed.signal.aborted) {
      const late = (): void =>
        this.#giveUp(
          new ModelError(
            "MODEL_TIMEOUT",
            `the transcription session was silent for ${TRANSCRIPTION_TIMEOUT_MS} ms`,
            true,
          ),
        );
      const stop = startTimer(this.#o.parts.clock, TRANSCRIPTION_TIMEOUT_MS, late);
      const committed = { samples, done: Promise.withResolvers<void>(), stop };
      this.#committed = committed;
      this.#line.commit();
      await committed.done.promise;
    }
    this.#questions--;
  }

  #settle(): void {
    this.#committed?.stop();
    this.#committed?.done.resolve();
    this.#committed = null;
  }

  #connect(): void {
    const { how, parts } = this.#o;
    const options: TranscriptionStreamOptions = {
      address: parts.address,
      dialect: parts.dialect,
      rate: how.rate,
      language: languageOf(how.language),
      prompt: promptOf(how.hints),
    };
    this.#line = openTranscriptionStream(options, {
      delta: (text) => {
        this.#partial += text;
        how.onPartial?.(joinTexts(this.#words, this.#partial.trim()));
      },
      completed: (text) => this.#heard(text),
      failed: (fault) => this.#lost(fault),
    });
  }

  #heard(text: string): void {
    if (this.#committed === null) return;
    this.#unheard.cut(this.#committed.samples);
    this.#words = joinTexts(this.#words, text);
    this.#partial = "";
    this.#settle();
  }

  /** Once a cut line is replaced, and told again what has no words yet. */
  #lost(fault: ModelError): void {
    if (this.#closed.signal.aborted || this.#pieces !== null) return;
    if (this.#reconnects-- <= 0) {
      this.#giveUp(fault);
      return;
    }
    this.#partial = "";
    this.#connect();
    const [all, committed] = [this.#unheard.all(), this.#committed?.samples ?? 0];
    this.#line?.append(all.subarray(0, committed));
    if (committed > 0) this.#line?.commit();
    this.#line?.append(all.subarray(committed));
  }

  #giveUp(fault: ModelError): void {
    this.#o.failed(fault);
    this.#line?.close();
    this.#line = null;
    const { onPartial: _, ...how } = this.#o.how;
    this.#pieces = this.#o.parts.pieces.open(how);
    this.#pieces.push(this.#unheard.cut(this.#unheard.length));
    this.#settle();
  }
}

/** A model that transcribes while somebody speaks, over a realtime session for each stretch of speech; pieces where such sessions fail, and for a while afterwards. */
export function realtimeTranscription(parts: RealtimeTranscription): TranscriptionModel {
  const live: TranscriptionModel = {
    open: (how) => new Stretch({ how, parts, failed: (fault) => asked.failed(live, fault) }),
  };
  const asked = failover<TranscriptionModel>(live, parts.pieces, parts.clock, parts.resting);
  return { streams: true, open: (how) => (asked.endpoints()[0] ?? live).open(how) };
}
