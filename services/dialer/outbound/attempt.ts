import { plusMs } from "../../../shared/clock.ts";
import type { DialJob } from "../../../shared/contracts/dialer.ts";
import { crashPoint } from "../../../shared/crash.ts";
import { callRef } from "../../../shared/ids.ts";
import { errorForLog } from "../../../shared/log.ts";
import { intent, isLive, isSame, notDialled } from "../call/call-state-machine.ts";
import type { CallDoc } from "../call/calls.model.ts";
import { admitted, baton, blacklist, carrier, firstStop, line, window } from "./dial-checks.ts";
import { ended } from "../call/close-call.ts";
import { takeGrant, waitForTurn } from "./dial-permit.ts";
import { askedOfUs, carrierFacts } from "../media/media-target.ts";
import { placeCall, type Clearance, type Media } from "./place-call.ts";
import { preChecks } from "./pre-checks/run-pre-checks.ts";
import { later, stopEarly, stopFor, type Stop } from "./early-stop.ts";
import { INTENT_DEADLINE_MS } from "../call/call-deadlines.ts";
import type { Works } from "../deps.ts";

/** The media address outlives the ring time by this much: the carrier may queue the call for a moment. */
const MEDIA_MARGIN_SECONDS = 60;

const prepare = (w: Works, order: DialJob, payload: DialJob["payload"]): Promise<Media> =>
  w.together.prepare({
    call_ref: callRef(order.lead_id, order.claim_no),
    lead_id: order.lead_id,
    claim_no: order.claim_no,
    provider: order.provider,
    template_id: order.template_id,
    template_version: order.template_version,
    payload,
    max_call_seconds: order.max_call_seconds,
    voicemail_action: order.voicemail_action,
    ...carrierFacts(w.carriers.of(order.provider)),
    engine: order.engine ?? null,
    record: askedOfUs(w, order.record),
    ttl_seconds: w.env.RING_TIMEOUT_SECONDS + MEDIA_MARGIN_SECONDS,
  });

/** Every check before the intent, in order, and the right to place the call last, for it holds for a moment only. */
async function beforeIntent(w: Works, order: DialJob, takenMs: number): Promise<Omit<Clearance, "intentMs"> | Stop> {
  try {
    const [stop, lineless] = await Promise.all([firstStop(w, order, [carrier, window, blacklist]), line(w, order)]);
    const early = stop ?? lineless;
    if (early) return early;
    const checked = await preChecks(w, order);
    if ("kind" in checked) return checked;
    if (checked.asked) {
      const changed = await firstStop(w, order, [window, blacklist]);
      if (changed) return changed;
    }
    const media = await prepare(w, order, checked.payload);
    const late = await firstStop(w, order, [window, carrier, baton(takenMs), admitted]);
    if (late) return late;
    const grant = await takeGrant(w, order);
    return grant !== null && "kind" in grant ? grant : { media, grant };
  } catch (error) {
    w.log.warn(
      { lead_id: order.lead_id, claim_no: order.claim_no, error: errorForLog(error) },
      "an attempt stopped before anything was dialled",
    );
    return stopFor(error, w.clock.now());
  }
}

/** The place of the intent was taken: by a tombstone, or by the same attempt. Nothing is dialled; the number is freed unless that attempt uses it. */
async function yieldPlace(w: Works, ref: string): Promise<void> {
  const other = await w.calls.find(ref);
  w.log.warn({ call_ref: ref, state: other?.state }, "the attempt has a document already; it is not dialled here");
  if (!other || !isLive(other)) await w.together.letLineGo(ref);
}

/** It is not known whether the intent was written, but for certain that nobody was asked to dial: it is undone, or its place is taken by a tombstone. */
async function undo(w: Works, order: DialJob, call: CallDoc, error: unknown): Promise<void> {
  w.log.warn({ call_ref: call._id, error: errorForLog(error) }, "an intent could not be written; nothing is dialled");
  const now = w.clock.now();
  const release = later(error, now);
  const there = await w.calls.findOrVoid(call._id, order, now);
  if (there.state === "VOID") {
    await stopEarly(w, order, release);
    return;
  }
  if (!isSame(there, call)) {
    await yieldPlace(w, call._id);
    return;
  }
  const over = await w.calls.run(notDialled(call._id, release, now));
  if (over) await ended(w, over);
}

/** Writes the intent, acknowledged by a majority; false: the call may not be placed, and all that is owed is done. */
async function writeIntent(w: Works, order: DialJob, call: CallDoc): Promise<boolean> {
  try {
    if (await w.calls.insert(call)) return true;
  } catch (error) {
    await undo(w, order, call, error);
    return false;
  }
  await yieldPlace(w, call._id);
  return false;
}

/**
 * One attempt in order: checks, pre-checks, media, grant, intent (acknowledged by a majority), carrier asked once, answer written down (reliability.md 3.1).
 * The intent is written while the grant's instant is waited for. Every end gives the lead back or settles it, then frees the number; whatever breaks on the way is found by the sweeps.
 */
export async function runAttempt(w: Works, order: DialJob): Promise<void> {
  const clear = await beforeIntent(w, order, w.clock.monotonicMs());
  if ("kind" in clear) {
    await stopEarly(w, order, clear);
    return;
  }
  crashPoint(w.env, "K3");

  const intentMs = w.clock.monotonicMs();
  const now = w.clock.now();
  const call = intent(order, w.nodeId, now, plusMs(now, INTENT_DEADLINE_MS), clear.media.kind);
  if (!(await writeIntent(w, order, call))) return;
  if (clear.grant !== null) w.grantPace.took(w.clock.monotonicMs() - intentMs);
  await waitForTurn(w, clear.grant);
  await placeCall(w, order, call, { ...clear, intentMs });
}
