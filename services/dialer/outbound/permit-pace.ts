import pLimit from "p-limit";
import { exponentialMs, jitterMs } from "../../../shared/time/backoff.ts";

/**
 * How a process asks for dial permits: for instants that leave it the time to hear the answer and to write the intent, which follow what that took lately. A scheduler
 * that does not say by the store's clock when a permit may be used (one of 0.2.0) has it counted from the request: a burst that asks it all at once waits so long for its
 * answers that none can be used, so few ask it at a time.
 */
export interface PermitPace {
  /** Runs the request when its turn has come, in order of arrival. */
  inTurn<T>(request: () => Promise<T>): Promise<T>;
  /** How far ahead the next permit should lie, in whole ms: what hearing of it and writing the intent took lately, and half as much again. */
  leadMs(): number;
  /** The same for an attempt whose intent is written. */
  renewalLeadMs(): number;
  /** Writing an intent took this long, ms. */
  intentTook(ms: number): void;
  /** A permit was answered after so many ms; `timed`: with its instants by the store's clock. */
  permitTook(ms: number, timed: boolean): void;
  /** An attempt could not use its permits in time: how long its lead should wait, ms; longer each time, until one is placed. */
  late(): number;
  /** A call was placed with a permit. */
  placed(): void;
}

/** Permits asked for at once by one process: of a scheduler that says their instants, and of one that does not. */
const REQUESTS_AT_ONCE = 40;
const UNTIMED_AT_ONCE = 4;
/** No permit is asked for further ahead than this: an intent that takes longer loses its permit, and asks for another. */
const LONGEST_LEAD_MS = 3000;
/** The first and the longest wait of leads whose permits came too late, and its spread. */
const FIRST_LATE_MS = 500;
const LONGEST_LATE_MS = 30_000;
const LATE_SPREAD = 0.3;
const MARGIN = 1.5;
/** What remains of a slow time after each attempt. */
const DECAY = 0.9;

/** The pace of one process. `random` is in [0, 1). */
export function createPermitPace(random: () => number): PermitPace {
  const limit = pLimit(UNTIMED_AT_ONCE);
  let intentMs = 0;
  let permitMs = 0;
  let late = 0;
  const lead = (ms: number): number => Math.min(LONGEST_LEAD_MS, Math.floor(ms * MARGIN));
  return {
    inTurn: (request) => limit(request),
    leadMs: () => lead(intentMs + permitMs),
    renewalLeadMs: () => lead(permitMs),
    intentTook(ms) {
      intentMs = Math.max(ms, intentMs * DECAY);
    },
    permitTook(ms, timed) {
      limit.concurrency = timed ? REQUESTS_AT_ONCE : UNTIMED_AT_ONCE;
      // whoever counts from the request has nothing of a later instant
      if (timed) permitMs = Math.max(ms, permitMs * DECAY);
    },
    late: () => jitterMs(exponentialMs(late++, FIRST_LATE_MS, LONGEST_LATE_MS), LATE_SPREAD, random()),
    placed() {
      late = 0;
    },
  };
}
