import type { DeliveryDoc } from "../deliveries/deliveries.model.ts";
import type { DeliveryVerdict, TryResult } from "./delivery-verdict.ts";
import { receiverOf, type Receiver } from "./receiver.ts";

/** A guarded write on one delivery. */
export interface DeliveryTransition {
  filter: Record<string, unknown>;
  update: Record<string, unknown>;
}

/** pending -> same: one sender takes it for the length of a lease; if it dies, the delivery is due again by itself. */
export const takeLease = (
  d: Pick<DeliveryDoc, "_id" | "next_try_at">,
  lease_until: Date,
  taken_by: string,
): DeliveryTransition => ({
  filter: { _id: d._id, state: "pending", next_try_at: d.next_try_at },
  update: { $set: { next_try_at: lease_until, taken_by }, $inc: { try_count: 1 } },
});

/** A new delivery: due at once, or taken already by the one who writes it down. */
export const newDelivery = (
  lease_until: Date | null,
  now: Date,
): Pick<DeliveryDoc, "state" | "try_count" | "next_try_at" | "tries" | "created_at"> => ({
  state: "pending",
  try_count: lease_until ? 1 : 0,
  next_try_at: lease_until ?? now,
  tries: [],
  created_at: now,
});

/** Most tries that stay listed: several whole rounds. */
const TRIES_KEPT = 200;

const STATES = { delivered: "delivered", exhausted: "exhausted", refused: "refused" } as const;

/** pending -> pending later, delivered, exhausted or refused. A failed probe counts among the tries before, so that the plan knows nothing of it. Guarded by the number of the try, so that a late answer of a lost sender changes nothing. */
export function recordTry(
  d: Pick<DeliveryDoc, "_id" | "try_count">,
  result: TryResult,
  verdict: DeliveryVerdict,
  at: Date,
  duration_ms: number,
): DeliveryTransition {
  const entry = { at, status: result.status, error: result.status === null ? result.error : null, duration_ms };
  const filter = { _id: d._id, state: "pending", try_count: d.try_count };
  const listed = { tries: { $each: [entry], $slice: -TRIES_KEPT } };
  const asked = "asked_until" in verdict ? { asked_until: verdict.asked_until } : {};
  if (verdict.kind === "again")
    return {
      filter,
      update: { $set: { next_try_at: verdict.due, planned_at: verdict.at, ...asked }, $push: listed },
    };
  // not listed: a host that is down for days would push every other try out of the list
  if (verdict.kind === "probed")
    return { filter, update: { $set: { next_try_at: verdict.due, ...asked }, $inc: { tries_before: 1 } } };
  return { filter, update: { $set: { state: STATES[verdict.kind] }, $unset: { next_try_at: 1 }, $push: listed } };
}

/** delivered, exhausted or refused -> pending: a new round of tries. The count goes on, so that an answer of a round before changes nothing in this one. */
export const replayDelivery = (d: Pick<DeliveryDoc, "_id" | "try_count" | "state">, now: Date): DeliveryTransition => ({
  filter: { _id: d._id, state: d.state, try_count: d.try_count, next_try_at: null },
  update: { $set: { state: "pending", next_try_at: now, tries_before: d.try_count }, $unset: { planned_at: 1 } },
});

/**
 * pending -> due now, of all that wait for the next try of their plan, to one receiver or (null) to any. Not what somebody sends at this moment, whose lease is no time of
 * a plan, nor what a receiver asked to wait for.
 */
export const releaseWaiting = (receiver: Receiver | null, now: Date): DeliveryTransition => ({
  filter: {
    ...(receiver === null ? { host: { $gte: "" } } : receiverOf(receiver)),
    next_try_at: { $gt: now },
    state: "pending",
    $expr: { $eq: ["$next_try_at", "$planned_at"] },
    $or: [{ asked_until: null }, { asked_until: { $lte: now } }],
  },
  update: { $set: { next_try_at: now } },
});

/**
 * pending -> exhausted, of all whose time came before `due_before` and that could not be tried since: their host was paused, or had too many
 * before them.
 */
export const giveUp = (due_before: Date, now: Date): DeliveryTransition => ({
  filter: { host: { $gte: "" }, next_try_at: { $lte: due_before }, state: "pending" },
  update: {
    $set: { state: "exhausted" },
    $unset: { next_try_at: 1 },
    $push: {
      tries: {
        $each: [{ at: now, status: null, error: "given up: the host could not be asked for too long", duration_ms: 0 }],
        $slice: -TRIES_KEPT,
      },
    },
  },
});
