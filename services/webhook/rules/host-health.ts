import { exponentialMs, jitterMs } from "../../../shared/time/backoff.ts";
import { askedPauseMs, type TryResult } from "./delivery-verdict.ts";

/**
 * How a host has been doing for one tenant (receiver.ts): failures in a row, and once there were too many, when the next probe may begin (monotonic milliseconds) and how many
 * pauses, each ended by a probe, there were in a row.
 */
export interface HostHealth {
  failures: number;
  pauses: number;
  paused_until: number | null;
}

/** Failures in a row after which a host is paused. */
export const FAILURES_TO_PAUSE = 5;
/** The first pause; each further one without a success between is twice as long, up to the longest: with its spread and the delivery loop's own second, a host that is well again is asked within 10 s. */
export const FIRST_PAUSE_MS = 2000;
export const LONGEST_PAUSE_MS = 8000;
/** The longest pause that a receiver can ask for with Retry-After. */
export const LONGEST_ASKED_PAUSE_MS = 300_000;
/** Probes of one host under way: one that hangs must not keep the next one waiting. */
export const PROBES_AT_ONCE = 3;
/**
 * A host is down for its deliveries from this many failures in a row on, unless it answered well lately: then the failures are those of single addresses. One
 * of which this process has no good answer is down from the first failure on: what the process before knew of it died with that.
 */
const FAILURES_TO_BE_DOWN = 2;
export const ANSWERED_LATELY_MS = 60_000;
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

/** How many more requests may begin beside those under way: up to the cap while the host is well, none in a pause, and one, the probe, after it. */
export function roomFor(health: HostHealth | null, underWay: number, cap: number, nowMs: number): number {
  if (!health || health.paused_until === null) return Math.max(0, cap - underWay);
  return health.paused_until > nowMs || underWay >= PROBES_AT_ONCE ? 0 : 1;
}

/** The host once a request to it has begun: after a pause it is the probe, and the next one begins a longer pause after this one, whether or not this one is ever answered. */
export function afterBegin(health: HostHealth | null, nowMs: number, random: number): HostHealth | null {
  if (!health || health.paused_until === null || health.paused_until > nowMs) return health;
  return { ...health, pauses: health.pauses + 1, paused_until: nowMs + pauseMs(health.pauses, random) };
}

/** Whether the host fails whatever it is sent, so that its deliveries wait for it and not for their own plan. `answered_ms`: when it last answered well; null: never in this process's memory. */
export const isDown = (health: HostHealth | null, answered_ms: number | null, nowMs: number): boolean =>
  health !== null &&
  (health.paused_until !== null ||
    answered_ms === null ||
    (health.failures >= FAILURES_TO_BE_DOWN && nowMs - answered_ms > ANSWERED_LATELY_MS));

const pauseMs = (pauses: number, random: number): number =>
  jitterMs(exponentialMs(pauses, FIRST_PAUSE_MS, LONGEST_PAUSE_MS), PAUSE_JITTER, random);

/**
 * What a try shows of its host; null: it is well, which any answer but a server error proves.
 * The failure of a probe, and of requests that were under way when the pause began, says nothing new. A Retry-After makes a pause longer.
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
  const asked = Math.min(askedPauseMs(result), LONGEST_ASKED_PAUSE_MS);
  if (before.paused_until !== null && before.paused_until > nowMs)
    return nowMs + asked > before.paused_until ? { ...before, paused_until: nowMs + asked } : before;
  const failures = before.failures + 1;
  if (failures < FAILURES_TO_PAUSE) return { ...before, failures };
  return {
    failures,
    pauses: before.pauses + 1,
    paused_until: nowMs + Math.max(pauseMs(before.pauses, random), asked),
  };
}
