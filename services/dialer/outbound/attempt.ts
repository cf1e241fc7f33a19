import { plusMs } from "../../../shared/time/clock.ts";
import type { DialJob } from "../../../shared/contracts/dialer.ts";
import type { Prepared } from "../../../shared/contracts/conversation.ts";
import { crashPoint } from "../../../shared/process/crash.ts";
import { callRef } from "../../../shared/ids.ts";
import { errorForLog } from "../../../shared/process/log.ts";
import { isLive, notDialled } from "../call/call-state-machine.ts";
import { intent, isSame } from "../call/new-calls.ts";
import type { CallDoc } from "../call/calls.model.ts";
import {
  releaseForBusyCallee,
  checkCallingWindow,
  checkCarrier,
  checkCredentials,
  checkLeg,
  checkOtherCalls,
  checkLease,
  checkSlot,
  firstStop,
  reserveForDial,
} from "./dial-checks.ts";
import { finishCall } from "../call/close-call.ts";
import { checkCalleeCap } from "./callee-cap.ts";
import { keepLeadLease, type LeadLease } from "./lead-lease.ts";
import { acquirePermit, holdPermit, type DialPermit } from "./dial-permit.ts";
import { isRecordedByUs, carrierFacts } from "../media/media-target.ts";
import { placeCall, type Clearance } from "./place-call.ts";
import { runPreChecks } from "./pre-checks/run-pre-checks.ts";
import {
  releaseForFault,
  releaseForShutdown,
  stopEarly,
  stopForError,
  type EarlyStop,
  type Release,
} from "./early-stop.ts";
import { giveBackUndialled } from "../spend/spend-settlement.ts";
import { INTENT_DEADLINE_MS } from "../call/call-deadlines.ts";
import type { DialerParts } from "../deps.ts";

/** The media address outlives the ring time by this much: the carrier may queue the call for a moment. */
const MEDIA_MARGIN_SECONDS = 60;

const prepare = (deps: DialerParts, order: DialJob, payload: DialJob["payload"]): Promise<Prepared> =>
  deps.peers.prepareConversation({
    call_ref: callRef(order.lead_id, order.claim_no),
    lead_id: order.lead_id,
    claim_no: order.claim_no,
    provider: order.provider,
    template_id: order.template_id,
    template_version: order.template_version,
    payload,
    max_call_seconds: order.max_call_seconds,
    voicemail_action: order.voicemail_action,
    ...carrierFacts(deps.carriers.of(order.provider)),
    engine: order.engine ?? null,
    record: isRecordedByUs(deps, order.record),
    ttl_seconds: deps.env.RING_TIMEOUT_SECONDS + MEDIA_MARGIN_SECONDS,
    ...(order.trace === undefined ? {} : { trace: order.trace }),
  });

/** Every check before the intent, in order, and the permit to place the call last, for it holds for a moment only. */
async function beforeIntent(
  deps: DialerParts,
  order: DialJob,
  lease: LeadLease,
  takenMs: number,
): Promise<{ media: Prepared; permit: DialPermit | null } | EarlyStop> {
  try {
    const [unfit, slotLost, otherCall, capped] = await Promise.all([
      firstStop(deps, order, [checkCarrier, checkCallingWindow, checkLeg]),
      checkSlot(deps, order),
      checkOtherCalls(deps, order),
      checkCalleeCap(deps, order),
    ]);
    // a call that is under way may yet turn out never to have been placed
    const early = unfit ?? slotLost ?? otherCall ?? capped;
    if (early) return early;
    const checked = await runPreChecks(deps, order, lease);
    if ("kind" in checked) return checked;
    if (checked.waited) {
      const changed = await firstStop(deps, order, [checkCallingWindow, checkLeg]);
      if (changed) return changed;
    }
    const media = await prepare(deps, order, checked.payload);
    const late = await firstStop(deps, order, [
      checkCallingWindow,
      checkCarrier,
      checkLease(takenMs),
      checkCredentials,
      reserveForDial,
    ]);
    if (late) return late;
    const permit = await acquirePermit(deps, order, takenMs).catch(async (error: unknown) => {
      await giveBackUndialled(deps, order);
      throw error;
    });
    if (permit === null || !("kind" in permit)) return { media, permit };
    await giveBackUndialled(deps, order);
    return permit;
  } catch (error) {
    deps.log.warn(
      { lead_id: order.lead_id, claim_no: order.claim_no, error: errorForLog(error) },
      "an attempt stopped before anything was dialled",
    );
    return stopForError(error, deps.clock.now());
  }
}

/**
 * The intent's place is taken, by a tombstone or by the same attempt: nothing is dialled, and the number slot is released unless that attempt uses
 * it. Or the callee is in another call of the tenant, which began at this moment: the lead waits.
 */
async function yieldPlace(deps: DialerParts, order: DialJob): Promise<void> {
  const ref = callRef(order.lead_id, order.claim_no);
  const other = await deps.calls.find(ref);
  if (!other) {
    await stopEarly(deps, order, releaseForBusyCallee(deps.clock.now()));
    return;
  }
  deps.log.warn({ call_ref: ref, state: other.state }, "the attempt has a document already; it is not dialled here");
  if (!isLive(other)) await deps.peers.releaseSlotEventually(ref);
}

/** The intent may or may not be written, but no dial request was sent: it is undone, or a tombstone takes its place. */
async function undo(deps: DialerParts, order: DialJob, call: CallDoc, release: Release): Promise<void> {
  const now = deps.clock.now();
  const there = await deps.calls.findOrVoid(call._id, order, now);
  if (there.state === "VOID") {
    await stopEarly(deps, order, release);
    return;
  }
  if (!isSame(there, call)) {
    await yieldPlace(deps, order);
    return;
  }
  const over = await deps.calls.apply(notDialled(call._id, release, now));
  if (over) await finishCall(deps, over);
}

/** The intent is written; the merchant's cap on calls per callee leaves room for it. False: it does not, or can't be asked, and the intent is undone. */
async function fitsCap(deps: DialerParts, order: DialJob, call: CallDoc): Promise<boolean> {
  let release: Release | null;
  try {
    release = await checkCalleeCap(deps, order);
  } catch (error) {
    deps.log.warn(
      { call_ref: call._id, error: errorForLog(error) },
      "a callee's calls could not be counted; nothing is dialled",
    );
    release = releaseForFault(error, deps.clock.now());
  }
  if (release === null) return true;
  const why = release;
  await deps.unwritten.write(call._id, "its intent is undone", () => undo(deps, order, call, why));
  return false;
}

/** Writes the intent, acknowledged by a majority; false: the call may not be placed, and all that is owed is done. */
async function writeIntent(deps: DialerParts, order: DialJob, call: CallDoc): Promise<boolean> {
  try {
    if (await deps.calls.insert(call)) return await fitsCap(deps, order, call);
  } catch (error) {
    deps.log.warn(
      { call_ref: call._id, error: errorForLog(error) },
      "an intent could not be written; nothing is dialled",
    );
    const release = releaseForFault(error, deps.clock.now());
    await deps.unwritten.write(call._id, "its intent is undone", () => undo(deps, order, call, release));
    return false;
  }
  await yieldPlace(deps, order);
  return false;
}

/** An attempt that may be placed: its intent, acknowledged by a majority, and what it is placed with. */
interface Intended extends Clearance {
  call: CallDoc;
}

/** An attempt up to its intent; null: nothing is to be dialled, and all that is owed is done. */
async function upToIntent(deps: DialerParts, order: DialJob, lease: LeadLease): Promise<Intended | null> {
  const clear = await beforeIntent(deps, order, lease, deps.clock.monotonicMs());
  if ("kind" in clear) {
    await stopEarly(deps, order, clear);
    return null;
  }
  crashPoint(deps.env, "K3");

  const permit = holdPermit(deps, order, clear.permit);
  await permit.near();
  if (deps.draining.aborted || lease.lost.aborted) {
    const stop: EarlyStop = lease.lost.aborted ? { kind: "lost" } : releaseForShutdown(deps.clock.now());
    await Promise.all([permit.unused(), stopEarly(deps, order, stop), giveBackUndialled(deps, order)]);
    return null;
  }
  const intentMs = deps.clock.monotonicMs();
  const now = deps.clock.now();
  const call = intent(order, deps.nodeId, now, plusMs(now, INTENT_DEADLINE_MS), clear.media.kind);
  if (!(await writeIntent(deps, order, call))) {
    await Promise.all([permit.unused(), giveBackUndialled(deps, order)]);
    return null;
  }
  if (clear.permit !== null) deps.permitPace.intentTook(deps.clock.monotonicMs() - intentMs);
  return { call, media: clear.media, permit, intentMs };
}

/**
 * One attempt in order: checks, pre-checks, media, permit, intent (acknowledged by a majority), one dial request, its answer recorded.
 * The intent is written shortly before the permit's instant: of an attempt with an intent nobody but the carrier knows whether it was dialled, should this process die. Every end releases the lead or settles it, then releases the number slot; what fails on the way is
 * resumed by the sweeps.
 */
export async function runAttempt(deps: DialerParts, order: DialJob): Promise<void> {
  const lease = keepLeadLease(deps, order);
  const intended = await upToIntent(deps, order, lease).finally(() => lease.drop());
  if (intended !== null) await placeCall(deps, order, intended.call, intended);
}
