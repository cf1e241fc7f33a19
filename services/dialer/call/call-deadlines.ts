import { exponentialMs } from "../../../shared/time/backoff.ts";
import { plusMs, plusSeconds } from "../../../shared/time/clock.ts";
import { SHORTEST_RING_SECONDS } from "../../../shared/contracts/scheduler.ts";
import { DIAL_TIMEOUT_MS } from "../carriers/carrier-port.ts";

/** From the intent record on, the carrier must be asked within this long, or not at all. */
export const INTENT_DEADLINE_MS = 10_000;
/** Pause between two searches for a call whose request was never answered. */
export const FIND_EVERY_MS = 3000;
/** Pause between two polls of a call that should be over. */
export const REPOLL_MS = 10_000;
/** An unanswered call is polled this long after it should have stopped ringing. */
export const RING_MARGIN_MS = 30_000;
/** A conversation is polled this long after its longest length. */
export const CALL_LENGTH_MARGIN_MS = 60_000;
/** The carrier cuts a conversation this much after its longest length: the conversation ends it before. */
export const CARRIER_LIMIT_MARGIN_SECONDS = 30;
/** Media must join this soon after the answer. */
export const JOIN_GRACE_MS = 10_000;
/** When the price of a conversation is polled, in seconds after each poll; then it is given up. */
export const PRICE_POLLS_SECONDS = [5, 120, 1800] as const;

/** The longest ring time that the environment allows (RING_TIMEOUT_SECONDS), and some for the carrier. */
const LONGEST_RING_SECONDS = 660;

const FIRST_HANG_UP_MS = 2000;
const LAST_HANG_UP_MS = 60_000;

const earlier = (a: Date, b: Date | null): Date => (b !== null && b < a ? b : a);

/** The last instant at which a request sent in time can have been answered. */
export const lastAnswerAt = (deadline_at: Date): Date => plusMs(deadline_at, DIAL_TIMEOUT_MS);

/** From here on a call can't be live any more, whatever became of us: the carrier was told to end it before. */
export const openUntil = (deadline_at: Date, max_call_seconds: number): Date =>
  plusSeconds(lastAnswerAt(deadline_at), LONGEST_RING_SECONDS + max_call_seconds + CARRIER_LIMIT_MARGIN_SECONDS);

/** How long after it was asked for the n-th time to end a call the carrier is asked again, ms. */
export const hangUpDelayMs = (asked: number): number => exponentialMs(asked, FIRST_HANG_UP_MS, LAST_HANG_UP_MS);

/** When a call whose sender went silent is first searched. */
export const dueAfterIntent = (deadline_at: Date): Date => plusMs(lastAnswerAt(deadline_at), REPOLL_MS);

/** From here on, "the carrier does not know it" means "it was never placed": its lists may be late by `grace_seconds`. */
export const notFoundAfter = (deadline_at: Date, grace_seconds: number): Date =>
  plusSeconds(lastAnswerAt(deadline_at), grace_seconds);

/** When a ringing call is polled, should the carrier stay silent: after the ring time, and when the window closes. */
export const dueAfterPlacing = (now: Date, ring_seconds: number, dial_until: Date | null): Date =>
  earlier(plusMs(plusSeconds(now, ring_seconds), RING_MARGIN_MS), dial_until);

/** When a conversation is polled, should the carrier stay silent. */
export const dueAfterJoin = (now: Date, max_call_seconds: number): Date =>
  plusMs(plusSeconds(now, max_call_seconds), CALL_LENGTH_MARGIN_MS);

/** How long a phone may ring: the ring time, cut at the end of the calling window. Whole seconds; 0 when it is not worth starting. */
export function ringSeconds(now: Date, ring_timeout_seconds: number, dial_until: Date | null): number {
  const left = dial_until === null ? ring_timeout_seconds : Math.floor((dial_until.getTime() - now.getTime()) / 1000);
  return left < SHORTEST_RING_SECONDS ? 0 : Math.min(ring_timeout_seconds, left);
}
