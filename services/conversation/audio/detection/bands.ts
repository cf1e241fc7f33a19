import type { Pcm } from "../port.ts";

/** Noise fills its band, a voice stands out where it is strongest: below this frequency, or above it. Hz. */
const SPLIT_HZ = 1170;
/** Minimum statistics: the quietest step of the last second gives the noise floor, for speech dips more often. Longer, it would be late where noise swells. */
const FLOOR_BLOCKS = 20;
const BLOCK_STEPS = 5;

/** The power of one step, of full scale squared: of all of it, and of its bands. */
export interface StepPower {
  readonly all: number;
  readonly low: number;
  readonly high: number;
}

/** Splits samples into two bands and sums their power. Pure. */
export class BandPower {
  readonly #share: number;
  #first = 0;
  #second = 0;
  #count = 0;
  #sum = 0;
  #squares = 0;
  #lowSum = 0;
  #low = 0;
  #high = 0;

  constructor(rate: number) {
    this.#share = 1 - Math.exp((-2 * Math.PI * SPLIT_HZ) / rate);
  }

  /** Samples of the step so far. */
  get count(): number {
    return this.#count;
  }

  /** Adds samples of one step, those from one place of the sound up to another. */
  add(pcm: Pcm, from: number, to: number): void {
    const share = this.#share;
    // in variables of the loop: this is done for every sample of every call
    let first = this.#first;
    let second = this.#second;
    let sum = 0;
    let squares = 0;
    let lowSum = 0;
    let lows = 0;
    let highs = 0;
    for (let i = from; i < to; i++) {
      const sample = pcm[i] ?? 0;
      first += share * (sample - first);
      second += share * (first - second);
      const high = sample - second;
      sum += sample;
      squares += sample * sample;
      lowSum += second;
      lows += second * second;
      highs += high * high;
    }
    this.#first = first;
    this.#second = second;
    this.#sum += sum;
    this.#squares += squares;
    this.#lowSum += lowSum;
    this.#low += lows;
    this.#high += highs;
    this.#count += to - from;
  }

  /** The power of the step, which is over; an offset of all samples has none. */
  take(): StepPower {
    const n = this.#count;
    const power = {
      all: (this.#squares - this.#sum ** 2 / n) / n,
      low: (this.#low - this.#lowSum ** 2 / n) / n,
      high: this.#high / n,
    };
    this.#sum = this.#squares = this.#lowSum = this.#low = this.#high = this.#count = 0;
    return power;
  }
}

/** Tracks the noise floor of a band, step by step. `bias`: noise is on its mean so many times as powerful as its quietest step. */
export function noiseFloor({ bias, least }: { bias: number; least: number }): (power: number) => number {
  const blocks = new Float64Array(FLOOR_BLOCKS).fill(Infinity);
  // what a call begins with is noise until it dips: background noise must not interrupt the greeting
  let floor = Infinity;
  let lowest = Infinity;
  let [steps, block] = [0, 0];
  return (power) => {
    if (power < lowest) lowest = power;
    if (++steps < BLOCK_STEPS) return floor;
    steps = 0;
    block = (block + 1) % FLOOR_BLOCKS;
    blocks[block] = lowest;
    lowest = Infinity;
    let quietest = Infinity;
    for (let n = 0; n < FLOOR_BLOCKS; n++) quietest = Math.min(quietest, blocks[n] ?? 0);
    floor = Math.max(quietest * bias, least);
    return floor;
  };
}
