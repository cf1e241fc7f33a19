import { FRAME_MS } from "./frame-clock.ts";

/** An utterance begins with what may be played at once; its pace shows after that. */
const BURST_FRAMES = 9;

/** When the frames of a call came. */
export interface Arrivals {
  /** `seen` false: whoever notes it was behind, so that the moment is not known. */
  frame(now: number, seen: boolean): void;
  /** The utterance is over, or was thrown away. */
  ends(): void;
  /** Of each frame behind an utterance's first burst: how much later it came than the most punctual one says, ms. */
  lateness(): number[];
  /** Of each utterance's frames: the longest the carrier had nothing to play, ms; utterances without a hole are left out. */
  holes(): number[];
  /** Frames whose moment is not known. */
  readonly unseen: number;
}

/** How late the frames of one utterance came: against a steady pace laid through the most punctual of them; those at moments that are not known (NaN) are left out. Pure. */
export function latenessOf(came: readonly number[]): number[] {
  const paced = came
    .slice(BURST_FRAMES)
    .map((at, k) => at - k * FRAME_MS)
    .filter((at) => !Number.isNaN(at));
  const earliest = paced.reduce((a, b) => Math.min(a, b), Infinity);
  return paced.map((at) => at - earliest);
}

/** The longest time in which a carrier that plays what comes would have had nothing to play between the first and the last frame; one at an unknown moment came in time. Pure. */
export function holeOf(came: readonly number[]): number {
  let dryAt = Infinity;
  let longest = 0;
  for (const at of came) {
    if (dryAt !== Infinity && at > dryAt) longest = Math.max(longest, at - dryAt);
    dryAt = (!Number.isNaN(at) && (dryAt === Infinity || at > dryAt) ? at : dryAt) + FRAME_MS;
  }
  return longest;
}

/** Nothing came yet. */
export function arrivals(): Arrivals {
  const utterances: number[][] = [];
  let current: number[] = [];
  let unseen = 0;
  const ends = (): void => {
    if (current.length > 0) utterances.push(current);
    current = [];
  };
  return {
    frame(now, seen) {
      if (!seen) unseen++;
      current.push(seen ? now : NaN);
    },
    get unseen() {
      return unseen;
    },
    ends,
    lateness() {
      ends();
      return utterances.flatMap(latenessOf);
    },
    holes() {
      ends();
      return utterances.map(holeOf).filter((ms) => ms > 0);
    },
  };
}
