import type { SpeechModel } from "../../providers/port.ts";
import type { PartSink, AudioPlayout } from "../../transport/audio-playout.ts";
import { resampler } from "../../audio/resampler.ts";
import { sentenceChunker } from "../../audio/sentence-chunker.ts";
import type { TokenSink } from "../llm-runner.ts";

/** Texts synthesised at once: the one that plays, and the next. */
const AT_ONCE = 2;

/** What a voice can say: silence in place of it is no speech. */
const SPEAKABLE = /[\p{L}\p{N}]/u;

/** How a text is said. `aside`: not part of the transcript. `voice`: absent: the template's. */
interface Manner {
  interruptible: boolean;
  aside?: boolean;
  voice?: string;
}

interface Job {
  readonly text: string;
  readonly speech: SpeechModel;
  readonly sink: PartSink;
  readonly abort: AbortController;
  started: boolean;
}

/**
 * Dependencies of TTS output. `failed`: a text can't be synthesised. `requested`, `started`: the model got a text, and its
 * first audio has arrived.
 */
export interface TtsOutputOptions {
  speech: SpeechModel;
  /** The same in another voice. */
  speechIn(voice: string): SpeechModel;
  playout: AudioPlayout;
  rate: number;
  failed(): void;
  requested(): void;
  started(): void;
}

/** Synthesises texts in the order they were given. */
export class TtsOutput {
  readonly #o: TtsOutputOptions;
  #jobs: Job[] = [];
  #groups = 0;
  #growing = 0;
  /** Rises with every drop: what was opened before it is spoken no more. */
  #generation = 0;

  constructor(o: TtsOutputOptions) {
    this.#o = o;
  }

  /** An utterance is not complete, or a text waits for its audio. */
  get busy(): boolean {
    return this.#growing > 0 || this.#jobs.length > 0;
  }

  /** An utterance that comes in pieces; its sentences are spoken as they are complete. */
  open(how: { interruptible: boolean }): TokenSink {
    const group = ++this.#groups;
    const mine = this.#generation;
    const chunks = sentenceChunker();
    let open = true;
    this.#growing++;
    const speak = (parts: string[]): void => {
      for (const part of parts) if (mine === this.#generation) this.#add(part, group, how);
    };
    return {
      push(piece) {
        if (open) speak(chunks.push(piece));
      },
      end: () => {
        if (!open) return;
        open = false;
        if (mine === this.#generation) this.#growing--;
        speak(chunks.end());
      },
    };
  }

  /** A text that is complete. */
  say(text: string, how: Manner): void {
    if (text.trim() !== "") this.#add(text.trim(), ++this.#groups, how);
  }

  /** Audio that is no speech. */
  playAudio(pcm: Int16Array): void {
    const sink = this.#o.playout.add({ text: "", group: ++this.#groups, interruptible: false, aside: true });
    sink.push(pcm);
    sink.end();
  }

  /** Drops all that is not spoken yet; the playout is not touched. */
  drop(): void {
    this.#generation++;
    this.#growing = 0;
    for (const { abort, sink } of this.#jobs.splice(0)) {
      abort.abort();
      sink.end();
    }
  }

  #add(text: string, group: number, how: Manner): void {
    const sink = this.#o.playout.add({ text, group, interruptible: how.interruptible, aside: how.aside ?? false });
    const speech = how.voice === undefined ? this.#o.speech : this.#o.speechIn(how.voice);
    this.#jobs.push({ text, speech, sink, abort: new AbortController(), started: false });
    this.#next();
  }

  #next(): void {
    for (const job of this.#jobs.slice(0, AT_ONCE)) {
      if (job.started) continue;
      job.started = true;
      this.#o.requested();
      void this.#synthesise(job);
    }
  }

  async #synthesise(job: Job): Promise<void> {
    const { rate, started: sounded, failed } = this.#o;
    const { speech } = job;
    const turned = resampler(speech.rate, rate);
    let silent = true;
    try {
      for await (const pcm of speech.speak(job.text, job.abort.signal)) {
        if (job.abort.signal.aborted) return;
        if (silent) sounded();
        silent = false;
        job.sink.push(turned.push(pcm));
      }
      if (!job.abort.signal.aborted) job.sink.push(turned.end());
      if (silent && !job.abort.signal.aborted && SPEAKABLE.test(job.text)) failed();
    } catch {
      if (!job.abort.signal.aborted) failed();
    } finally {
      job.sink.end();
      this.#jobs = this.#jobs.filter((other) => other !== job);
      this.#next();
    }
  }
}
