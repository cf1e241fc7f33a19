import { noFacts } from "../../../shared/contracts/attempt.ts";
import type { DialJob } from "../../../shared/contracts/dialer.ts";
import { callRef } from "../../../shared/ids.ts";
import { admittedAfter, pausedUntil } from "./carrier-circuit-breaker.ts";
import { leaving, type Stop } from "./early-stop.ts";
import { ringSeconds } from "../call/call-deadlines.ts";
import type { Works } from "../deps.ts";

/** One check of an attempt before its intent; null: it may go on. */
export type Check = (w: Works, order: DialJob) => Promise<Stop | null>;

/** Runs checks in order; the first stop ends it. */
export async function firstStop(w: Works, order: DialJob, checks: readonly Check[]): Promise<Stop | null> {
  for (const check of checks) {
    const stop = await check(w, order);
    if (stop) return stop;
  }
  return null;
}

/** There is an account to dial with, and it takes calls. PROVIDER_UNCONFIGURED. */
export const carrier: Check = async (w, order) => {
  w.carriers.of(order.provider);
  const until = pausedUntil(w, order.provider);
  return until === null ? null : { kind: "release", due_at: until, reason: "the carrier takes no calls at the moment" };
};

/** Right before the call is placed: while the carrier refuses our credentials, one call at a time tries them. */
export const admitted: Check = async (w, order) => {
  const until = admittedAfter(w, order.provider);
  return until === null
    ? null
    : { kind: "release", due_at: until, reason: "the carrier refuses the account's credentials" };
};

/** Listed since it was queued? */
export const blacklist: Check = async (w, order) => {
  if (!order.enforce_blacklist) return null;
  const listed = await w.together.listed({ reseller_id: order.reseller_id, phone_number: order.to });
  return listed ? { kind: "settle", facts: { ...noFacts("not_dialled"), dropped_as: "BLACKLISTED" } } : null;
};

/** A line is kept this much longer than ring and call may last. */
const LINE_MARGIN_SECONDS = 300;

/** The line taken for it still stands, and does until the longest call is over; one whose short first lease ran out may be another's by now. */
export const line: Check = async (w, order) => {
  const lease_seconds = order.max_call_seconds + w.env.RING_TIMEOUT_SECONDS + LINE_MARGIN_SECONDS;
  const kept = await w.together.keepLine({ holder: callRef(order.lead_id, order.claim_no), lease_seconds });
  return kept
    ? null
    : { kind: "release", due_at: w.clock.now(), reason: "its line was given up before it could be used" };
};

/** The calling window is still open, long enough to ring; and we are not on our way out. A closed window is the queue's to wait for: the lead is due at once. */
export const window: Check = async (w, order) => {
  const now = w.clock.now();
  if (w.stopping()) return leaving(now);
  const open =
    ringSeconds(now, w.env.RING_TIMEOUT_SECONDS, order.dial_until === null ? null : new Date(order.dial_until)) > 0;
  return open ? null : { kind: "release", due_at: now, reason: "the calling window closed" };
};

/** An order is believed for this part of a lease; later the lead is asked. */
const BELIEVED_PART = 1 / 3;

/**
 * The lead is still ours. Right after the order was taken nobody is asked: a lead moves on without us only through its sweep, which first puts a tombstone in the place
 * of our intent (reconcile); so the insert of the intent is the fence, whatever an order went through on its way here, and asking would only tell what that insert tells
 * for certain. An attempt that took long (a slow pre-check, a process that stood still) asks, and so prolongs the lease for the ring time.
 */
export const baton =
  (takenMs: number): Check =>
  async (w, { lead_id, claim_no }) => {
    if (w.clock.monotonicMs() - takenMs < w.env.LEASE_SECONDS * 1000 * BELIEVED_PART) return null;
    const { done } = await w.bus.call("leads.extend", { lead_id, claim_no, lease_seconds: w.env.LEASE_SECONDS });
    return done ? null : { kind: "lost" };
  };
