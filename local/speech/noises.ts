import { tonePcm } from "./tones.ts";
import type { Rate } from "./tones.ts";

/** Sounds without words in them. */

const MS_PER_SECOND = 1000;
const FULL_SCALE = 32_767;
const BEEP_HZ = 1000;
const BEEP_LEVEL = 10 ** (-15 / 20);
const COUGH_LEVEL = 10 ** (-12 / 20);
const COUGH_RISE_MS = 15;

/** Numbers between -1 and 1, the same ones for the same seed (mulberry32). */
export function noiseFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 31 - 1;
  };
}

/** White noise of a level in dBFS. */
export function noisePcm(ms: number, rate: Rate, level_db: number, seed: number): Int16Array {
  const next = noiseFrom(seed);
  // An even spread of numbers has an RMS of its bound over the root of three.
  const bound = 10 ** (level_db / 20) * Math.sqrt(3) * FULL_SCALE;
  return Int16Array.from({ length: Math.round((ms * rate) / MS_PER_SECOND) }, () =>
    Math.max(-FULL_SCALE, Math.min(FULL_SCALE, Math.round(next() * bound))),
  );
}

/** A cough: a burst of noise that sets in at once and dies away. No words in it. */
export function coughPcm(ms: number, rate: Rate, seed: number): Int16Array {
  const next = noiseFrom(seed);
  const length = Math.round((ms * rate) / MS_PER_SECOND);
  const rise = (COUGH_RISE_MS * rate) / MS_PER_SECOND;
  let smooth = 0;
  return Int16Array.from({ length }, (_, at) => {
    const shape = Math.min(1, at / rise, (length - at) / rise) * (1 - (0.6 * at) / length);
    smooth += 0.5 * (next() - smooth);
    return Math.round(Math.max(-1, Math.min(1, smooth * 3 * COUGH_LEVEL * shape)) * FULL_SCALE);
  });
}

/** The beep of an answering machine: 1 kHz. */
export function beepPcm(ms: number, rate: Rate): Int16Array {
  return tonePcm([BEEP_HZ], { rate, silence_ms: 0, tone_ms: ms, level: BEEP_LEVEL });
}
