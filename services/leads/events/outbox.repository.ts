import type { Model } from "mongoose";
import { updateEach } from "../../../shared/database/write-batches.ts";
import type { LeadDoc } from "../leads.model.ts";
import type { OwingLead } from "./published-event.ts";

/** The outboxes of the collection `leads`. */
export interface OutboxRepository {
  /** Leads with events that are not in the log, or were not found to be there, those first that have had them for longest. */
  owingEvents(limit: number): Promise<OwingLead[]>;
  /** Empties the outboxes of these leads, whose events are in the log; not that of a lead with a further event since. How many were emptied. */
  emptyOutboxes(leads: readonly OwingLead[]): Promise<number>;
}

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
/** Every outbox was filled after it: a range, which the index of leads with one serves. */
const EVER = new Date(0);

/** The repository over the model. */
export const outboxRepository = (model: Model<LeadDoc>): OutboxRepository => ({
  owingEvents: (limit) =>
    model
      .find({ outbox_at: { $gt: EVER } }, OWING)
      .sort({ outbox_at: 1 })
      .limit(limit)
      .lean<OwingLead[]>(),
  emptyOutboxes: (leads) =>
    updateEach(
      model,
      leads.map(({ _id, event_seq }) => ({
        filter: { _id, event_seq: event_seq ?? null },
        update: { $unset: { outbox: 1, outbox_at: 1 } },
      })),
    ),
});
