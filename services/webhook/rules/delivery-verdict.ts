import { jitterMs } from "../../../shared/time/backoff.ts";
import { MS_PER_SECOND, plusMs } from "../../../shared/time/clock.ts";

/** What came of one try: an HTTP status with its Retry-After (seconds), or no answer at all. */
export type TryResult =
  | { status: number; retry_after_seconds: number | null }
  | { status: null; error: string; refused: boolean };

/** What becomes of the delivery. */
export type DeliveryVerdict =
  | { kind: "delivered" }
  | { kind: "again"; at: Date }
  | { kind: "exhausted" }
  | { kind: "refused" };

const MINUTE = 60 * MS_PER_SECOND;
const HOUR = 60 * MINUTE;

/** Pauses before the tries after the first (Standard Webhooks 1.0). */
export const RETRY_DELAYS_MS = [
  5 * MS_PER_SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
] as const;
/** Spread of a pause, so that a recovered receiver does not get all deliveries at once. */
export const RETRY_JITTER = 0.1;
/** The longest a receiver's Retry-After is obeyed. */
export const MAX_RETRY_AFTER_MS = 24 * HOUR;

const GONE = 410;

/** Decides after the try with number `tries` (1 = the first). Any 2xx is success; 410 stops; the rest is tried again until the plan ends. */
export function verdictOf(result: TryResult, tries: number, now: Date, random: number): DeliveryVerdict {
  if (result.status === null && result.refused) return { kind: "refused" };
  if (result.status !== null && result.status >= 200 && result.status < 300) return { kind: "delivered" };
  if (result.status === GONE) return { kind: "refused" };
  const planned = RETRY_DELAYS_MS[tries - 1];
  if (planned === undefined) return { kind: "exhausted" };
  const asked =
    result.status === null ? 0 : Math.min((result.retry_after_seconds ?? 0) * MS_PER_SECOND, MAX_RETRY_AFTER_MS);
  return { kind: "again", at: plusMs(now, Math.max(asked, jitterMs(planned, RETRY_JITTER, random))) };
}

/** Retry-After as seconds or as an HTTP date; null when it says nothing usable. */
export function retryAfterSeconds(header: string | undefined, now: Date): number | null {
  if (!header) return null;
  if (/^\d{1,9}$/.test(header.trim())) return Number(header);
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, Math.round((at - now.getTime()) / MS_PER_SECOND));
}
