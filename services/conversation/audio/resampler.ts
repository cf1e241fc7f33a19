import { products, type Products } from "./kernel/products.ts";
import type { Pcm, Resampler } from "./port.ts";

/** Reach of the filter to both sides, in samples of the slower rate: 24 to 8 kHz needs 96 taps and 2 ms of delay. */
const REACH_SAMPLES = 16;
/** Cut-off (-6 dB) as a share of the slower rate: 3.6 kHz at 8 kHz. */
const CUTOFF = 0.45;
/** Shape of the Kaiser window: higher values give quieter aliases and a wider slope. */
const BETA = 5.5;
const RATE_MIN_HZ = 4000;
const RATE_MAX_HZ = 192_000;
/** Largest filter: rates with a small common divisor need many phases; 44.1 to 48 kHz stays far below. */
const FILTER_MAX_TAPS = 200_000;
const FILTERS_KEPT = 32;
/** Parallel sums: a processor adds four at a time where a single sum waits for itself. */
const LANES = 4;
/** Samples processed at a time, so that memory does not grow with the pieces. */
const BLOCK_SAMPLES = 2048;

/** A polyphase low-pass filter; each phase is stored in the order of the samples it meets. */
interface Filter {
  readonly up: number;
  readonly down: number;
  readonly taps: number;
  readonly delay: number;
  readonly phases: Float64Array;
}

const commonMeasure = (a: number, b: number): number => (b === 0 ? a : commonMeasure(b, a % b));

/** The modified Bessel function of order zero, for the Kaiser window. */
function bessel(x: number): number {
  let term = 1;
  let sum = 1;
  for (let k = 1; term > sum * 1e-15; k++) {
    term *= (x / (2 * k)) ** 2;
    sum += term;
  }
  return sum;
}

function design(from: number, to: number): Filter {
  const measure = commonMeasure(from, to);
  const up = to / measure;
  const down = from / measure;
  const slower = Math.min(from, to);
  const delay = Math.ceil((REACH_SAMPLES * from * up) / slower);
  const taps = Math.ceil((2 * delay + 1) / up / LANES) * LANES;
  if (taps * up > FILTER_MAX_TAPS) throw new RangeError(`no filter from ${from} to ${to} Hz`);
  const phases = new Float64Array(taps * up);
  const turns = (2 * CUTOFF * slower) / (from * up);
  for (let p = 0; p < up; p++) {
    let sum = 0;
    const at = p * taps;
    for (let t = 0; t < taps; t++) {
      const n = p + t * up - delay;
      const edge = 1 - (n / (delay + 1)) ** 2;
      const sinc = n === 0 ? 1 : Math.sin(Math.PI * turns * n) / (Math.PI * turns * n);
      const h = edge > 0 ? sinc * bessel(BETA * Math.sqrt(edge)) : 0;
      phases[at + taps - 1 - t] = h;
      sum += h;
    }
    // every phase has unit gain for a constant: no tone at the phase rate
    for (let t = 0; t < taps; t++) phases[at + t] = (phases[at + t] ?? 0) / sum;
  }
  return { up, down, taps, delay, phases };
}

const filters = new Map<string, Filter>();

function filterFor(from: number, to: number): Filter {
  for (const rate of [from, to])
    if (!Number.isInteger(rate) || rate < RATE_MIN_HZ || rate > RATE_MAX_HZ)
      throw new RangeError(`no sound has ${rate} samples a second`);
  const key = `${from}:${to}`;
  const known = filters.get(key);
  if (known !== undefined) return known;
  const made = design(from, to);
  if (filters.size >= FILTERS_KEPT) filters.clear();
  filters.set(key, made);
  return made;
}

const clipped = (value: number): number => (value > 32_767 ? 32_767 : value < -32_768 ? -32_768 : Math.round(value));

/** One output sample: the taps of a phase over the samples. The hottest loop of a call. */
function weighed(phases: Float64Array, phase: number, window: Float64Array, sample: number, taps: number): number {
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  for (let t = 0; t < taps; t += LANES) {
    const p = phase + t;
    const s = sample + t;
    a += (phases[p] ?? 0) * (window[s] ?? 0);
    b += (phases[p + 1] ?? 0) * (window[s + 1] ?? 0);
    c += (phases[p + 2] ?? 0) * (window[s + 2] ?? 0);
    d += (phases[p + 3] ?? 0) * (window[s + 3] ?? 0);
  }
  return a + b + c + d;
}

/** Where the filter of one phase, the samples and what comes out of them lie while they are multiplied. */
const MOST_TAPS = 1540;
const [SAMPLES_AT, OUT_AT] = [MOST_TAPS, 2 * MOST_TAPS + BLOCK_SAMPLES];
const PRODUCTS = products(OUT_AT + BLOCK_SAMPLES);

/** What a filter of one phase needs of the samples before. */
interface Kept {
  readonly weights: Float32Array;
  readonly samples: Float32Array;
}

/** A filter of one phase over the samples after those that were kept: `made` samples from one place on, every so many. Four at once. */
function filtered({ floats, sums }: Products, { weights, samples }: Kept, piece: Piece, out: Pcm, to: number): void {
  const { source, at, count, next, down, made } = piece;
  const kept = samples.length;
  floats.set(weights);
  floats.set(samples, SAMPLES_AT);
  const first = SAMPLES_AT + kept;
  for (let i = 0; i < count; i++) floats[first + i] = source === null ? 0 : (source[at + i] ?? 0);
  sums(0, weights.length, { from: SAMPLES_AT + next, every: down, count: made, to: OUT_AT });
  for (let i = 0; i < made; i++) out[to + i] = clipped(floats[OUT_AT + i] ?? 0);
  samples.set(floats.subarray(SAMPLES_AT + count, first + count));
}

/** Samples that are worked on at once; null: silence. */
interface Piece {
  readonly source: Pcm | null;
  readonly at: number;
  readonly count: number;
  readonly next: number;
  readonly down: number;
  readonly made: number;
}

/** Copies the samples, as the other resamplers do. */
const unchanged: Resampler = { push: (pcm) => pcm.slice(), end: () => new Int16Array(0) };

/** A polyphase windowed-sinc resampler; its output is aligned in time with its input. */
export function resampler(from: number, to: number): Resampler {
  if (from === to) return unchanged;
  const { up, down, taps, delay, phases } = filterFor(from, to);
  const kept = taps - 1;
  const window = new Float64Array(kept + BLOCK_SAMPLES);
  const one: Kept | null =
    up === 1 && taps <= MOST_TAPS ? { weights: Float32Array.from(phases), samples: new Float32Array(kept) } : null;
  // position of the next output sample in steps of 1/up input samples, from the first unprocessed one
  let next = delay;
  let taken = 0;
  let given = 0;

  /** Takes `count` samples (silence without a source) and writes what they complete; returns the samples written. */
  function work(source: Pcm | null, at: number, count: number, out: Pcm, written: number): number {
    const limit = count * up;
    if (one !== null && PRODUCTS !== null) {
      const made = Math.min(out.length - written, Math.max(0, Math.ceil((limit - next) / down)));
      filtered(PRODUCTS, one, { source, at, count, next, down, made }, out, written);
      next += made * down - limit;
      return written + made;
    }
    for (let i = 0; i < count; i++) window[kept + i] = source === null ? 0 : (source[at + i] ?? 0);
    let made = written;
    for (; next < limit && made < out.length; next += down) {
      const sample = Math.floor(next / up);
      out[made++] = clipped(weighed(phases, (next - sample * up) * taps, window, sample, taps));
    }
    next -= limit;
    window.copyWithin(0, count, count + kept);
    return made;
  }

  return {
    push(pcm) {
      const due = Math.max(Math.ceil((pcm.length * up - next) / down), 0);
      const out = new Int16Array(due);
      let made = 0;
      for (let at = 0; at < pcm.length; at += BLOCK_SAMPLES)
        made = work(pcm, at, Math.min(BLOCK_SAMPLES, pcm.length - at), out, made);
      taken += pcm.length;
      given += made;
      return out;
    },
    end() {
      const out = new Int16Array(Math.max(Math.ceil((taken * up) / down) - given, 0));
      for (let made = 0; made < out.length;) made = work(null, 0, BLOCK_SAMPLES, out, made);
      window.fill(0);
      one?.samples.fill(0);
      next = delay;
      taken = 0;
      given = 0;
      return out;
    },
  };
}
