import type { Pcm } from "./port.ts";

/** A window of two steps is analysed every step. */
const STEP_MS = 10;
const LOWEST_HZ = 400;
const HIGHEST_HZ = 2000;
const GRID_HZ = 25;
/** Windows that a tone of 120 ms fills wherever it begins. */
const MIN_WINDOWS = 10;
/** A longer tone is a dial or busy tone, not a beep. */
const MAX_WINDOWS = 300;
/** Share of the tone in the total power: two equal tones have half each. */
const PURE = 0.8;
/** A quieter tone is no beep. */
const MIN_DB = -40;
/** Drift of a steady tone from its beginning, and its change of level between windows. */
const DRIFT_HZ = 30;
const SWELL_DB = 3;

const FULL_SCALE = 32_768 ** 2;

interface Tone {
  readonly hz: number;
  readonly db: number;
}

/** Returns a function that finds the single tone of a window; null: the window contains something else. */
function toneFinder(length: number, rate: number): (samples: Float64Array) => Tone | null {
  const shape = Float64Array.from({ length }, (_, i) => 0.5 - 0.5 * Math.cos((2 * Math.PI * (i + 0.5)) / length));
  const weight = shape.reduce((a, b) => a + b);
  const weight2 = shape.reduce((a, b) => a + b * b, 0);
  const bank = Array.from({ length: (HIGHEST_HZ - LOWEST_HZ) / GRID_HZ + 1 }, (_, i) => LOWEST_HZ + i * GRID_HZ).map(
    (hz) => ({ hz, turn: 2 * Math.cos((2 * Math.PI * hz) / rate) }),
  );
  const shaped = new Float64Array(length);
  return (samples) => {
    let energy = 0;
    for (let i = 0; i < length; i++) {
      const value = (samples[i] ?? 0) * (shape[i] ?? 0);
      shaped[i] = value;
      energy += value * value;
    }
    const power = energy / weight2;
    if (power < FULL_SCALE * 10 ** (MIN_DB / 10)) return null;
    let [best, bestHz] = [0, 0];
    for (const { hz, turn } of bank) {
      let one = 0;
      let two = 0;
      for (let i = 0; i < length; i++) {
        const next = (shaped[i] ?? 0) + turn * one - two;
        two = one;
        one = next;
      }
      const found = one * one + two * two - turn * one * two;
      if (found > best) [best, bestHz] = [found, hz];
    }
    // The power of a pure sine is 2 |X|² / (Σ window)².
    return (2 * best) / (weight * weight) >= PURE * power ? { hz: bestHz, db: 10 * Math.log10(power) } : null;
  };
}

/** Detects the beep of a voicemail: one steady tone for at least 120 ms, unlike speech, DTMF and chords. */
export function beepDetector(rate: number) {
  const step = Math.round((rate * STEP_MS) / 1000);
  const window = new Float64Array(2 * step);
  const find = toneFinder(2 * step, rate);
  let filled = 0;
  let begun: Tone | null = null;
  let last: Tone | null = null;
  let steady = 0;

  /** Analyses a whole window; true when a beep has ended. */
  function judge(): boolean {
    const tone = find(window);
    if (tone && begun && last && Math.abs(tone.hz - begun.hz) <= DRIFT_HZ && Math.abs(tone.db - last.db) <= SWELL_DB) {
      steady += 1;
      last = tone;
      return false;
    }
    const beep = steady >= MIN_WINDOWS && steady <= MAX_WINDOWS;
    begun = last = tone;
    steady = tone ? 1 : 0;
    return beep;
  }

  return {
    /** True when a beep has just ended. */
    push(pcm: Pcm): boolean {
      let ended = false;
      for (let i = 0; i < pcm.length; i++) {
        window[step + filled] = pcm[i] ?? 0;
        if (++filled < step) continue;
        if (judge()) ended = true;
        window.copyWithin(0, step);
        filled = 0;
      }
      return ended;
    },
  };
}
