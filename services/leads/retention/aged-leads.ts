import type { Model } from "mongoose";
import { MAX_COUNTED_AGED, type RetentionKind } from "../../../shared/contracts/requests/retention.ts";
import type { LeadDoc } from "../leads.model.ts";
import { IS_OVER } from "../rules/lead-erasure.ts";
import type { FoldableLead } from "./lead-fold.ts";
import type { EndedAt } from "./retentions.model.ts";

/** What of a lead that is old enough a run needs. */
export type AgedLead = Pick<
  LeadDoc,
  "_id" | "merchant_id" | "phone_number" | "outbox_at" | "report_due_at" | "call_end"
> & {
  finished_at: Date;
};

/** The leads of resellers in the order of their ends. */
export interface AgedLeads {
  /** Those that ended before then, behind a place. */
  next(reseller_id: string, after: EndedAt, before: Date, limit: number): Promise<AgedLead[]>;
  /** How many of those that ended in the period, but those of these numbers, have something of the kind left, counted to one more than MAX_COUNTED_AGED. */
  count(
    reseller_id: string,
    kind: RetentionKind,
    period: { from: Date; before: Date },
    held: readonly string[],
  ): Promise<number>;
  /** Those of these leads that are over, and owe nothing, with what their figures are made of. */
  foldable(lead_ids: readonly string[]): Promise<FoldableLead[]>;
  /** Those of these leads that are over, and owe nothing, whole. */
  whole(lead_ids: readonly string[]): Promise<LeadDoc[]>;
  /** Deletes these leads, whose fold is written; how many there still were. What the other services had of them is gone, so that nothing is told of them any more. */
  remove(lead_ids: readonly string[]): Promise<number>;
}

/** Nothing of these leads is owed any more. */
export const owesNothing = ({ outbox_at, report_due_at, call_end }: AgedLead): boolean =>
  outbox_at === undefined && report_due_at === undefined && call_end === undefined;

const AGED = { merchant_id: 1, phone_number: 1, finished_at: 1, outbox_at: 1, report_due_at: 1, call_end: 1 } as const;
const FOLDABLE = {
  merchant_id: 1,
  template_id: 1,
  template: 1,
  outcome: 1,
  is_test: 1,
  attempt_count: 1,
  answered_count: 1,
  talk_seconds: 1,
  costs: 1,
  created_at: 1,
  "meta.do_not_call": 1,
} as const;
/** By the lead alone it can't be told which calls were recorded: a former attempt's may have been. Those that were never dialled have none. */
const LEFT: Record<RetentionKind, Record<string, unknown>> = {
  recordings: { recording_url: { $ne: null } },
  transcripts: { "meta.transcription.0": { $exists: true } },
  deliveries: { "payload.reporting_webhook_url": { $gt: "" } },
  leads: {},
};

/** Those of these leads that are over. */
const overOf = (lead_ids: readonly string[]) => ({
  _id: { $in: [...lead_ids] },
  finished_at: { $ne: null },
  ...IS_OVER,
});

/** Reads them by the index on the reseller and the end (leads.model.ts). */
export const agedLeads = (model: Model<LeadDoc>): AgedLeads => ({
  next: (reseller_id, { finished_at, lead_id }, before, limit) =>
    model
      .find(
        {
          reseller_id,
          finished_at: { $gte: finished_at, $lt: before },
          $or: [{ finished_at: { $gt: finished_at } }, { _id: { $gt: lead_id } }],
        },
        AGED,
      )
      .sort({ finished_at: 1, _id: 1 })
      .limit(limit)
      .lean<AgedLead[]>(),
  count: (reseller_id, kind, { from, before }, held) =>
    model.countDocuments(
      {
        reseller_id,
        finished_at: { $gte: from, $lt: before },
        ...LEFT[kind],
        ...(held.length === 0 ? {} : { phone_number: { $nin: [...held] } }),
      },
      { limit: MAX_COUNTED_AGED + 1 },
    ),
  foldable: (lead_ids) => model.find(overOf(lead_ids), FOLDABLE).lean<FoldableLead[]>(),
  whole: (lead_ids) => model.find(overOf(lead_ids)).lean<LeadDoc[]>(),
  remove: async (lead_ids) =>
    (await model.deleteMany({ _id: { $in: [...lead_ids] }, finished_at: { $ne: null } })).deletedCount,
});
