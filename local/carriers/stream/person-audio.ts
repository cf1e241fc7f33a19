import { encodeSpeech } from "../../speech/modem.ts";
import { beepPcm, coughPcm, noisePcm } from "../../speech/noises.ts";
import { encodeSound, FRAME_MS, frameSamples, peakOf, type SoundFormat } from "./audio-format.ts";

/** Sounds a person's end of the line can make. */
export type Utterance = { words: string } | { noise: "cough" | "beep"; ms: number };

/** A frame of the person's: as samples, and as a stream carries it. */
export interface PersonFrame {
  pcm: Int16Array;
  payload: string;
  sounding: boolean;
}

/** The person's end: what they say goes out in frames, with a little noise between. */
export interface PersonAudio {
  /** Makes a sound after those under way; `share` stops after that part of it. Resolves with whether it came to its end. */
  utter(what: Utterance, share?: number): Promise<boolean>;
  next(format: SoundFormat, now: number): PersonFrame;
  /** When the last utterance began to sound, null before the first. */
  onset(): number | null;
  uttering(): boolean;
  /** The line is dead. */
  stop(): void;
}

interface Sound {
  pcm: Int16Array[];
  payloads: string[];
}
interface Running {
  what: Utterance;
  share: number;
  at: number;
  done(whole: boolean): void;
}

/** Sounds are made once and kept for all calls, the least used forgotten beyond this many. */
const MOST_KEPT = 500;
const NOISE_DBFS = -60;
const NOISE_MS = 1_000;
const NOISE_SEED = 20;
/** Quieter frames at an utterance's end are left out: what it ends with is heard. */
const HEARD_PEAK = 100;

const kept = new Map<string, Sound>();

function pcmOf(what: Utterance | null, { rate }: SoundFormat): Int16Array {
  if (what === null) return noisePcm(NOISE_MS, rate, NOISE_DBFS, NOISE_SEED);
  if ("words" in what) return encodeSpeech(what.words, rate);
  return what.noise === "cough" ? coughPcm(what.ms, rate, NOISE_SEED) : beepPcm(what.ms, rate);
}

function made(what: Utterance | null, format: SoundFormat): Sound {
  const size = frameSamples(format);
  const all = pcmOf(what, format);
  const frames = Array.from({ length: Math.ceil(all.length / size) }, (_, n) => {
    const frame = new Int16Array(size);
    frame.set(all.subarray(n * size, (n + 1) * size));
    return frame;
  });
  const pcm =
    what === null
      ? frames
      : frames.slice(0, Math.max(1, frames.findLastIndex((frame) => peakOf(frame) >= HEARD_PEAK) + 1));
  return { pcm, payloads: pcm.map((frame) => encodeSound(format, frame).toString("base64")) };
}

/** The frames of a sound; null: the noise of a silent leg. */
function soundOf(what: Utterance | null, format: SoundFormat): Sound {
  const key = `${format.codec} ${format.rate} ${JSON.stringify(what)}`;
  const sound = kept.get(key) ?? made(what, format);
  kept.delete(key);
  kept.set(key, sound);
  const oldest = kept.keys().next();
  if (kept.size > MOST_KEPT && !oldest.done) kept.delete(oldest.value);
  return sound;
}

/** A mouth that says nothing yet. */
export function createPersonAudio(): PersonAudio {
  let queue: Running[] = [];
  let onset: number | null = null;
  let ticks = 0;
  let stopped = false;
  const frameOf = ({ pcm, payloads }: Sound, n: number, sounding: boolean): PersonFrame => ({
    pcm: pcm[n] ?? new Int16Array(),
    payload: payloads[n] ?? "",
    sounding,
  });
  return {
    utter(what, share = 1) {
      if (stopped) return Promise.resolve(false);
      return new Promise((done) => {
        queue.push({ what, share, at: 0, done });
      });
    },
    next(format, now) {
      ticks += 1;
      const [running] = queue;
      if (!running) {
        const noise = soundOf(null, format);
        return frameOf(noise, ticks % noise.pcm.length, false);
      }
      if (running.at === 0) onset = now;
      const sound = soundOf(running.what, format);
      const frame = frameOf(sound, running.at, true);
      running.at += 1;
      if (running.at >= Math.max(1, Math.ceil(sound.pcm.length * running.share))) {
        queue.shift();
        running.done(true);
      }
      return frame;
    },
    onset: () => onset,
    uttering: () => queue.length > 0,
    stop() {
      stopped = true;
      const cut = queue;
      queue = [];
      for (const { done } of cut) done(false);
    },
  };
}

/** How long the frames of some words last, ms. */
export const wordsMs = (words: string, format: SoundFormat): number => soundOf({ words }, format).pcm.length * FRAME_MS;
