const FIRST_BACKOFF_MS = 50;
const LONGEST_BACKOFF_MS = 1000;
/** Part of the largest budget that comes back with every offer taken whole. */
const RAISE_PART = 0.1;

/**
 * How many leads a pass may hand over, learned from what the dialer takes: halved when it has no room, raised step by step while
 * it has (AIMD). It starts at `most` and never exceeds it. Times are monotonic milliseconds.
 */
export function createAimdBudget(most: number) {
  let budget = most;
  let backoffMs = FIRST_BACKOFF_MS;
  let until = 0;
  return {
    /** Leads the next pass may hand over; 0 while it backs off. */
    available: (nowMs: number): number => (nowMs < until ? 0 : Math.max(1, Math.floor(budget))),
    /** When the back-off ends; null: there is none. */
    backsOffUntil: (nowMs: number): number | null => (nowMs < until ? until : null),
    /** Records how many orders the dialer took of an offer. */
    record(offered: number, taken: number, nowMs: number): void {
      if (offered === 0) return;
      if (taken === offered) {
        budget = Math.min(most, budget + Math.max(1, most * RAISE_PART));
        backoffMs = FIRST_BACKOFF_MS;
        return;
      }
      budget = Math.max(1, budget / 2);
      until = nowMs + backoffMs;
      backoffMs = Math.min(LONGEST_BACKOFF_MS, backoffMs * 2);
    },
  };
}

/** The budget of passes. */
export type PassBudget = ReturnType<typeof createAimdBudget>;
