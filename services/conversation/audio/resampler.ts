import type { Pcm, Resampler } from "./port.ts";

/** Reach of the filter to both sides, in samples of the slower rate: 24 to 8 kHz has 96 taps and 2 ms of delay. */
const REACH_SAMPLES = 16;
/** Where the filter is 6 dB down, as a part of the slower rate: 3.6 kHz at 8 kHz. */
const CUTOFF = 0.45;
/** Kaiser's window: the higher, the quieter the aliases and the wider the slope. */
const BETA = 5.5;
const RATE_MIN_HZ = 4000;
const RATE_MAX_HZ = 192_000;
/** Rates without a common measure need a filter for every phase between them; this is far above 44.1 to 48 kHz. */
const FILTER_MAX_TAPS = 200_000;
const FILTERS_KEPT = 32;
/** Sums that run side by side: a processor adds four at a time where one sum has to wait for itself. */
const LANES = 4;
/** Samples that are worked on at a time, so that the memory of a stream does not grow with its pieces. */
const BLOCK_SAMPLES = 2048;

/** A low pass cut into the phases between two samples, each stored in the order of the samples it meets. */
interface Filter {
  readonly up: number;
  readonly down: number;
  readonly taps: number;
  readonly delay: number;
  readonly phases: Float64Array;
}

const commonMeasure = (a: number, b: number): number => (b === 0 ? a : commonMeasure(b, a % b));

/** The modified Bessel function of order zero, which Kaiser's window is made of. */
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
    // Every phase lets a constant through as it is: no tone at the rate of the phases.
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

/** One sample out: the taps of a phase over the samples it meets. The hottest loop of a call. */
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

/** The samples as they are, copied as the other resamplers do. */
const unchanged: Resampler = { push: (pcm) => pcm.slice(), end: () => new Int16Array(0) };

/** Changes the rate of a stream by a windowed sinc in phases; what comes out is aligned in time with what went in. */
export function resampler(from: number, to: number): Resampler {
  if (from === to) return unchanged;
  const { up, down, taps, delay, phases } = filterFor(from, to);
  const kept = taps - 1;
  const window = new Float64Array(kept + BLOCK_SAMPLES);
  // The place of the next sample out, in steps of 1/up of a sample in, counted from the first one that is not worked on yet.
  let next = delay;
  let taken = 0;
  let given = 0;

  /** Takes `count` samples (silence where there is no source) and writes what they complete; tells how many that are. */
  function work(source: Pcm | null, at: number, count: number, out: Pcm, written: number): number {
    for (let i = 0; i < count; i++) window[kept + i] = source === null ? 0 : (source[at + i] ?? 0);
    let made = written;
    const limit = count * up;
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
      next = delay;
      taken = 0;
      given = 0;
      return out;
    },
  };
}

/** All of a sound at another rate. */
export function resampleAll(pcm: Pcm, from: number, to: number): Pcm {
  if (from === to) return pcm.slice();
  const stream = resampler(from, to);
  const body = stream.push(pcm);
  const rest = stream.end();
  const all = new Int16Array(body.length + rest.length);
  all.set(body);
  all.set(rest, body.length);
  return all;
}
