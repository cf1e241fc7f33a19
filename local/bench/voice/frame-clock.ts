/** Frames of all calls are this long. */
export const FRAME_MS = 20;
const PHASES = 20;
const PHASE_MS = FRAME_MS / PHASES;

/** Calls `tick` of everybody once a frame, at a moment of the frame that is their own, by one timer; what was missed is made up for, as carriers do. */
export interface FrameTicker {
  join(tick: (due_ms: number) => void): () => void;
  /** The generator is behind its own pace: when something comes now is not known to it. */
  readonly behind: boolean;
  /** How late frames were sent since it was asked last: the generator's own lag, which is no fault of what it measures. */
  late(): number[];
}

const MAX_LATE = 200_000;
/** Who is so late is behind, until it is on time again. */
const BEHIND_MS = 8;
const ON_TIME_MS = 3;

/** Runs while it has a user. Calls spread over the frame as callers in the world do. */
export function frameTicker(): FrameTicker {
  const phases = Array.from({ length: PHASES }, () => new Set<(due_ms: number) => void>());
  let lates: number[] = [];
  let timer: NodeJS.Timeout | null = null;
  let due = 0;
  let at = 0;
  let behind = false;
  const run = (): void => {
    behind = performance.now() - due > (behind ? ON_TIME_MS : BEHIND_MS);
    for (let now = performance.now(); due <= now; now = performance.now()) {
      const members = phases[at] ?? new Set();
      if (members.size > 0 && lates.length < MAX_LATE) lates.push(now - due);
      for (const tick of members) tick(due);
      at = (at + 1) % PHASES;
      due += PHASE_MS;
    }
    timer = phases.some((set) => set.size > 0) ? setTimeout(run, Math.max(0, due - performance.now())) : null;
  };
  return {
    join(tick) {
      const least = phases.reduce((a, b) => (b.size < a.size ? b : a));
      least.add(tick);
      if (timer === null) {
        due = performance.now() + PHASE_MS;
        timer = setTimeout(run, PHASE_MS);
      }
      return () => {
        least.delete(tick);
      };
    },
    get behind() {
      return behind || (timer !== null && performance.now() - due > BEHIND_MS);
    },
    late() {
      const told = lates;
      lates = [];
      return told;
    },
  };
}
