import pLimit from "p-limit";

/**
 * How a process asks for dial permits. A permit holds for a moment, counted from the request: a burst that asks all at once waits so long for its answers that none
 * can be used, the leads come back and the burst grows. So few ask at a time, and for instants that leave them the time to write the intent.
 */
export interface PermitPace {
  /** Runs the request when its turn has come, in order of arrival. */
  inTurn<T>(request: () => Promise<T>): Promise<T>;
  /** How far ahead the next permit should lie, in whole ms: what writing the intent took lately, and half as much again. */
  leadMs(): number;
  /** Writing an intent took this long, ms. */
  intentTook(ms: number): void;
}

/** Permits asked for at once by one process. */
const REQUESTS_AT_ONCE = 4;
/** No permit is asked for further ahead than this: an intent that takes longer loses its permit, and the lead is released. */
const LONGEST_LEAD_MS = 1000;
const MARGIN = 1.5;
/** What remains of a slow time after each attempt. */
const DECAY = 0.9;

/** The pace of one process. */
export function createPermitPace(): PermitPace {
  const limit = pLimit(REQUESTS_AT_ONCE);
  let slowestMs = 0;
  return {
    inTurn: (request) => limit(request),
    leadMs: () => Math.min(LONGEST_LEAD_MS, Math.floor(slowestMs * MARGIN)),
    intentTook(ms) {
      slowestMs = Math.max(ms, slowestMs * DECAY);
    },
  };
}
