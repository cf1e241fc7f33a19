import { errorForLog } from "../../../shared/process/log.ts";
import { plusMs } from "../../../shared/time/clock.ts";
import {
  endUnknown,
  endsForVoicemail,
  giveUp,
  hangUpRepeated,
  isLive,
  pollAgain,
  place,
  ownLease,
  unjoined,
} from "./call-state-machine.ts";
import type { HangUpReason } from "../../../shared/hangup-source.ts";
import { handleOf, isSession, type CallDoc } from "./calls.model.ts";
import type { CallHandle, CarrierCall, CarrierPort } from "../carriers/carrier-port.ts";
import { closeCall, finishCall } from "./close-call.ts";
import { pollPrice } from "../billing/charge.ts";
import { hangUpAtCarrier, endCall } from "./call-control.ts";
import { tellPlaced } from "./tell-placed.ts";
import { applyProgress, tellRinging, tellsOfRinging } from "../callbacks/apply-callback.ts";
import {
  dueAfterJoin,
  dueAfterPlacing,
  hangUpDelayMs,
  notFoundAfter,
  JOIN_GRACE_MS,
  lastAnswerAt,
  FIND_EVERY_MS,
  REPOLL_MS,
} from "./call-deadlines.ts";
import type { DialerParts } from "../deps.ts";

const GONE = { code: "CALL_GONE", message: "The carrier does not know the call any more." };

/** Why a call that the carrier calls live should be over; null: it is in order. Pure. */
export function overdue(call: CallDoc, now: Date): HangUpReason | null {
  if (call.hang_up !== undefined) return call.hang_up;
  if (call.machine === "machine" && call.holder === undefined && endsForVoicemail(call)) return "machine";
  if (call.state !== "ANSWERED")
    return call.dial_until !== undefined && call.dial_until <= now ? "window_closed" : null;
  if (call.holder === undefined)
    return call.answered_at !== undefined && plusMs(call.answered_at, JOIN_GRACE_MS) <= now ? "media_missing" : null;
  return dueAfterJoin(call.joined_at ?? now, call.order?.max_call_seconds ?? 0) <= now ? "overdue" : null;
}

/** When a live call in order is polled again. Pure. */
export function nextPollAt(call: CallDoc, now: Date): Date {
  if (call.joined_at) return dueAfterJoin(call.joined_at, call.order?.max_call_seconds ?? 0);
  if (call.state === "ANSWERED") return plusMs(now, JOIN_GRACE_MS);
  const next = plusMs(now, REPOLL_MS);
  return call.dial_until !== undefined && call.dial_until > now && call.dial_until < next ? call.dial_until : next;
}

/** The one call of ours among those found; undefined where there is none, or more than one. */
async function adoptable(deps: DialerParts, call: CallDoc, found: CarrierCall[]): Promise<CarrierCall | undefined> {
  if (call.provider === undefined) return undefined;
  const taken = await deps.calls.knownNames(
    call.provider,
    found.map((c) => c.call_id),
  );
  const free = found.filter((c) => !taken.has(c.call_id));
  if (free.length > 1)
    deps.log.warn(
      { call_ref: call._id, candidates: free.length },
      "more than one call at the carrier could be this one; waiting for a callback to tell",
    );
  return free.length === 1 ? free[0] : undefined;
}

/** A request without an answer: the carrier is searched by numbers and time. A call found is adopted; past the last search it is given up. */
async function findUnnamed(deps: DialerParts, call: CallDoc, carrier: CarrierPort): Promise<void> {
  if (call.order === undefined || call.deadline_at === undefined) return;
  const { to, from } = call.order;
  const found = await carrier.find({
    call_ref: call._id,
    to,
    from,
    since: call.created_at,
    until: lastAnswerAt(call.deadline_at),
  });
  const ours = await adoptable(deps, call, found);
  const now = deps.clock.now();
  if (ours) {
    deps.log.info({ call_ref: call._id }, "the carrier has the call whose answer was lost; it is adopted");
    await deps.calls.apply(
      place(
        call._id,
        ours.call_id,
        ours.created_at ?? now,
        dueAfterPlacing(now, deps.env.RING_TIMEOUT_SECONDS, call.dial_until ?? null),
      ),
    );
    await deps.calls.apply(ownLease(call._id, deps.nodeId));
    await applySeen(deps, call, ours);
    deps.background.run("telling of an adopted call", () => tellPlaced(deps, call._id));
    return;
  }
  if (now < notFoundAfter(call.deadline_at, deps.env.PLACEMENT_GRACE_SECONDS)) {
    await deps.calls.apply(pollAgain(call._id, plusMs(now, FIND_EVERY_MS)));
    return;
  }
  const over = await deps.calls.apply(giveUp(call._id, now));
  if (over) await finishCall(deps, over);
}

/** Applies what the carrier shows of a call, like a callback. */
async function applySeen(deps: DialerParts, call: CallDoc, seen: CarrierCall): Promise<void> {
  if (call.provider === undefined) return;
  for (const step of seen.progress) await applyProgress(deps, call.provider, call._id, step, deps.clock.now());
  if (tellsOfRinging(seen.progress))
    // the next poll tells it again; what is to be done for the call does not wait
    await tellRinging(deps, call._id).catch((error: unknown) =>
      deps.log.warn({ call_ref: call._id, error: errorForLog(error) }, "leads could not be told that a phone rings"),
    );
}

/** A call the carrier named: its state is asked for, and a call that should be over is ended. */
async function pollNamed(deps: DialerParts, call: CallDoc, carrier: CarrierPort, handle: CallHandle): Promise<void> {
  const seen = await carrier.fetch(handle);
  if (seen) await applySeen(deps, call, seen);
  else {
    const over = await deps.calls.apply(endUnknown(call._id, GONE, deps.clock.now()));
    if (over) await finishCall(deps, over);
  }
  const now = deps.clock.now();
  const after = await deps.calls.find(call._id);
  if (!after || !isLive(after)) return;
  const why = overdue(after, now);
  if (why === null) await deps.calls.apply(pollAgain(call._id, nextPollAt(after, now)));
  else if (after.hang_up === undefined) await endCall(deps, call._id, why);
  else {
    await deps.calls.apply(hangUpRepeated(call._id, plusMs(now, hangUpDelayMs((after.hang_ups ?? 0) + 1))));
    await hangUpAtCarrier(deps, after);
  }
}

/** A live session, of which no carrier can be asked: one whose client does not come, and one that should be over, is ended. */
async function pollSession(deps: DialerParts, call: CallDoc): Promise<void> {
  const now = deps.clock.now();
  const over = call.holder === undefined ? await deps.calls.apply(unjoined(call._id, now)) : null;
  if (over) return finishCall(deps, over);
  const why = overdue(call, now);
  if (why !== null) return endCall(deps, call._id, why);
  await deps.calls.apply(
    pollAgain(call._id, call.holder === undefined ? (call.deadline_at ?? now) : nextPollAt(call, now)),
  );
}

/** Polls one call: closes an ended one, asks the carrier about a live one. Throws when a service or the carrier is unreachable. */
export async function pollCall(deps: DialerParts, call: CallDoc): Promise<void> {
  if (call.state === "VOID") return;
  if (call.state === "ENDED") {
    await (call.closed_at ? pollPrice(deps, call) : closeCall(deps, call));
    return;
  }
  if (isSession(call)) return pollSession(deps, call);
  if (call.provider === undefined) return;
  const carrier = deps.carriers.of(call.provider);
  const handle = handleOf(call);
  await (handle === null ? findUnnamed(deps, call, carrier) : pollNamed(deps, call, carrier, handle));
}
