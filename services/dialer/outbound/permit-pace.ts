/**
 * How a process asks for grants. A grant holds for a moment, counted from the asking: a burst that asks all at once waits so long for its answers that none
 * can be used, the leads come back and the burst grows. So few ask at a time, and for instants that leave them the time to write the intent.
 */
export interface GrantPace {
  /** Runs the job when its turn has come, in order of arrival. */
  inTurn<T>(job: () => Promise<T>): Promise<T>;
  /** How far ahead the next grant should lie, in whole ms: what writing the intent took lately, and half as much again. */
  ahead(): number;
  /** Writing an intent took this long, ms. */
  took(ms: number): void;
}

/** Grants asked for at once by one process. */
const ASKS_AT_ONCE = 4;
/** No grant is asked for further ahead than this: an intent that takes longer loses its grant, and the lead is given back. */
const FURTHEST_AHEAD_MS = 1000;
const MARGIN = 1.5;
/** What remains of a slow time after each attempt. */
const FADING = 0.9;

/** The pace of one process. */
export function createGrantPace(): GrantPace {
  let asking = 0;
  let slowestMs = 0;
  const waiting: (() => void)[] = [];
  return {
    async inTurn(job) {
      if (asking >= ASKS_AT_ONCE)
        await new Promise<void>((resolve) => {
          waiting.push(resolve);
        });
      else asking += 1;
      try {
        return await job();
      } finally {
        const next = waiting.shift();
        if (next) next(); // hands its place on, so the count stays
        else asking -= 1;
      }
    },
    ahead: () => Math.min(FURTHEST_AHEAD_MS, Math.floor(slowestMs * MARGIN)),
    took(ms) {
      slowestMs = Math.max(ms, slowestMs * FADING);
    },
  };
}
