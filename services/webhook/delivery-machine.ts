import type { DeliveryDoc } from "./deliveries.model.ts";
import type { DeliveryVerdict, TryResult } from "./verdict.ts";

/** A guarded write on one delivery. */
export interface Move { filter: Record<string, unknown>; update: Record<string, unknown> }

/** pending -> same: one sender takes it for the length of a lease; if it dies, the delivery is due again by itself. */
export const take = (d: Pick<DeliveryDoc, "_id" | "next_try_at">, lease_until: Date): Move => ({
  filter: { _id: d._id, state: "pending", next_try_at: d.next_try_at }, update: { $set: { next_try_at: lease_until }, $inc: { try_count: 1 } },
});

/** Most tries that stay listed: several whole rounds. */
const KEPT_TRIES = 200;

const STATES = { delivered: "delivered", exhausted: "exhausted", refused: "refused" } as const;

/** pending -> pending later, delivered, exhausted or refused. Guarded by the number of the try, so that a late answer of a lost sender changes nothing. */
export function record(d: Pick<DeliveryDoc, "_id" | "try_count">, result: TryResult, verdict: DeliveryVerdict, at: Date, duration_ms: number): Move {
  const entry = { at, status: result.status, error: result.status === null ? result.error : null, duration_ms };
  const filter = { _id: d._id, state: "pending", try_count: d.try_count };
  const listed = { tries: { $each: [entry], $slice: -KEPT_TRIES } };
  if (verdict.kind === "again") return { filter, update: { $set: { next_try_at: verdict.at }, $push: listed } };
  return { filter, update: { $set: { state: STATES[verdict.kind] }, $unset: { next_try_at: 1 }, $push: listed } };
}

/** delivered, exhausted or refused -> pending: a new round of tries. The count goes on, so that an answer of a round before changes nothing in this one. */
export const again = (d: Pick<DeliveryDoc, "_id" | "try_count" | "state">, now: Date): Move => ({
  filter: { _id: d._id, state: d.state, try_count: d.try_count, next_try_at: null }, update: { $set: { state: "pending", next_try_at: now, tries_before: d.try_count } },
});
