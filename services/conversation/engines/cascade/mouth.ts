import type { SpeechModel } from "../../models/port.ts";
import type { PartSink, Playout } from "../../media/playout.ts";
import { resampler } from "../../speech/resampler.ts";
import { sentenceChunker } from "../../speech/sentences.ts";
import { speakable } from "../../speech/speakable.ts";

/** Parts that are being synthesised at once: the one that plays, and the next. */
const AT_ONCE = 2;

/** An utterance that grows while it is spoken. */
export interface Utterance {
  push(piece: string): void;
  end(): void;
}

/** Turns text into sound in the order it was given. */
export interface Mouth {
  /** An utterance that comes in pieces; its sentences are spoken as they are complete. */
  open(how: { interruptible: boolean }): Utterance;
  /** A text that is complete. */
  say(text: string, how: { interruptible: boolean; aside?: boolean }): void;
  /** Sound that is no speech. */
  sound(pcm: Int16Array): void;
  /** Lets go of all that is not spoken yet; the playout is not touched. */
  drop(): void;
  /** An utterance still grows, or something waits for its sound. */
  readonly busy: boolean;
}

interface Job { readonly text: string; readonly sink: PartSink; readonly abort: AbortController; started: boolean }

/** What a mouth works with. `failed`: a part can't be spoken. `asked`, `sounded`: a part was given to the model, and its first sound has come. */
export interface MouthParts {
  speech: SpeechModel;
  playout: Playout;
  rate: number;
  failed(): void;
  asked(): void;
  sounded(): void;
}

/** A mouth that is silent. */
export function mouth({ speech, playout, rate, failed, asked, sounded }: MouthParts): Mouth {
  let jobs: Job[] = [];
  let groups = 0;
  let growing = 0;
  let generation = 0;

  const synthesise = async (job: Job): Promise<void> => {
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
    } catch {
      if (!job.abort.signal.aborted) failed();
    } finally {
      job.sink.end();
      jobs = jobs.filter((other) => other !== job);
      next();
    }
  };

  const next = (): void => {
    for (const job of jobs.slice(0, AT_ONCE)) {
      if (job.started) continue;
      job.started = true;
      asked();
      void synthesise(job);
    }
  };

  const add = (text: string, group: number, how: { interruptible: boolean; aside?: boolean }): void => {
    const sink = playout.add({ text, group, interruptible: how.interruptible, aside: how.aside ?? false });
    const spoken = speakable(text);
    if (spoken === "") { sink.end(); return; }
    jobs.push({ text: spoken, sink, abort: new AbortController(), started: false });
    next();
  };

  return {
    get busy() { return growing > 0 || jobs.length > 0; },
    open(how) {
      const group = ++groups;
      const mine = generation;
      const chunks = sentenceChunker();
      let open = true;
      growing++;
      const speak = (parts: string[]): void => { for (const part of parts) if (mine === generation) add(part, group, how); };
      return {
        push(piece) { if (open) speak(chunks.push(piece)); },
        end() {
          if (!open) return;
          open = false;
          if (mine === generation) growing--;
          speak(chunks.end());
        },
      };
    },
    say(text, how) {
      if (text.trim() !== "") add(text.trim(), ++groups, how);
    },
    sound(pcm) {
      const sink = playout.add({ text: "", group: ++groups, interruptible: false, aside: true });
      sink.push(pcm);
      sink.end();
    },
    drop() {
      generation++;
      growing = 0;
      const dropped = jobs;
      jobs = [];
      for (const job of dropped) { job.abort.abort(); job.sink.end(); }
    },
  };
}
