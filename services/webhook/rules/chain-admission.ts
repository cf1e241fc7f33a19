import { MS_PER_SECOND, plusMs } from "../../../shared/time/clock.ts";
import type { DeliveryDoc, EndpointPart } from "../deliveries/deliveries.model.ts";
import type { DeliveryTransition } from "./delivery-state-machine.ts";

/**
 * Events of one lead, or of one other subject, go to one endpoint one after the other: the chain. What comes before an event in its chain is on its way, or is over; only in
 * the latter case may the event go.
 */
export type Linked = Pick<DeliveryDoc, "_id" | "next_try_at" | "try_count" | "created_at" | "endpoint">;
/** What of a chain was not delivered: it is on its way, or was given up. */
export type Undelivered = Pick<DeliveryDoc, "_id" | "state" | "next_try_at"> & { endpoint: EndpointPart };

/** Names the chain. */
export const chainOf = (endpoint_id: string, subject: string): string => `${endpoint_id} ${subject}`;

/** The longest that an event of a chain waits for those before it and for a paused endpoint. */
export const LONGEST_WAIT_MS = 7 * 86_400 * MS_PER_SECOND;
/** How soon an event looks again, at the soonest, whether the one that it waits for is over. */
const LOOK_AGAIN_MS = 1000;
/** How soon an event of a paused endpoint looks again; resuming has it sent at once. */
const HELD_MS = 3_600_000;

const seqOf = ({ endpoint }: Pick<Linked, "endpoint">): number => endpoint?.seq ?? 0;

/** What of its chain comes before an event. */
const before = (d: Pick<Linked, "endpoint">, undelivered: readonly Undelivered[]): Undelivered[] =>
  undelivered.filter(({ endpoint }) => endpoint.chain === d.endpoint?.chain && endpoint.seq < seqOf(d));

/** The event that this one waits for; null: it waits for none. What was sent again goes beside the order. */
export function waitsFor(d: Pick<Linked, "endpoint">, undelivered: readonly Undelivered[]): Undelivered | null {
  if (!d.endpoint?.chain || d.endpoint.replayed) return null;
  return before(d, undelivered).find(({ state }) => state === "pending") ?? null;
}

/** Whether an event before this one was given up. */
export const anyGivenUp = (d: Pick<Linked, "endpoint">, undelivered: readonly Undelivered[]): boolean =>
  before(d, undelivered).some(({ state }) => state !== "pending");

/** Most lost events that one names: the newest. */
const MAX_LOST = 100;

/** Ids of events that were given up behind the last one that the receiver has got. */
export const lostSince = (
  d: Pick<Linked, "endpoint">,
  undelivered: readonly Undelivered[],
  last_delivered: number,
): string[] =>
  before(d, undelivered)
    .filter(({ state, endpoint }) => state !== "pending" && endpoint.seq > last_delivered)
    .sort((a, b) => seqOf(a) - seqOf(b))
    .slice(-MAX_LOST)
    .map(({ endpoint }) => endpoint.event_id);

const asSeen = ({ _id, next_try_at }: Linked): Record<string, unknown> => ({ _id, state: "pending", next_try_at });

/**
 * pending -> later, behind the one that it waits for, whose end has it sent at once: it looks again when that one is tried next or its lease ends, for where a process died
 * between. Not sooner: of a receiver that has thousands of events waiting, the passes would read nothing but those, again and again, and what may be sent would stand behind them.
 */
export function waitBehind(d: Linked, { next_try_at }: Undelivered, now: Date): DeliveryTransition {
  const soon = plusMs(now, LOOK_AGAIN_MS);
  const then = next_try_at !== undefined && next_try_at > soon ? next_try_at : soon;
  return { filter: asSeen(d), update: { $set: { next_try_at: then } } };
}

/** When what a paused endpoint holds looks again. */
export const heldUntil = (now: Date): Date => plusMs(now, HELD_MS);

/** pending -> held, while its endpoint is paused. */
export const hold = (d: Linked, now: Date): DeliveryTransition => ({
  filter: asSeen(d),
  update: { $set: { next_try_at: heldUntil(now), "endpoint.held": true } },
});

/** pending -> exhausted: it waited for too long. */
export const outlived = (d: Linked, now: Date): DeliveryTransition => ({
  filter: asSeen(d),
  update: {
    $set: { state: "exhausted" },
    $unset: { next_try_at: 1 },
    $push: { tries: { at: now, status: null, error: "given up: it waited for a week", duration_ms: 0 } },
  },
});

/** Names what was lost before it, as long as it was never tried. */
export const nameLost = ({ _id }: Linked, lost: readonly string[]): DeliveryTransition => ({
  filter: { _id, try_count: 0 },
  update: { $set: { "endpoint.lost": lost } },
});
