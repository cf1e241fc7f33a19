import { ApiFailure, NoAnswer } from "./failures.ts";

/** What is known of a request that failed: which method, whether the server does it once however often it is sent, and how many tries were made. */
export interface Tried {
  /** Repeating it changes nothing more: GET, PUT, DELETE, or it has an Idempotency-Key. */
  repeatable: boolean;
  /** 1: the first try failed. */
  tries: number;
  /** Most tries after the first. */
  retries: number;
}

/** Wait before the second try at most, ms; twice as long before each next. */
const FIRST_WAIT_MS = 250;
/** Longest wait by our own choice, ms. */
const MAX_WAIT_MS = 8000;
/** Longest wait that a server may ask for and get, ms: an allowance is of a minute. */
const MAX_ASKED_MS = 60_000;
const MS_PER_SECOND = 1000;

/** Answers after which the same request may succeed. */
const PASSING = new Set([408, 425, 429, 500, 502, 503, 504]);
/** Of those: the request was refused before anything was done. */
const REFUSED = 429;

function mayRepeat(error: unknown, repeatable: boolean): boolean {
  if (error instanceof NoAnswer) return repeatable || error.unsent;
  if (!(error instanceof ApiFailure)) return false;
  return error.status === REFUSED || (repeatable && PASSING.has(error.status));
}

/** How long to wait before a failed request is sent again, ms; null: its failure is the answer. `chance`: 0 to 1, so that clients that failed together do not come back together. */
export function waitBeforeRetry(error: unknown, { repeatable, tries, retries }: Tried, chance: number): number | null {
  if (tries > retries || !mayRepeat(error, repeatable)) return null;
  const own = Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** (tries - 1)) * (0.5 + chance / 2);
  const asked = error instanceof ApiFailure ? error.retry_after_seconds : null;
  if (asked === null) return own;
  // asked for longer than anybody waits: the caller hears when to come back
  return asked * MS_PER_SECOND > MAX_ASKED_MS ? null : asked * MS_PER_SECOND + own;
}
