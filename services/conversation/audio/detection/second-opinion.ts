import type { Pcm, VoiceModel, VoiceJudge } from "../port.ts";

/** The model judges windows of 256 samples at this rate: 32 ms. */
const RATE = 8000;
const WINDOW = 256;
/** It is asked from so many windows before a sound on: it judges a sound by what was before it. */
const BEFORE = 4;
/** This probability is of a voice. Above the second the next window is not asked about: a voice goes on for longer. */
const VOICE = 0.5;
const SURE = 0.9;
/** The model is asked for so long after a sound, in steps of 10 ms. */
const AFTER_STEPS = 15;
/** An answer that takes longer, in steps, is late: until it comes the detector judges alone. */
const LATE_STEPS = 16;
/** So many windows wait for an answer at most. */
const MOST_WAITING = 32;

/** Asks a voice model about the sounds of a call, and tells what it has answered so far. Without a model, or while that is late, it has no opinion. Times in steps. */
export class SecondOpinion {
  readonly #judge: VoiceJudge | null;
  readonly #every: number;
  readonly #windows = new Int16Array((BEFORE + 1) * WINDOW);
  /** Samples in the latest window, and whole windows before it that were not asked about. */
  #filled = 0;
  #kept = 0;
  #sum = 0;
  #summed = 0;
  #now = 0;
  #asksUntil = -1;
  /** When each window without an answer was asked about. */
  readonly #waiting: number[] = [];
  #unjudged = -Infinity;
  #isSure = false;
  #lastJudged = -Infinity;
  #lastVoice = -Infinity;

  constructor(rate: number, model: VoiceModel | undefined) {
    this.#every = Math.max(1, Math.round(rate / RATE));
    this.#judge = model?.open((probability) => this.#answered(probability)) ?? null;
  }

  /** Takes the samples from one place of the sound up to another. */
  push(pcm: Pcm, from: number, to: number): void {
    if (!this.#judge) return;
    for (let i = from; i < to; i++) {
      this.#sum += pcm[i] ?? 0;
      if (++this.#summed < this.#every) continue;
      this.#windows[BEFORE * WINDOW + this.#filled] = this.#sum / this.#every;
      this.#sum = this.#summed = 0;
      if (++this.#filled === WINDOW) this.#windowFull();
    }
  }

  /** A step is over; `audible`: it is a sound that may be a voice. */
  step(audible: boolean): void {
    this.#now++;
    if (audible) this.#asksUntil = this.#now + AFTER_STEPS;
  }

  /** The model's word counts at present. */
  get known(): boolean {
    const isLate = this.#now - (this.#waiting[0] ?? this.#now) > LATE_STEPS;
    return this.#judge?.ready === true && !isLate && this.#now - this.#unjudged > LATE_STEPS;
  }
  /** A voice was found in what was asked about within the latest steps. */
  foundWithin(steps: number): boolean {
    return this.#now - this.#lastVoice <= steps;
  }
  /** Steps that were judged since a voice was last found. */
  get missing(): number {
    return this.#lastJudged - this.#lastVoice;
  }

  #windowFull(): void {
    this.#filled = 0;
    if (this.#now > this.#asksUntil || this.#waiting.length >= MOST_WAITING)
      this.#kept = Math.min(BEFORE, this.#kept + 1);
    else if (!this.#isSure) this.#ask();
    this.#isSure = false;
    this.#windows.copyWithin(0, WINDOW);
  }

  #ask(): void {
    // what was left out lies between: what the model remembers is of another sound
    if (this.#kept > 0) this.#judge?.forget();
    for (let n = BEFORE - this.#kept; n <= BEFORE; n++) {
      this.#waiting.push(this.#now);
      this.#judge?.ask(this.#windows.subarray(n * WINDOW, (n + 1) * WINDOW));
    }
    this.#kept = 0;
  }

  #answered(probability: number | null): void {
    const asked = this.#waiting.shift();
    if (asked === undefined) return;
    if (probability === null) {
      this.#unjudged = this.#now;
      return;
    }
    this.#lastJudged = asked;
    if (probability >= VOICE) this.#lastVoice = asked;
    this.#isSure = probability >= SURE;
  }
}
