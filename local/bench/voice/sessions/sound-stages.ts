import { sharedMs } from "./shared-clock.ts";

/** A stretch of sound as it passed a place: when its first and its last frame with sound did, on the clock that all processes share, ms. */
export interface Stretch {
  onset: number;
  last: number;
}

/** The stretches that passed a place, by room. */
export type Passed = Record<string, Stretch[]>;

/** Loudness above which a frame is sound. */
const LOUD = 500;
/** A silence of this length parts two stretches: pauses between words are shorter, those between question and answer longer. */
const PARTED_MS = 200;
/** How much later than it was said the end of a question passes at most. */
const MOST_WAY_MS = 1000;

/** Notes the sound that passes a place, from the first time on that it is asked. */
export class SoundLog {
  #passed: Passed = {};
  #isAsked = false;

  /** Sound of 16 bit passes. */
  note(room: string, pcm: Int16Array, at: number = sharedMs()): void {
    if (!this.#isAsked || !pcm.some((sample) => Math.abs(sample) > LOUD)) return;
    const stretches = (this.#passed[room] ??= []);
    const current = stretches.at(-1);
    if (current && at - current.last < PARTED_MS) current.last = at;
    else stretches.push({ onset: at, last: at });
  }

  /** What has passed since it was asked last. */
  take(): Passed {
    this.#isAsked = true;
    const passed = this.#passed;
    this.#passed = {};
    return passed;
  }
}

/** Where the sound of sessions passed. `told` and `given`: in a process of rooms, out of LiveKit's library and into it. `heard` and `written`: into the leg of the conversation, and out of it. */
export interface Places {
  told: Passed;
  heard: Passed;
  written: Passed;
  given: Passed;
}

/** A turn's delay, place by place, ms. `to_us`, `to_leg`: the end of what was said, `thought` our silence after it, `from_leg`, `from_us` the first of the answer; the middle two are 0 without a room. */
export interface Stages {
  to_us: number;
  to_leg: number;
  thought: number;
  from_leg: number;
  from_us: number;
}

/** Where a turn's time went; null: some of its sound was not seen to pass. Pure. `places`: what passed in its room. */
export function stagesOf(
  { end, answered }: { end: number; answered: number },
  { told, heard, written, given }: Record<keyof Places, readonly Stretch[]>,
  inRoom: boolean,
): Stages | null {
  const asked = (passed: readonly Stretch[]): number | undefined =>
    passed.find(({ onset, last }) => onset <= end + MOST_WAY_MS && last >= end && last <= end + MOST_WAY_MS)?.last;
  const leg = asked(heard);
  if (leg === undefined) return null;
  const spoken = (passed: readonly Stretch[]): number | undefined =>
    passed.find(({ onset }) => onset > leg && onset <= answered)?.onset;
  const wrote = spoken(written);
  const [us, gave] = inRoom ? [asked(told), spoken(given)] : [leg, wrote];
  if (us === undefined || wrote === undefined || gave === undefined) return null;
  return { to_us: us - end, to_leg: leg - us, thought: wrote - leg, from_leg: gave - wrote, from_us: answered - gave };
}
