import { MS_PER_SECOND } from "../../../shared/time/clock.ts";
import type { Pcm } from "../audio/port.ts";

/** Interleaved samples of both channels, from sample `from` of the recording. */
export interface StereoPiece {
  readonly from: number;
  readonly interleaved: Int16Array;
}

/** 0, left: the caller; 1, right: the agent. */
export type Channel = 0 | 1;

/** Jitter of arrival: audio this close to the end of the previous audio follows it without a seam. */
const JITTER_MS = 60;
/** After a gap audio that is so far ahead of its time says that the gap was shorter. */
const AHEAD_MS = 5;
const CHANNELS = 2;

/** How far a channel is filled, and its last gap, which closes when the audio was merely late. */
interface Track {
  end: number;
  gapFrom: number;
  gapTo: number;
}

/** The last seconds of a recording, in which audio is placed by its time; what is taken out is final. Positions are samples since the beginning. */
export class StereoWindow {
  readonly #samples: Int16Array;
  readonly #jitter: number;
  readonly #ahead: number;
  readonly #tracks: readonly [Track, Track] = [
    { end: 0, gapFrom: 0, gapTo: 0 },
    { end: 0, gapFrom: 0, gapTo: 0 },
  ];
  readonly #length: number;
  #begin = 0;

  /** A window of `seconds` at `rate` samples a second. */
  constructor(rate: number, seconds: number) {
    this.#length = Math.round(rate * seconds);
    this.#samples = new Int16Array(this.#length * CHANNELS);
    this.#jitter = Math.round((rate * JITTER_MS) / MS_PER_SECOND);
    this.#ahead = Math.round((rate * AHEAD_MS) / MS_PER_SECOND);
  }

  /** First position of the window. */
  get begin(): number {
    return this.#begin;
  }

  /** Places audio of a channel at about this position. */
  put(channel: Channel, pcm: Pcm, at: number): void {
    const track = this.#tracks[channel];
    if (at - track.end > this.#jitter) {
      track.gapFrom = Math.max(track.end, this.#begin);
      track.gapTo = at;
      track.end = at;
    } else if (track.end - at > (track.gapTo > track.gapFrom ? this.#ahead : this.#jitter))
      this.#closeGap(channel, track, track.end - at);
    // a channel that is still ahead of its time loses the excess, or its delay would grow
    const excess = Math.max(0, track.end - at - this.#jitter);
    this.#write(channel, excess === 0 ? pcm : pcm.subarray(excess), track.end);
    track.end += Math.max(0, pcm.length - excess);
  }

  /** Takes everything before `upTo` out; null: only silence. */
  take(upTo: number): StereoPiece | null {
    const from = this.#begin;
    const count = Math.min(upTo - from, this.#length);
    if (count <= 0) return null;
    const interleaved = this.#samples.slice(0, count * CHANNELS);
    this.#samples.copyWithin(0, count * CHANNELS);
    this.#samples.fill(0, (this.#length - count) * CHANNELS);
    this.#begin = upTo;
    for (const track of this.#tracks) track.gapFrom = Math.max(track.gapFrom, upTo);
    return interleaved.some((sample) => sample !== 0) ? { from, interleaved } : null;
  }

  /** Audio came in a burst after a gap: the gap was the network's, so it shrinks and the later audio moves earlier. */
  #closeGap(channel: Channel, track: Track, excess: number): void {
    const by = Math.min(excess, track.gapTo - track.gapFrom);
    if (by <= 0) return;
    const last = Math.min(track.end, this.#begin + this.#length);
    for (let at = track.gapTo; at < last; at++)
      this.#set(channel, at - by, this.#samples[(at - this.#begin) * CHANNELS + channel] ?? 0);
    for (let at = Math.max(track.gapTo, last) - by; at < last; at++) this.#set(channel, at, 0);
    track.gapTo -= by;
    track.end -= by;
  }

  #write(channel: Channel, pcm: Pcm, at: number): void {
    const first = Math.max(0, this.#begin - at);
    const end = Math.min(pcm.length, this.#begin + this.#length - at);
    for (let i = first; i < end; i++) this.#set(channel, at + i, pcm[i] ?? 0);
  }

  #set(channel: Channel, at: number, sample: number): void {
    this.#samples[(at - this.#begin) * CHANNELS + channel] = sample;
  }
}
