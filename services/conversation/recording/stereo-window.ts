import type { Pcm } from "../audio/port.ts";

/** Samples of both sides side by side, from a sample of the talk on. */
export interface StereoPiece {
  readonly from: number;
  readonly interleaved: Int16Array;
}

/** The last seconds of a talk, in which sound is put where it belongs; what is taken out is final. Positions are samples since the talk began. */
export interface StereoWindow {
  /** Puts sound of a side at about this place. */
  put(side: Channel, pcm: Pcm, at: number): void;
  /** Takes out everything before `upTo`; null: only silence. */
  take(upTo: number): StereoPiece | null;
  /** Where the window begins. */
  begin(): number;
}

/** Left is the caller, right are we. */
export type Channel = 0 | 1;

/** Sound this close to where the last of it ended follows it without a seam: that is how much its arrival wavers. */
const WAVER_MS = 60;
const MS_PER_SECOND = 1000;
const SIDES = 2;

/** How far a side is filled, and the last silence in it, which is given up for sound that was merely late. */
interface Track {
  end: number;
  gapFrom: number;
  gapTo: number;
}

class Window implements StereoWindow {
  readonly #samples: Int16Array;
  readonly #waver: number;
  readonly #tracks: readonly [Track, Track] = [
    { end: 0, gapFrom: 0, gapTo: 0 },
    { end: 0, gapFrom: 0, gapTo: 0 },
  ];
  readonly #length: number;
  #begin = 0;

  constructor(rate: number, seconds: number) {
    this.#length = Math.round(rate * seconds);
    this.#samples = new Int16Array(this.#length * SIDES);
    this.#waver = Math.round((rate * WAVER_MS) / MS_PER_SECOND);
  }

  begin(): number {
    return this.#begin;
  }

  put(side: Channel, pcm: Pcm, at: number): void {
    const track = this.#tracks[side];
    if (at - track.end > this.#waver) {
      track.gapFrom = Math.max(track.end, this.#begin);
      track.gapTo = at;
      track.end = at;
    } else if (track.end - at > this.#waver) this.#closeGap(side, track, track.end - at);
    // a side that is ahead of its time all the same loses what is too much, or it would run away
    const excess = Math.max(0, track.end - at - this.#waver);
    this.#write(side, excess === 0 ? pcm : pcm.subarray(excess), track.end);
    track.end += Math.max(0, pcm.length - excess);
  }

  take(upTo: number): StereoPiece | null {
    const from = this.#begin;
    const count = Math.min(upTo - from, this.#length);
    if (count <= 0) return null;
    const interleaved = this.#samples.slice(0, count * SIDES);
    this.#samples.copyWithin(0, count * SIDES);
    this.#samples.fill(0, (this.#length - count) * SIDES);
    this.#begin = upTo;
    for (const track of this.#tracks) track.gapFrom = Math.max(track.gapFrom, upTo);
    return interleaved.some((sample) => sample !== 0) ? { from, interleaved } : null;
  }

  /** Sound came in a bunch after a pause: the pause was the network's, so that much of it goes, and what came after moves up. */
  #closeGap(side: Channel, track: Track, excess: number): void {
    const by = Math.min(excess, track.gapTo - track.gapFrom);
    if (by <= 0) return;
    const last = Math.min(track.end, this.#begin + this.#length);
    for (let at = track.gapTo; at < last; at++)
      this.#set(side, at - by, this.#samples[(at - this.#begin) * SIDES + side] ?? 0);
    for (let at = Math.max(track.gapTo, last) - by; at < last; at++) this.#set(side, at, 0);
    track.gapTo -= by;
    track.end -= by;
  }

  #write(side: Channel, pcm: Pcm, at: number): void {
    const first = Math.max(0, this.#begin - at);
    const end = Math.min(pcm.length, this.#begin + this.#length - at);
    for (let i = first; i < end; i++) this.#set(side, at + i, pcm[i] ?? 0);
  }

  #set(side: Channel, at: number, sample: number): void {
    this.#samples[(at - this.#begin) * SIDES + side] = sample;
  }
}

/** An empty window of so many seconds. */
export const stereoWindow = (rate: number, seconds: number): StereoWindow => new Window(rate, seconds);
