/** Sound in which no word was recognised ends a turn after this long, ms of audio. */
export const MAX_WORDLESS_MS = 8000;
/** Sound after the latest new word ends a turn after this long. */
export const MAX_STALE_MS = 3000;
/** A turn of words that is longer is answered at the next pause. */
export const MAX_TALK_MS = 30_000;
/** Sound without a pause is transcribed from this age on, so long after the transcript before: what never pauses has no other end. */
const FIRST_PROBE_MS = 3000;
const PROBE_EVERY_MS = 1500;
/** The same for sound that went on when a turn was ended without words. */
const NOISE_PROBE_MS = 4000;
/** Sound of a new turn may be words for this long until it is known that there are none. */
const FRESH_MS = 3000;

/** How a turn that does not pause ends: with its words, or as sound without any. */
export type BoundReached = "words" | "wordless";

/** Bounds of one turn of the caller, in milliseconds of its audio: noise that the detector takes for a voice, hold music and announcements must not keep the agent silent. Pure. */
export class TurnBounds {
  readonly #continues: boolean;
  #age = 0;
  #askedAt = 0;
  #words = 0;
  /** The audio that was known when the words last grew, and that of the latest transcript. */
  #grewAt = 0;
  #knownAt = 0;

  /** `continues`: the sound did not pause since the turn before. */
  constructor(continues: boolean) {
    this.#continues = continues;
  }

  advance(ms: number): void {
    this.#age += ms;
  }

  /** A transcript is being asked for; gives the instant to report it with. */
  asked(): number {
    this.#askedAt = this.#age;
    return this.#age;
  }

  /** The words of all audio up to that instant. */
  transcribed(text: string, at = this.#age): void {
    const words = text.split(/\s+/u).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
    if (words > this.#words) this.#grewAt = at;
    this.#words = Math.max(this.#words, words);
    this.#knownAt = at;
  }

  get hasWords(): boolean {
    return this.#words > 0;
  }
  /** Sound that may turn out to be words soon. */
  get fresh(): boolean {
    return !this.#continues && this.#age < FRESH_MS;
  }
  /** The sound has gone on for so long since its words were last asked for that they are asked for again. */
  get probeDue(): boolean {
    const every = this.#continues && !this.hasWords ? NOISE_PROBE_MS : PROBE_EVERY_MS;
    return this.#age >= FIRST_PROBE_MS && this.#age - this.#askedAt >= every;
  }
  /** The bound that sound without a pause has reached; null: none. */
  get reached(): BoundReached | null {
    if (!this.hasWords) return this.#age >= MAX_WORDLESS_MS ? "wordless" : null;
    return this.#knownAt - this.#grewAt >= MAX_STALE_MS ? "words" : null;
  }
  /** It has gone on for as long as sound without words may. */
  get outlasts(): boolean {
    return this.#age >= MAX_WORDLESS_MS;
  }
  /** Milliseconds since its sound began; Infinity: before the turn. */
  get sound_ms(): number {
    return this.#continues ? Infinity : this.#age;
  }
  /** Milliseconds since the words last grew. */
  get stale_ms(): number {
    return this.#age - this.#grewAt;
  }
  /** They have talked for so long that the next pause ends the turn. */
  get long(): boolean {
    return this.hasWords && this.#age >= MAX_TALK_MS;
  }
}
