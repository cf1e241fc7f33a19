import { Schema } from "mongoose";
import type { Static } from "../contracts/define.ts";
import type { EVENTS, TenantEventName } from "../contracts/events/catalogue.ts";
import { whenPresent } from "./partial-indexes.ts";

/*
 * Events of a tenant's object (a number, say) in the object's own document: the write that changes it counts `event_seq` and appends to `outbox`, so that no
 * change is without its event, and no event without its change. outbox-hand-over.ts has the leads service take them, which publishes them.
 */

/** Whose an event is. Without a reseller it is the deployment's, for admins alone. */
export interface EventOwner {
  reseller_id: string | null;
  merchant_id: string | null;
  /** The template that it is about; absent: none. */
  template_id?: string | null;
}

/** An event as the write that makes it leaves it in the object: whose the object is, or was, may be another's by the time it is published. */
export interface ObjectEvent extends Required<EventOwner> {
  type: TenantEventName;
  at: Date;
  data: Record<string, unknown>;
}

/** What a document with an outbox has beside its own. Absent: it has had no event yet, or all are handed over. */
export interface Outboxed {
  /** The number of its last event. */
  event_seq?: number;
  /** Its last events, which are not handed over as far as is known; the last one has the number `event_seq`, each before it one less. */
  outbox?: ObjectEvent[];
  /** When the last write came that made some. */
  outbox_at?: Date;
}

/** The fields of a schema. */
export const OUTBOX_FIELDS = {
  event_seq: Number,
  outbox: { type: [Schema.Types.Mixed], default: undefined },
  outbox_at: Date,
} as const;

/** The options of the index by which documents with an outbox are found: `schema.index({ outbox_at: 1 }, OUTBOX_INDEX)`. */
export const OUTBOX_INDEX = { name: "owing_events", ...whenPresent("outbox_at") };

/** Holds for documents with an outbox: a range, which an index of `outbox_at` serves. */
export const OWES_EVENTS = { outbox_at: { $gt: new Date(0) } } as const;

/** Holds for documents whose events are all handed over. */
export const OWES_NO_EVENT = { outbox_at: null } as const;

/** An event of this type. */
export const objectEvent = <N extends TenantEventName>(
  type: N,
  at: Date,
  { reseller_id, merchant_id, template_id = null }: EventOwner,
  data: Static<(typeof EVENTS)[N]["data"]>,
): ObjectEvent => ({ type, at, reseller_id, merchant_id, template_id, data: { ...data } });

/** What a new document has of its first events. */
export const firstEvents = (events: readonly ObjectEvent[]): Outboxed => {
  const at = events.at(-1)?.at;
  return at === undefined ? {} : { event_seq: events.length, outbox: [...events], outbox_at: at };
};

/** An update with the events that it makes. */
export function withEvents<U extends { $set?: object }>(update: U, events: readonly ObjectEvent[]) {
  const at = events.at(-1)?.at;
  if (at === undefined) return update;
  return {
    ...update,
    $set: { ...update.$set, outbox_at: at },
    $inc: { event_seq: events.length },
    $push: { outbox: { $each: [...events] } },
  };
}

/** Holds for a document that had no event since it was read: every change makes one, so that it is as it was. */
export const asOfEvents = ({ event_seq }: Outboxed): { event_seq: number | null } => ({ event_seq: event_seq ?? null });
