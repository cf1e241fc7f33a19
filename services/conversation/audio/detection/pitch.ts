import { products } from "../kernel/products.ts";
import type { Pcm } from "../port.ts";

/** Sound is compared with itself at this rate, over a window that holds two periods of the lowest voice. */
const RATE = 8000;
const WINDOW = 256;
/** Periods of voices that speak: 70 to 400 Hz. A shorter period is that of a bell or a siren. */
const [SHORTEST, SHORTEST_VOICE, LONGEST] = [4, 20, 114];
/** So much of a voice repeats after one period, even as loud again as the noise around it; noise repeats less, coloured as it may be. */
const PERIODIC = 0.45;
/** What repeats nearly as well after a shorter period is no voice, unless it has become another sound since. */
const TONAL = 0.88;
/** How like itself a sound is after so many tests: a voice changes, a tone or a chord does not, and a siren does a little. */
const CHANGE_TESTS = 3;
const STEADY = 0.9;
const CHANGED = 0.5;
/** Periods over which it is compared. */
const COMPARED = 40;

/** Where the sound lies while it is multiplied with itself: after silence, and the products behind it. */
const [SOUND_AT, DOTS_AT] = [LONGEST + 6, LONGEST + 6 + WINDOW];
const PRODUCTS = products(DOTS_AT + LONGEST + 6);

/** Products of the window with itself after each delay. */
function selfProducts(sound: Float32Array, out: Float32Array): void {
  const first = SHORTEST - 1;
  if (PRODUCTS !== null) {
    const { floats } = PRODUCTS;
    floats.set(sound, SOUND_AT);
    PRODUCTS.sums(SOUND_AT, WINDOW, { from: SOUND_AT - first, every: -1, count: LONGEST + 1 - first, to: DOTS_AT });
    for (let lag = first; lag <= LONGEST; lag++) out[lag] = floats[DOTS_AT + lag - first] ?? 0;
    return;
  }
  for (let lag = first; lag <= LONGEST; lag++) {
    let dot = 0;
    for (let i = lag; i < WINDOW; i++) dot += (sound[i] ?? 0) * (sound[i - lag] ?? 0);
    out[lag] = dot;
  }
}

/** Likeness of the window to itself after each delay, -1 to 1; one energy for both ends, as noise takes its share of each. */
function likeness(sound: Float32Array, out: Float32Array): void {
  selfProducts(sound, out);
  let all = 1;
  for (let i = 0; i < WINDOW; i++) all += (sound[i] ?? 0) ** 2;
  let head = all;
  let tail = all;
  for (let lag = 1; lag <= LONGEST; lag++) {
    head -= (sound[WINDOW - lag] ?? 0) ** 2;
    tail -= (sound[lag - 1] ?? 0) ** 2;
    if (lag >= SHORTEST - 1) out[lag] = (out[lag] ?? 0) / Math.sqrt(Math.max(1, head * tail));
  }
}

/** How alike two sounds are, -1 to 1, by their likenesses. */
function alike(a: Float32Array, b: Float32Array): number {
  let [dot, own, other] = [0, 1e-9, 1e-9];
  for (let lag = SHORTEST; lag <= COMPARED; lag++) {
    const x = a[lag] ?? 0;
    const y = b[lag] ?? 0;
    dot += x * y;
    own += x * x;
    other += y * y;
  }
  return dot / Math.sqrt(own * other);
}

/** The best period of a voice, and the best of anything higher. */
function periods(like: Float32Array): { voice: number; tone: number } {
  let [voice, tone] = [0, 0];
  for (let lag = SHORTEST_VOICE; lag <= LONGEST; lag++) voice = Math.max(voice, like[lag] ?? 0);
  for (let lag = SHORTEST; lag < SHORTEST_VOICE - 1; lag++) {
    const here = like[lag] ?? 0;
    if (here > tone && here > (like[lag - 1] ?? 0) && here >= (like[lag + 1] ?? 0)) tone = here;
  }
  return { voice, tone };
}

/** Tells a voice from noises and tones by its pitch, whatever its level: a pitch that speaks, in a sound that changes. Pure. */
export class Voicing {
  readonly #every: number;
  readonly #ring = new Float32Array(WINDOW);
  readonly #window = new Float32Array(WINDOW);
  readonly #likes = Array.from({ length: CHANGE_TESTS + 1 }, () => new Float32Array(LONGEST + 1));
  #at = 0;
  #sum = 0;
  #summed = 0;
  /** Tests since the sound set in. */
  #tests = 0;

  constructor(rate: number) {
    this.#every = Math.max(1, Math.round(rate / RATE));
  }

  /** Takes the samples from one place of the sound up to another. */
  push(pcm: Pcm, from: number, to: number): void {
    // in variables of the loop: this is done for every sample of every call
    const ring = this.#ring;
    const every = this.#every;
    let at = this.#at;
    let sum = this.#sum;
    let summed = this.#summed;
    for (let i = from; i < to; i++) {
      sum += pcm[i] ?? 0;
      if (++summed < every) continue;
      ring[at] = sum / every;
      at = (at + 1) % WINDOW;
      sum = 0;
      summed = 0;
    }
    this.#at = at;
    this.#sum = sum;
    this.#summed = summed;
  }

  /** A sound sets in: what was before it does not tell how it changes. */
  begin(): void {
    this.#tests = 0;
  }

  /** The latest 32 ms are of a voice. To be asked at even intervals of 20 ms. */
  test(): boolean {
    const like = this.#likes[this.#tests % this.#likes.length] ?? this.#window;
    const before = this.#likes[(this.#tests - CHANGE_TESTS + this.#likes.length) % this.#likes.length] ?? like;
    const known = this.#tests++ >= CHANGE_TESTS;
    this.#window.set(this.#ring.subarray(this.#at));
    this.#window.set(this.#ring.subarray(0, this.#at), WINDOW - this.#at);
    likeness(this.#window, like);
    const { voice, tone } = periods(like);
    if (voice < PERIODIC) return false;
    const same = known ? alike(like, before) : CHANGED;
    return same < STEADY && (tone < TONAL * voice || same < CHANGED);
  }
}

/** A voice is found by so many of the last tests, and by fewer where one has just paused: it goes on. */
const TESTS = 20;
const FOUND = 4;
const FOUND_AGAIN = 2;
/** Every second step of 10 ms is tested, and every sixth once a voice is known: it must only be seen to go on. */
const TEST_STEPS = 2;
const KNOWN_TEST_STEPS = 6;

/** Looks for the pitch of a voice in steps that are audible. Times in steps. */
export class PitchSearch {
  readonly #voicing: Voicing;
  /** One bit a test. */
  #tests = 0;
  #count = 0;
  #steps = 0;
  #lastAt = -Infinity;

  constructor(voicing: Voicing) {
    this.#voicing = voicing;
  }

  step(audible: boolean, known: boolean): void {
    if (++this.#steps % (known ? KNOWN_TEST_STEPS : TEST_STEPS) !== 0) return;
    const voiced = audible && this.#voicing.test();
    if (voiced) this.#lastAt = this.#steps;
    const tests = (this.#tests << 1) | Number(voiced);
    this.#count += Number(voiced) - ((tests >>> TESTS) & 1);
    this.#tests = tests & (2 ** TESTS - 1);
  }

  /** The sound is a voice's. `again`: one has just spoken. */
  found(again: boolean): boolean {
    return this.#count >= (again ? FOUND_AGAIN : FOUND);
  }
  /** Steps since a test last found a pitch. */
  get missing(): number {
    return this.#steps - this.#lastAt;
  }
}
