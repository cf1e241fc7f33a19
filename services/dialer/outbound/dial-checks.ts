import { noFacts } from "../../../shared/contracts/records/attempt.ts";
import type { DialJob } from "../../../shared/contracts/dialer.ts";
import { CALLEE_BUSY, SPEND_CEILING } from "../../../shared/contracts/records/explanation.ts";
import { callRef } from "../../../shared/ids.ts";
import { plusMs } from "../../../shared/time/clock.ts";
import { ringSeconds } from "../call/call-deadlines.ts";
import { admitLeg } from "../admission/leg-admission.ts";
import type { DialerParts } from "../deps.ts";
import { reserveSpend } from "../spend/spend-admission.ts";
import { longestSeconds } from "../spend/spend-amounts.ts";
import { releaseForShutdown, type EarlyStop, type Release } from "./early-stop.ts";

/** One check of an attempt before its intent; null: it passes. */
export type Check = (deps: DialerParts, order: DialJob) => Promise<EarlyStop | null>;

/** Runs checks in order; the first that does not pass ends it. */
export async function firstStop(
  deps: DialerParts,
  order: DialJob,
  checks: readonly Check[],
): Promise<EarlyStop | null> {
  for (const check of checks) {
    const stop = await check(deps, order);
    if (stop) return stop;
  }
  return null;
}

/** There is an account to dial with, and its circuit breaker is closed. PROVIDER_UNCONFIGURED. */
export const checkCarrier: Check = async ({ carriers, breakers }, { provider }) => {
  carriers.of(provider);
  const until = breakers.openUntil(provider);
  return until === null ? null : { kind: "release", due_at: until, reason: "the carrier takes no calls at the moment" };
};

/** Right before the call is placed: while the carrier refuses our credentials, one call at a time is the trial. */
export const checkCredentials: Check = async ({ breakers }, { provider }) => {
  const until = breakers.waitUntil(provider);
  return until === null
    ? null
    : { kind: "release", due_at: until, reason: "the carrier refuses the account's credentials" };
};

/** The leg of the attempt is admitted: the deployment calls such numbers, and it was not put on the blacklist since the lead was queued. */
export const checkLeg: Check = async (deps, order) => {
  const refused = await admitLeg(deps, { ...order, kind: "dial" });
  if (refused === null) return null;
  const { outcome, why } = refused;
  const error = outcome === "BLACKLISTED" ? {} : { error: { code: outcome, message: why } };
  return { kind: "settle", facts: { ...noFacts("not_dialled"), dropped_as: outcome, ...error } };
};

/** A lead that waits for the end of a former call is looked at again no sooner than this. */
const FORMER_CALL_PAUSE_MS = 2000;
/** A lead whose callee is in another call is looked at again after this long. */
const CALLEE_BUSY_PAUSE_MS = 10_000;

/** The lead waits until its callee may be free again. */
export const releaseForBusyCallee = (now: Date): Release => ({
  kind: "release",
  due_at: plusMs(now, CALLEE_BUSY_PAUSE_MS),
  reason: CALLEE_BUSY,
});

/**
 * No call of an attempt that is over may still be live to this number, of whatever tenant: its end is owed until the carrier confirms it. The lead
 * waits for the next time the carrier is asked to end it, or for the limit that the carrier was given. And no other call of its own tenant with the
 * number may be under way, to it or from it.
 */
export const checkOtherCalls: Check = async ({ clock, calls }, order) => {
  const now = clock.now();
  const found = await calls.inTheWay({ ...order, ref: callRef(order.lead_id, order.claim_no), now });
  if (found === null) return null;
  if (found.why === CALLEE_BUSY) return releaseForBusyCallee(now);
  const again = Math.max(plusMs(now, FORMER_CALL_PAUSE_MS).getTime(), found.call.due_at?.getTime() ?? 0);
  const limit = found.call.open_until?.getTime() ?? again;
  return { kind: "release", due_at: new Date(Math.min(again, limit)), reason: found.why };
};

/** A slot is leased for this much longer than ring and call may last. */
const SLOT_MARGIN_SECONDS = 300;

/** The number slot reserved for this attempt is still ours, and stays so until the longest call is over; one whose short first lease ran out may be another's by now. */
export const checkSlot: Check = async ({ env, clock, peers }, { lead_id, claim_no, max_call_seconds }) => {
  const lease_seconds = max_call_seconds + env.RING_TIMEOUT_SECONDS + SLOT_MARGIN_SECONDS;
  return (await peers.renewSlotLease({ holder: callRef(lead_id, claim_no), lease_seconds }))
    ? null
    : { kind: "release", due_at: clock.now(), reason: "its line was given up before it could be used" };
};

/** The calling window is still open, long enough to ring, and this process is not shutting down. Waiting for a window is the queue's part: the lead is due at once. */
export const checkCallingWindow: Check = async ({ env, clock, draining }, { dial_until }) => {
  const now = clock.now();
  if (draining.aborted) return releaseForShutdown(now);
  const closes = dial_until === null ? null : new Date(dial_until);
  return ringSeconds(now, env.RING_TIMEOUT_SECONDS, closes) > 0
    ? null
    : { kind: "release", due_at: now, reason: "the calling window closed" };
};

/** An order is trusted for this part of a lease; later the lead is asked. */
const TRUSTED_PART = 1 / 3;

/**
 * The lead's lease is still ours. Right after the order was taken nothing is asked: a lead moves on without us only through its sweep, which first puts a tombstone in the
 * place of our intent (reconcile); so the insert of the intent is the fence, and asking would only repeat what that insert proves. An attempt
 * that took long (a slow pre-check, a process that stood still) renews the lease, which lasts for the ring time then.
 */
export const checkLease =
  (takenMs: number): Check =>
  async ({ env, clock, peers }, order) => {
    if (clock.monotonicMs() - takenMs < env.LEASE_SECONDS * 1000 * TRUSTED_PART) return null;
    return (await peers.renewLease(order)).done ? null : { kind: "lost" };
  };

/** A lead that does not fit under a spend ceiling is looked at again after this long: calls under way may take less than is reserved for them. */
const SPEND_PAUSE_MS = 60_000;
/** The same where that has to wait for the period's end, or for a price: the ceiling may be raised meanwhile. */
const SPEND_RECHECK_MS = 3_600_000;

/** The worst case of the attempt is reserved under its spend ceilings; else the lead waits. */
export const reserveForDial: Check = async (deps, order) => {
  const { lead_id, claim_no, max_call_seconds } = order;
  const seconds = longestSeconds(max_call_seconds);
  const reached = await reserveSpend(deps, { ...order, ref: callRef(lead_id, claim_no), seconds });
  if (reached === null) return null;
  const now = deps.clock.now();
  const soon = reached.until === null && reached.what !== "price";
  const again = plusMs(now, soon ? SPEND_PAUSE_MS : SPEND_RECHECK_MS);
  const ends = reached.until === null ? again : new Date(reached.until);
  return { kind: "release", due_at: ends < again ? ends : again, reason: SPEND_CEILING };
};
