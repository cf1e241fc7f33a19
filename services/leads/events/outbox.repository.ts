import type { Model } from "mongoose";
import { OWES_EVENTS } from "../../../shared/database/object-outbox.ts";
import { repeatGivenUp } from "../../../shared/database/write-batches.ts";
import type { LeadDoc } from "../leads.model.ts";
import type { Owing, OwingLead } from "./published-event.ts";

/** A lead that has an outbox, and the number of the last event in it. */
export type FilledOutbox = Pick<LeadDoc, "_id" | "event_seq">;

/** Outboxes: those of the collection `leads`, or of other objects (tenant-outboxes.repository.ts), or both. */
export interface OutboxRepository {
  /** Leads with an outbox, those first that had an event longest ago. */
  owingEvents(limit: number): Promise<Owing[]>;
  /** Those of these leads that have an outbox. */
  outboxesOf(lead_ids: readonly string[]): Promise<Owing[]>;
  /** Leads with an outbox whose last events are of this time, those first that had them longest ago. */
  filledOutboxes(of: { since: Date } | { before: Date }, limit: number): Promise<FilledOutbox[]>;
  /** Empties the outboxes of these leads, whose events are in the log; not that of a lead with a further event since. How many were emptied. */
  emptyOutboxes(leads: readonly FilledOutbox[]): Promise<number>;
}

const FILLED: Record<keyof FilledOutbox, 1> = { _id: 1, event_seq: 1 };
const OWING: Record<keyof OwingLead, 1> = {
  _id: 1,
  reseller_id: 1,
  merchant_id: 1,
  template_id: 1,
  request_id: 1,
  execution_mode: 1,
  call_direction: 1,
  is_test: 1,
  phone_number: 1,
  attempt_count: 1,
  call_id: 1,
  event_seq: 1,
  outbox: 1,
};
/** Holds for outboxes that were filled at this time, as of `filledOutboxes`. */
export const filledAt = (of: { since: Date } | { before: Date }) => ({
  outbox_at: "since" in of ? { $gte: of.since } : { ...OWES_EVENTS.outbox_at, $lt: of.before },
});

/** Ids of leads by the number of their last event, in order: a write of several documents takes them in one order, whoever asks. */
function byLastEvent(leads: readonly FilledOutbox[]): Map<number | null, string[]> {
  const groups = new Map<number | null, string[]>();
  for (const { _id, event_seq = null } of leads) groups.set(event_seq, [...(groups.get(event_seq) ?? []), _id]);
  for (const ids of groups.values()) ids.sort();
  return groups;
}

/** The repository over the model. */
export const outboxRepository = (model: Model<LeadDoc>): OutboxRepository => ({
  owingEvents: (limit) => model.find(OWES_EVENTS, OWING).sort({ outbox_at: 1 }).limit(limit).lean<OwingLead[]>(),
  outboxesOf: (lead_ids) =>
    model.find({ _id: { $in: [...lead_ids] }, outbox_at: { $exists: true } }, OWING).lean<OwingLead[]>(),
  filledOutboxes: (of, limit) =>
    model.find(filledAt(of), FILLED).sort({ outbox_at: 1 }).limit(limit).lean<FilledOutbox[]>(),
  async emptyOutboxes(leads) {
    let emptied = 0;
    // leads with as many events share a statement: one each would be as many writes as there are leads
    for (const [event_seq, ids] of byLastEvent(leads)) {
      const filter = { _id: { $in: ids }, event_seq };
      emptied += (await repeatGivenUp(() => model.updateMany(filter, { $unset: { outbox: 1, outbox_at: 1 } })))
        .matchedCount;
    }
    return emptied;
  },
});
