import type { Model } from "mongoose";
import { updateEach } from "../../../shared/database/write-batches.ts";
import { LEAD_STATE, type LeadDoc, type LeadState } from "../leads.model.ts";

/** What the head of a queue is known by; without its override where that was not asked for. */
export type HeadDoc = Pick<LeadDoc, "_id" | "queue" | "template_id" | "reseller_id" | "merchant_id"> &
  Partial<Pick<LeadDoc, "configurations_override">> & { due_at: Date };
/** A due lead as the scheduler gets it. */
export type DueDoc = Pick<
  LeadDoc,
  | "_id"
  | "queue"
  | "status"
  | "due_at"
  | "created_at"
  | "aged_from"
  | "faults"
  | "reseller_id"
  | "merchant_id"
  | "template_id"
  | "phone_number"
  | "attempt_count"
  | "claim_no"
  | "execution_mode"
  | "payload_bytes"
> &
  Partial<Pick<LeadDoc, "configurations_override">>;
/** A waiting lead, as far as its queue goes. */
export type QueuedDoc = Pick<LeadDoc, "_id" | "queue" | "template_id" | "merchant_id" | "phone_number"> &
  Pick<LeadDoc, "configurations_override"> & { due_at: Date };
/** A range of queue names. */
export interface Names {
  $gt?: string;
  $gte?: string;
  $lt: string;
}

/** Whether playground leads are read with what they change of the configuration, which may be large. */
export type Overrides = "with" | "without";

/** Reads of the collection `leads` by queue, for the scheduler; and what makes queues of the leads of older versions. */
export interface QueuesRepository {
  /** The first lead that is due by then, of the first queue in the range that has one. Reads one key of the index, and one of each queue passed by. */
  head(names: Names, by: Date, overrides: Overrides): Promise<HeadDoc | null>;
  /** The longest waiting leads of a queue that are due by then. */
  dueOf(queue: string, by: Date, limit: number, overrides: Overrides): Promise<DueDoc[]>;
  /** What a lead changes of its configuration; null: nothing, or there is no such lead. */
  overrideOf(lead_id: string): Promise<LeadDoc["configurations_override"]>;
  /** Leads in PROCESSING, counted by template; by an index that contains no others. */
  inFlight(): Promise<{ template_id: string; count: number }[]>;
  /** Waiting leads of a template whose age counts from before then, the oldest first. Reads no key of others but of those in a call. */
  waitingSince(template_id: string, before: Date, limit: number): Promise<LeadState[]>;
  /** The first template behind this one that has unfinished leads, with the first of their ages; one step of the index. */
  firstToExpire(behind: string): Promise<Pick<LeadDoc, "template_id" | "expiry_from"> | null>;
  /** Gives unfinished leads of a template that an older version wrote what their age counts from, at most `limit`. */
  giveExpiry(template_id: string, from: (lead: LeadState) => Date, limit: number): Promise<void>;
  /** Puts waiting leads into other queues; those that were not in the right one. */
  requeue(lead_ids: readonly string[], right: (lead: QueuedDoc) => string): Promise<QueuedDoc[]>;
  /** Gives waiting leads that have none a queue, at most `limit`; how many had none. */
  giveQueues(nameOf: (lead: LeadState) => string, limit: number): Promise<number>;
}

const OVERRIDE = { configurations_override: 1 } as const;
const HEAD = {
  queue: 1,
  template_id: 1,
  reseller_id: 1,
  merchant_id: 1,
  due_at: 1,
} as const;
const DUE = {
  queue: 1,
  status: 1,
  due_at: 1,
  created_at: 1,
  aged_from: 1,
  faults: 1,
  reseller_id: 1,
  merchant_id: 1,
  template_id: 1,
  phone_number: 1,
  attempt_count: 1,
  claim_no: 1,
  execution_mode: 1,
  payload_bytes: 1,
} as const;
const QUEUED = {
  queue: 1,
  template_id: 1,
  merchant_id: 1,
  phone_number: 1,
  configurations_override: 1,
  due_at: 1,
} as const;
/** Every lease lies behind it: a range, so that counting needs no document, where `$exists` would read each. */
const EVER = new Date(0);

function expiryReads(model: Model<LeadDoc>) {
  return {
    waitingSince: (template_id, before, limit) =>
      model
        .find(
          {
            template_id,
            finished_at: null,
            expiry_from: { $lt: before },
            status: { $in: ["BACKLOG", "RETRY"] },
          },
          LEAD_STATE,
        )
        .sort({ expiry_from: 1 })
        .limit(limit)
        .lean<LeadState[]>(),
    firstToExpire: (behind) =>
      model
        .findOne({ template_id: { $gt: behind }, finished_at: null }, { template_id: 1, expiry_from: 1 })
        .sort({ template_id: 1, expiry_from: 1 })
        .lean<Pick<LeadDoc, "template_id" | "expiry_from">>(),
    async giveExpiry(template_id, from, limit) {
      const without = await model
        .find({ template_id, finished_at: null, expiry_from: null }, LEAD_STATE)
        .limit(limit)
        .lean<LeadState[]>();
      const given = without.map((lead) => ({
        filter: { _id: lead._id, expiry_from: null },
        update: { $set: { expiry_from: from(lead) } },
      }));
      if (given.length > 0) await updateEach(model, given);
    },
  } satisfies Partial<QueuesRepository>;
}

/** The reads over a mongoose model. */
export function queuesRepository(model: Model<LeadDoc>): QueuesRepository {
  return {
    ...expiryReads(model),
    head: (names, by, overrides) =>
      model
        .findOne({ queue: names, due_at: { $lte: by } }, { ...HEAD, ...(overrides === "with" ? OVERRIDE : {}) })
        .sort({ queue: 1, due_at: 1 })
        .lean<HeadDoc>(),
    dueOf: (queue, by, limit, overrides) =>
      model
        .find({ queue, due_at: { $lte: by } }, { ...DUE, ...(overrides === "with" ? OVERRIDE : {}) })
        .sort({ due_at: 1, _id: 1 })
        .limit(limit)
        .lean<DueDoc[]>(),
    async overrideOf(lead_id) {
      const lead = await model.findOne({ _id: lead_id }, OVERRIDE).lean<Pick<LeadDoc, "configurations_override">>();
      return lead?.configurations_override ?? null;
    },
    async inFlight() {
      const groups = await model.aggregate<{ _id: string; count: number }>([
        { $match: { lease_until: { $gt: EVER } } },
        { $group: { _id: "$template_id", count: { $sum: 1 } } },
      ]);
      return groups.map(({ _id, count }) => ({ template_id: _id, count }));
    },
    async requeue(lead_ids, right) {
      const found = await model.find({ _id: { $in: lead_ids }, due_at: { $gt: EVER } }, QUEUED).lean<QueuedDoc[]>();
      const moved = found.flatMap((lead) => (right(lead) === lead.queue ? [] : [{ ...lead, was: lead.queue, queue: right(lead) }])); // prettier-ignore
      const named = moved.map(({ _id, was, queue }) => ({ filter: { _id, queue: was }, update: { $set: { queue } } }));
      if (named.length > 0) await updateEach(model, named);
      return moved;
    },
    async giveQueues(nameOf, limit) {
      const without = await model
        .find({ queue: null, due_at: { $gt: EVER } }, LEAD_STATE)
        .limit(limit)
        .lean<LeadState[]>();
      const named = without.map((lead) => ({
        filter: { _id: lead._id, queue: null },
        update: { $set: { queue: nameOf(lead) } },
      }));
      if (named.length > 0) await updateEach(model, named);
      return named.length;
    },
  };
}
