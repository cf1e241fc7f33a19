import { MS_PER_SECOND } from "../../../../shared/time/clock.ts";
import type { Pcm } from "../port.ts";

/** Loudness is compared in slots of this length. */
const SLOT_MS = 20;
/** An echo comes back within this many slots: 0.8 s. */
const LONGEST_DELAY = 40;
/** What we played is compared with what we hear over so many slots: 1 s. */
const WINDOW = 50;
/** Slots that are kept: a power of two above window, delay and what arrives late. */
const KEPT = 128;
/** Loudness tells an echo where both sides sounded for so many slots of the window, */
const LEAST_SOUND = 12;
/** by this likeness at one delay, so many slots in a row; another delay than before by the second one. */
const ALIKE = 0.85;
const SURELY_ALIKE = 0.92;
const CONFIRMED_SLOTS = 5;
/** What comes back louder than 8 dB below us is somebody else. */
const MOST_GAIN = 0.4;
/** A slot is our echo up to so many times as loud as the learned one would be: 4 dB. */
const MARGIN = 1.6;
/** An echo takes its time in the room, and the network does not keep the beat: slots before and after that count. */
const [EARLIER, LATER] = [2, 1];
/** Until we have spoken for so many slots (1.2 s), an echo 12 dB below us is expected, of any delay. */
const LEARNING_SLOTS = 60;
const EXPECTED_GAIN = 0.25;
/** The noise of the line: the quietest slot of the window, and so many times as loud as that. */
const NOISE = 3;
/** What is not confirmed while we speak is forgotten by and by: 0.9 dB a second. */
const FORGOTTEN = 0.998;
/** Samples of less, of a full scale of 32768, are silence: -56 dBFS. */
const AUDIBLE = 50;
/** After 60 ms that are no echo somebody speaks: their words are kept whole, 200 ms beyond the last such slot. */
const TALKING_SLOTS = 3;
const KEEPS_SLOTS = 10;
/** For so long (0.5 s) an echo of another delay than the known one is given the benefit of the doubt: until then it is learned, or is none. */
const DOUBTED_SLOTS = 25;
/** The beat of the caller's frames follows a later network so slowly, ms a slot. */
const DRIFT_MS = 0.2;

/** The loudness of slots, by their number; what is older than KEPT slots is nothing. */
class Loudness {
  readonly #values = new Float64Array(KEPT);
  readonly #slots = new Float64Array(KEPT).fill(-1);

  add(slot: number, value: number): void {
    const at = slot & (KEPT - 1);
    this.#values[at] = this.#slots[at] === slot ? Math.max(this.#values[at] ?? 0, value) : value;
    this.#slots[at] = slot;
  }
  at(slot: number): number {
    const at = slot & (KEPT - 1);
    return this.#slots[at] === slot ? (this.#values[at] ?? 0) : 0;
  }
  /** The slots up to one, the latest first. */
  latest(slot: number, into: Float64Array): Float64Array {
    for (let n = 0; n < into.length; n++) into[n] = this.at(slot - n);
    return into;
  }
  /** The quietest in the window before a slot. */
  quietest(slot: number): number {
    let least = Infinity;
    for (let n = 0; n < WINDOW; n++) least = Math.min(least, this.at(slot - n));
    return least;
  }
  /** The loudest from one slot to another, both included. */
  loudest(from: number, to: number): number {
    let most = 0;
    for (let slot = from; slot <= to; slot++) most = Math.max(most, this.at(slot));
    return most;
  }
}

const rms = (pcm: Pcm, from: number, to: number): number => {
  let sum = 0;
  for (let i = from; i < to; i++) {
    const sample = pcm[i] ?? 0;
    sum += sample * sample;
  }
  return Math.sqrt(sum / Math.max(1, to - from));
};

/** An echo that may be: how alike the two sides are at this delay, -1 to 1, and how loud what was heard is in terms of what was played. */
interface Likeness {
  alike: number;
  gain: number;
  delay: number;
}

// the latest slots of both sides, while they are compared
const OURS = new Float64Array(WINDOW + LONGEST_DELAY);
const THEIRS = new Float64Array(WINDOW);

const soundIn = (slots: Float64Array): number => {
  let count = 0;
  for (let n = 0; n < WINDOW; n++) if ((slots[n] ?? 0) >= AUDIBLE) count++;
  return count;
};

/** The delay at which both sides are most alike over the window before a slot; null: either was silent for most of it. */
function mostAlike(played: Loudness, heard: Loudness, slot: number): Likeness | null {
  const ours = played.latest(slot, OURS);
  if (soundIn(ours) < LEAST_SOUND) return null;
  const theirs = heard.latest(slot, THEIRS);
  if (soundIn(theirs) < LEAST_SOUND) return null;
  let [h, hh] = [0, 0];
  for (let n = 0; n < WINDOW; n++) {
    const their = theirs[n] ?? 0;
    h += their;
    hh += their * their;
  }
  const spreadOfTheirs = hh - (h * h) / WINDOW;
  let [alike, gain, at] = [0, 0, 0];
  for (let delay = 0; delay <= LONGEST_DELAY; delay++) {
    let p = 0;
    let pp = 0;
    let ph = 0;
    for (let n = 0; n < WINDOW; n++) {
      const our = ours[delay + n] ?? 0;
      p += our;
      pp += our * our;
      ph += our * (theirs[n] ?? 0);
    }
    const spread = (pp - (p * p) / WINDOW) * spreadOfTheirs;
    const likeness = spread > 0 ? (ph - (p * h) / WINDOW) / Math.sqrt(spread) : 0;
    if (likeness <= alike) continue;
    alike = likeness;
    gain = pp > 0 ? ph / pp : 0;
    at = delay;
  }
  return { alike, gain, delay: at };
}

/** Takes our own voice out of what comes back of a line: learns from the loudness of both how loud it returns and how late. Keeps no audio. Pure. */
export class EchoGuard {
  readonly #slotSamples: number;
  readonly #played = new Loudness();
  readonly #heard = new Loudness();
  #spokenSlots = 0;
  #echo: { delay: number; gain: number } | null = null;
  /** A delay that was found in so many slots in a row. */
  #found = { delay: 0, slots: 0 };
  #lastPlayed = -Infinity;
  /** When the caller's first frame would have come on a network without delays, and what has come since, ms. */
  #began: number | null = null;
  #heardMs = 0;
  #others = 0;
  #doubts = 0;
  #keepUntil = -Infinity;

  constructor(rate: number) {
    this.#slotSamples = (rate * SLOT_MS) / MS_PER_SECOND;
  }

  /** How the echo of this line is known, its level in dB below our voice; null: there is none, or it is not known yet. */
  get echo(): { delay_ms: number; level_db: number } | null {
    return this.#echo && { delay_ms: this.#echo.delay * SLOT_MS, level_db: 20 * Math.log10(this.#echo.gain) };
  }

  /** Our speech, as the caller hears it at that instant, ms. */
  played(pcm: Pcm, at_ms: number): void {
    const loud = rms(pcm, 0, pcm.length);
    const slot = Math.round(at_ms / SLOT_MS);
    this.#played.add(slot, loud);
    if (loud < AUDIBLE) return;
    this.#lastPlayed = slot;
    this.#spokenSlots++;
    if (this.#echo) this.#echo.gain *= FORGOTTEN;
  }

  /** Sound of the caller that arrives at that instant, ms; gives it with silence where it is our echo. */
  heard(pcm: Pcm, now_ms: number): Pcm {
    let out = pcm;
    for (let from = 0; from < pcm.length; from += this.#slotSamples) {
      const to = Math.min(pcm.length, from + this.#slotSamples);
      if (!this.#isEcho(rms(pcm, from, to), this.#slotOf(now_ms, (to - from) / this.#slotSamples))) continue;
      if (out === pcm) out = pcm.slice();
      out.fill(0, from, to);
    }
    return out;
  }

  /** Frames come at an even beat, whatever the network does to each: the earliest tell it. */
  #slotOf(now_ms: number, slots: number): number {
    this.#began = Math.min(this.#began === null ? Infinity : this.#began + DRIFT_MS, now_ms - this.#heardMs);
    this.#heardMs += slots * SLOT_MS;
    return Math.round((this.#began + this.#heardMs) / SLOT_MS) - 1;
  }

  #isEcho(loud: number, slot: number): boolean {
    this.#heard.add(slot, loud);
    if (slot - this.#lastPlayed > LONGEST_DELAY) return false;
    this.#learn(slot);
    if (loud < AUDIBLE) return false;
    const noise = Math.max(AUDIBLE, NOISE * this.#heard.quietest(slot));
    const echo = this.#loudestEcho(slot);
    if (loud < noise && echo < noise) return false;
    if (loud <= Math.hypot(echo, noise)) {
      this.#others = this.#doubts = 0;
      return slot > this.#keepUntil;
    }
    if (slot > this.#keepUntil && loud <= this.#echoOfAnyDelay(slot) && ++this.#doubts <= DOUBTED_SLOTS) return true;
    if (++this.#others >= TALKING_SLOTS) this.#keepUntil = slot + KEEPS_SLOTS;
    return false;
  }

  #loudestEcho(slot: number): number {
    const known = this.#echo;
    if (known)
      return MARGIN * known.gain * this.#played.loudest(slot - known.delay - EARLIER, slot - known.delay + LATER);
    if (this.#spokenSlots > LEARNING_SLOTS) return 0;
    return EXPECTED_GAIN * this.#played.loudest(slot - LONGEST_DELAY, slot);
  }

  /** The network may have changed the delay: as loud as the known echo is at another one. */
  #echoOfAnyDelay(slot: number): number {
    return this.#echo ? MARGIN * this.#echo.gain * this.#played.loudest(slot - LONGEST_DELAY, slot) : 0;
  }

  #learn(slot: number): void {
    const best = mostAlike(this.#played, this.#heard, slot);
    if (!best) return;
    const known = this.#echo;
    const same = known !== null && Math.abs(best.delay - known.delay) <= 1;
    const found =
      best.gain > 0 && best.gain <= MOST_GAIN && best.alike >= (known === null || same ? ALIKE : SURELY_ALIKE);
    const again = found && Math.abs(best.delay - this.#found.delay) <= 1;
    this.#found = { delay: best.delay, slots: again ? this.#found.slots + 1 : Number(found) };
    if (this.#found.slots < CONFIRMED_SLOTS) return;
    this.#echo = { delay: best.delay, gain: same ? known.gain + 0.2 * (best.gain - known.gain) : best.gain };
  }
}
