import { plusMs, plusSeconds } from "../../shared/clock.ts";
import { noFacts, type AttemptFacts } from "../../shared/contracts/attempt.ts";
import type { DialOrder } from "../../shared/contracts/dialer.ts";
import { codeOf, type ErrorCode } from "../../shared/errors.ts";
import { callRef } from "../../shared/ids.ts";
import { errorForLog } from "../../shared/log.ts";
import { intent, isLive } from "./call-machine.ts";
import { placeCall, type Media } from "./placing.ts";
import { INTENT_DEADLINE_MS, ringSeconds } from "./timing.ts";
import type { Works } from "./works.ts";

/** How an attempt ends before anything was written: the lead given back unspent, the attempt settled, or another holds the baton. */
export type Stop =
  | { kind: "release"; due_at: Date; reason: string }
  | { kind: "settle"; facts: AttemptFacts }
  | { kind: "lost" };

/** The lead comes back this much later when a part of the service was out of reach. */
const RETRY_SOON_SECONDS = 10;
/** The media address outlives the ring time by this much: the carrier may queue the call for a moment. */
const MEDIA_MARGIN_SECONDS = 60;
/** Faults that pass by themselves; with any other the attempt is spent, so that a lead that breaks things does not come back for ever. */
const PASSING: readonly ErrorCode[] = ["DEPENDENCY_DOWN", "TIMEOUT", "STORE_UNAVAILABLE", "BUSY", "RATE_LIMITED"];

/** What a fault before the intent means for the lead. Pure. */
export function stopFor(error: unknown, now: Date): Stop {
  const code = codeOf(error);
  const message = error instanceof Error ? error.message : String(error);
  if (PASSING.includes(code)) return { kind: "release", due_at: plusSeconds(now, RETRY_SOON_SECONDS), reason: code };
  return { kind: "settle", facts: { ...noFacts("not_dialled"), error: { code, message } } };
}

const batonOf = ({ lead_id, claim_no }: DialOrder) => ({ lead_id, claim_no });
const untilOf = (order: DialOrder): Date | null => (order.dial_until === null ? null : new Date(order.dial_until));

/** The lead is still ours, and its lease fresh. */
async function baton(w: Works, order: DialOrder): Promise<Stop | null> {
  const { done } = await w.bus.call("leads.extend", { ...batonOf(order), lease_seconds: w.env.LEASE_SECONDS });
  return done ? null : { kind: "lost" };
}

/** Listed since it was queued? Anything but a clear no is a yes. */
async function blacklist(w: Works, order: DialOrder): Promise<Stop | null> {
  if (!order.enforce_blacklist) return null;
  const { listed } = await w.bus.call("blacklist.check", { pairs: [{ reseller_id: order.reseller_id, phone_number: order.to }] });
  return listed[0] === false ? null : { kind: "settle", facts: { ...noFacts("not_dialled"), dropped_as: "BLACKLISTED" } };
}

/** There is an account to dial with: PROVIDER_UNCONFIGURED. */
async function carrier(w: Works, order: DialOrder): Promise<Stop | null> {
  w.carriers.of(order.provider);
  return null;
}

/** The calling window is still open, long enough to ring; and we are not on our way out. */
async function window(w: Works, order: DialOrder): Promise<Stop | null> {
  const now = w.clock.now();
  if (w.stopping()) return { kind: "release", due_at: now, reason: "the dialer is shutting down" };
  const until = untilOf(order);
  if (ringSeconds(now, w.env.RING_TIMEOUT_SECONDS, until) > 0) return null;
  return { kind: "release", due_at: until !== null && until > now ? until : now, reason: "the calling window closed" };
}

const prepare = (w: Works, order: DialOrder): Promise<Media> => w.bus.call("conversation.prepare", {
  call_ref: callRef(order.lead_id, order.claim_no), lead_id: order.lead_id, claim_no: order.claim_no, provider: order.provider,
  template_id: order.template_id, template_version: order.template_version, payload: order.payload, max_call_seconds: order.max_call_seconds,
  ttl_seconds: w.env.RING_TIMEOUT_SECONDS + MEDIA_MARGIN_SECONDS,
});

/** Every check before the intent, in order; the media address when all of them pass. Later checks (pre-checks) join this list. */
async function beforeIntent(w: Works, order: DialOrder): Promise<Media | Stop> {
  try {
    for (const check of [baton, blacklist, carrier, window]) {
      const stop = await check(w, order);
      if (stop) return stop;
    }
    const media = await prepare(w, order);
    return await window(w, order) ?? media;
  } catch (error) {
    w.log.warn({ lead_id: order.lead_id, claim_no: order.claim_no, error: errorForLog(error) }, "an attempt stopped before anything was dialled");
    return stopFor(error, w.clock.now());
  }
}

/** Ends an attempt of which nothing was written. Should leads be out of reach, its own sweep finds the lead and asks us: never dialled. */
async function stopEarly(w: Works, order: DialOrder, stop: Stop): Promise<void> {
  const holder = callRef(order.lead_id, order.claim_no);
  try {
    if (stop.kind === "release") await w.bus.call("leads.release", { ...batonOf(order), due_at: stop.due_at.toISOString(), reason: stop.reason });
    if (stop.kind === "settle") await w.bus.call("leads.settle", { ...batonOf(order), facts: stop.facts });
  } finally {
    await w.bus.call("numbers.release", { holder });
  }
}

/** The place of the intent was taken: by a tombstone, or by the same attempt. Nothing is dialled; the number is freed unless that attempt uses it. */
async function yieldPlace(w: Works, ref: string): Promise<void> {
  const other = await w.calls.find(ref);
  w.log.warn({ call_ref: ref, state: other?.state }, "the attempt has a document already; it is not dialled here");
  if (!other || !isLive(other)) await w.bus.call("numbers.release", { holder: ref });
}

/**
 * One attempt in order: checks, media, intent (acknowledged by a majority), carrier asked once, answer written down (reliability.md 3.1).
 * Every end gives the lead back or settles it, then frees the number; whatever breaks on the way is found by the sweeps.
 */
export async function runAttempt(w: Works, order: DialOrder): Promise<void> {
  const ready = await beforeIntent(w, order);
  if ("kind" in ready) { await stopEarly(w, order, ready); return; }

  const intentMs = w.clock.monotonicMs();
  const now = w.clock.now();
  const call = intent(order, w.nodeId, now, plusMs(now, INTENT_DEADLINE_MS));
  if (!await w.calls.insert(call)) { await yieldPlace(w, call._id); return; }
  await placeCall(w, order, call, ready, intentMs);
}
