/** Levels and bands of telephone sound at 8 kHz. Pure. */

const RATE = 8000;
const FULL_SCALE = 32_768;
const LOWEST_HZ = 300;
/** A step of speech counts as loud this far below its loudest. */
const LOUD_DB = 25;
const STEP = RATE / 50;

const clipped = (value: number): number => Math.max(-32_767, Math.min(32_767, Math.round(value)));
const meanSquare = (pcm: ArrayLike<number>, from = 0, to = pcm.length): number => {
  let sum = 0;
  for (let at = from; at < to; at++) sum += (pcm[at] ?? 0) ** 2;
  return sum / Math.max(1, to - from);
};

/** The level of a sound while it is loud, dBFS: pauses do not count. */
export function activeLevel(pcm: ArrayLike<number>): number {
  const steps: number[] = [];
  for (let at = 0; at + STEP <= pcm.length; at += STEP) steps.push(meanSquare(pcm, at, at + STEP));
  const loudest = Math.max(...steps, 1e-9);
  const loud = steps.filter((power) => power > loudest / 10 ** (LOUD_DB / 10));
  return 10 * Math.log10(loud.reduce((a, b) => a + b, 0) / Math.max(1, loud.length) / FULL_SCALE ** 2);
}

/** The sound at another level while it is loud, dBFS. */
export function atLevel(pcm: ArrayLike<number>, level_db: number): Int16Array {
  const factor = 10 ** ((level_db - activeLevel(pcm)) / 20);
  return Int16Array.from(pcm, (value) => clipped(value * factor));
}

/** Steady noise at a level, dBFS: its mean power counts. */
export function noiseAt(pcm: ArrayLike<number>, level_db: number): Int16Array {
  const factor = (FULL_SCALE * 10 ** (level_db / 20)) / Math.sqrt(Math.max(1e-9, meanSquare(pcm)));
  return Int16Array.from(pcm, (value) => clipped(value * factor));
}

/** What is below the telephone's band is taken away (two poles at 300 Hz); what is above does not exist at this rate. */
export function telephoneBand(pcm: ArrayLike<number>): Float64Array {
  const w = (2 * Math.PI * LOWEST_HZ) / RATE;
  const alpha = Math.sin(w) / Math.SQRT2;
  const [b0, b1, a0, a1, a2] = [(1 + Math.cos(w)) / 2, -(1 + Math.cos(w)), 1 + alpha, -2 * Math.cos(w), 1 - alpha];
  const out = new Float64Array(pcm.length);
  let [x1, x2, y1, y2] = [0, 0, 0, 0];
  for (let at = 0; at < pcm.length; at++) {
    const x = pcm[at] ?? 0;
    const y = (b0 * x + b1 * x1 + b0 * x2 - a1 * y1 - a2 * y2) / a0;
    [x2, x1, y2, y1] = [x1, x, y1, y];
    out[at] = y;
  }
  return out;
}

/** Sounds at once, as long as the first. */
export const mixed = (first: Int16Array, ...others: readonly Int16Array[]): Int16Array =>
  first.map((value, at) => clipped(others.reduce((sum, other) => sum + (other[at] ?? 0), value)));
