import { HIGH_GROUP, LOW_GROUP } from "./tones.ts";

/** Reads one symbol from its sound: which tone of each group sounds, if clearly two do and little else. */

const WINDOW_MS = 36;
const MS_PER_SECOND = 1000;
/** The best tone of a group must be so many times stronger than its second. */
const DOMINANCE = 8;
/** The two tones hold at least this part of all energy. */
const LEAST_SHARE = 0.6;
/** Neither of the two is so many times stronger than the other. */
const MOST_IMBALANCE = 16;

/** Gives the byte whose tones sound around the middle of a window of samples, or null. */
export interface SymbolReader {
  /** Samples the reader looks at. */
  readonly length: number;
  /** `from`: where the window begins in the samples. */
  read(samples: Float32Array, from: number): number | null;
}

/** A reader for a rate of sound. */
export function symbolReader(rate: number): SymbolReader {
  const length = Math.round((WINDOW_MS * rate) / MS_PER_SECOND);
  const window = Float32Array.from({ length }, (_, at) => 0.5 - 0.5 * Math.cos((2 * Math.PI * (at + 0.5)) / length));
  const sum = window.reduce((total, value) => total + value, 0);
  const squares = window.reduce((total, value) => total + value * value, 0);
  const scale = (2 * squares) / (sum * sum);
  const groups = [LOW_GROUP, HIGH_GROUP].map((group) => group.map((hz) => 2 * Math.cos((2 * Math.PI * hz) / rate)));
  const shaped = new Float32Array(length);
  return {
    length,
    read(samples, from) {
      let energy = 0;
      for (let at = 0; at < length; at += 1) {
        const value = (samples[from + at] ?? 0) * (window[at] ?? 0);
        shaped[at] = value;
        energy += value * value;
      }
      const [high, low] = groups.map((group) =>
        strongest(group.map((coefficient) => power(shaped, coefficient) * scale)),
      );
      if (high === undefined || low === undefined || !high.clear || !low.clear) return null;
      if (high.power + low.power < LEAST_SHARE * energy) return null;
      if (high.power > MOST_IMBALANCE * low.power || low.power > MOST_IMBALANCE * high.power) return null;
      return high.index * HIGH_GROUP.length + low.index;
    },
  };
}

/** Goertzel: the energy of one frequency. */
function power(samples: Float32Array, coefficient: number): number {
  let one = 0;
  let two = 0;
  for (let at = 0; at < samples.length; at += 1) {
    const next = (samples[at] ?? 0) + coefficient * one - two;
    two = one;
    one = next;
  }
  return one * one + two * two - coefficient * one * two;
}

function strongest(powers: readonly number[]): { index: number; power: number; clear: boolean } {
  let index = 0;
  let second = 0;
  for (let at = 1; at < powers.length; at += 1) {
    const value = powers[at] ?? 0;
    if (value > (powers[index] ?? 0)) {
      second = Math.max(second, powers[index] ?? 0);
      index = at;
    } else second = Math.max(second, value);
  }
  const best = powers[index] ?? 0;
  return { index, power: best, clear: best > DOMINANCE * second };
}
