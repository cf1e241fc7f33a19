import { exponentialMs, jitterMs } from "../../../shared/time/backoff.ts";
import { MS_PER_SECOND } from "../../../shared/time/clock.ts";
import type { TryResult } from "./delivery-verdict.ts";

/**
 * How a host has been doing: failures in a row, and once there were too many, until when it is paused (monotonic milliseconds) and how often it
 * was in a row.
 */
export interface HostHealth {
  failures: number;
  pauses: number;
  paused_until: number | null;
}

/** Failures in a row after which a host is paused. */
export const FAILURES_TO_PAUSE = 5;
/** The first pause; each further one without a success between is twice as long, up to the longest. */
export const FIRST_PAUSE_MS = 5000;
export const LONGEST_PAUSE_MS = 300_000;
const PAUSE_JITTER = 0.1;

const TIMED_OUT = 408;
const TOO_MANY = 429;
const SERVER_FAULT = 500;

/**
 * Whether the host itself is unwell: no answer, an overload or a server error. A 404 concerns one address only, and a refused address was never
 * asked.
 */
export function isHostFailure(result: TryResult): boolean {
  if (result.status === null) return !result.refused;
  return result.status >= SERVER_FAULT || result.status === TOO_MANY || result.status === TIMED_OUT;
}

/** How many requests may be under way: as many as the cap while the host is well, none in a pause, and one, the probe, after it. */
export function allowedRequests(health: HostHealth | null, cap: number, nowMs: number): number {
  if (!health || health.paused_until === null) return cap;
  return health.paused_until > nowMs ? 0 : 1;
}

/**
 * What a try shows of its host; null: it is well, which any answer but a server error proves.
 * The failures of requests that were under way when the pause began say nothing new. A Retry-After makes the pause longer, up to the longest.
 */
export function healthAfter(
  health: HostHealth | null,
  result: TryResult,
  nowMs: number,
  random: number,
): HostHealth | null {
  if (result.status === null && result.refused) return health;
  if (!isHostFailure(result)) return null;
  const before = health ?? { failures: 0, pauses: 0, paused_until: null };
  if (before.paused_until !== null && before.paused_until > nowMs) return before;
  const failures = before.failures + 1;
  if (failures < FAILURES_TO_PAUSE) return { ...before, failures };
  const asked = result.status === null ? 0 : (result.retry_after_seconds ?? 0) * MS_PER_SECOND;
  const pause = Math.min(
    Math.max(jitterMs(exponentialMs(before.pauses, FIRST_PAUSE_MS, LONGEST_PAUSE_MS), PAUSE_JITTER, random), asked),
    LONGEST_PAUSE_MS,
  );
  return { failures, pauses: before.pauses + 1, paused_until: nowMs + pause };
}
