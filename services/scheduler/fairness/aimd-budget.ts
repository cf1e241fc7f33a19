/** How many leads a pass may take on, learned from what the dialler takes: halved when it has no room, raised bit by bit while it has (AIMD). */
export interface Pace {
  /** Leads the next pass may take on; 0 while the dialler gets a rest. */
  budget(nowMs: number): number;
  /** When the rest is over; null: there is none. */
  restsUntil(nowMs: number): number | null;
  /** What became of the orders offered. */
  told(offered: number, taken: number, nowMs: number): void;
}

const FIRST_REST_MS = 50;
const LONGEST_REST_MS = 1000;
/** Part of the largest budget that comes back with every batch taken whole. */
const RAISE_PART = 0.1;

/** A pace whose budget is never above `most`. Times are monotonic milliseconds. */
export function createPace(most: number): Pace {
  let budget = most;
  let rest = FIRST_REST_MS;
  let until = 0;
  return {
    budget: (nowMs) => (nowMs < until ? 0 : Math.max(1, Math.floor(budget))),
    restsUntil: (nowMs) => (nowMs < until ? until : null),
    told(offered, taken, nowMs) {
      if (offered === 0) return;
      if (taken === offered) {
        budget = Math.min(most, budget + Math.max(1, most * RAISE_PART));
        rest = FIRST_REST_MS;
        return;
      }
      budget = Math.max(1, budget / 2);
      until = nowMs + rest;
      rest = Math.min(LONGEST_REST_MS, rest * 2);
    },
  };
}
