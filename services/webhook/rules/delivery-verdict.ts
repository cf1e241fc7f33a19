import { RETRY_DELAYS_SECONDS } from "../../../shared/contracts/events/finished-lead.ts";
import { jitterMs } from "../../../shared/time/backoff.ts";
import { MS_PER_SECOND, plusMs } from "../../../shared/time/clock.ts";

/** What came of one try: an HTTP status with its Retry-After (seconds), or no answer at all. */
export type TryResult =
  | { status: number; retry_after_seconds: number | null }
  | { status: null; error: string; refused: boolean };

/** The pause that an answer asks for with Retry-After, ms; 0: none. */
export const askedPauseMs = (result: TryResult): number =>
  result.status === null ? 0 : (result.retry_after_seconds ?? 0) * MS_PER_SECOND;

/**
 * What becomes of the delivery. `at`: when its plan has the next try; `due`: when it may be sent, sooner where its host may be well any moment. `probed`: it went out before
 * its plan had it, in vain, and the plan goes on as it was. `asked_until`: no sooner, by the receiver's own word; absent: it gave none.
 */
export type DeliveryVerdict =
  | { kind: "delivered" }
  | { kind: "again"; at: Date; due: Date; asked_until?: Date }
  | { kind: "probed"; due: Date; asked_until?: Date }
  | { kind: "exhausted" }
  | { kind: "refused" };

const HOUR = 3600 * MS_PER_SECOND;

/** Pauses before the tries after the first. */
export const RETRY_DELAYS_MS = RETRY_DELAYS_SECONDS.map((seconds) => seconds * MS_PER_SECOND);
/** Spread of a pause, so that a recovered receiver does not get all deliveries at once. */
export const RETRY_JITTER = 0.1;
/** The longest a receiver's Retry-After is obeyed. */
export const MAX_RETRY_AFTER_MS = 24 * HOUR;

const GONE = 410;

/** A delivery whose host is down is due again after this long. It is sent when the host's pause ends and its turn comes, or the host is well again. */
const DUE_WHILE_DOWN_MS = 1000;

/**
 * A try of a delivery, and when it ended: its number in the plan (1 = the first). `planned_at`: when its plan has it, where it went out before; null: it went out by its
 * plan. `says_nothing`: its failure tells nothing of a try that is made at once, as its host is down, or became well meanwhile.
 */
export interface Try {
  tries: number;
  planned_at: Date | null;
  says_nothing: boolean;
  now: Date;
}

const later = (a: Date, b: Date): Date => (a > b ? a : b);

/**
 * Decides after a try. Any 2xx is success; 410 stops; the rest is tried again until the plan ends. While the host is down the delivery is due at once,
 * and what fails before the plan's time costs no try of it.
 */
export function verdictOf(
  result: TryResult,
  { tries, planned_at, says_nothing, now }: Try,
  random: number,
): DeliveryVerdict {
  if (result.status === null && result.refused) return { kind: "refused" };
  if (result.status !== null && result.status >= 200 && result.status < 300) return { kind: "delivered" };
  if (result.status === GONE) return { kind: "refused" };
  const asked = Math.min(askedPauseMs(result), MAX_RETRY_AFTER_MS);
  const word = asked === 0 ? {} : { asked_until: plusMs(now, asked) };
  const atOnce = plusMs(now, Math.max(asked, DUE_WHILE_DOWN_MS));
  if (planned_at !== null)
    return { kind: "probed", due: says_nothing ? atOnce : later(planned_at, plusMs(now, asked)), ...word };
  const planned = RETRY_DELAYS_MS[tries - 1];
  if (planned === undefined) return { kind: "exhausted" };
  const at = plusMs(now, Math.max(asked, jitterMs(planned, RETRY_JITTER, random)));
  return { kind: "again", at, due: says_nothing && atOnce < at ? atOnce : at, ...word };
}
