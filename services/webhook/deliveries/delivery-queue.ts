import type { Model } from "mongoose";
import { batched } from "../../../shared/batching.ts";
import { insertNew, updateEach } from "../../../shared/database/write-batches.ts";
import type { DeliveryDoc } from "./deliveries.model.ts";
import { keyOf, receiverOf, type Receiver } from "../rules/receiver.ts";
import { giveUp, releaseWaiting, takeLease, type DeliveryTransition } from "../rules/delivery-state-machine.ts";

/** What is known of a delivery that is due before it is taken. */
export type DueDelivery = Pick<DeliveryDoc, "_id" | "next_try_at" | "try_count" | "created_at" | "endpoint">;
const DUE = { next_try_at: 1, try_count: 1, created_at: 1, endpoint: 1 } as const;

/** What of a delivery may tell of a person. */
export type DeliveryContents = Pick<DeliveryDoc, "_id" | "lead_id" | "body" | "url" | "state">;

/** Deliveries of a collection on their way: guarded writes, and reads by what is due. */
export interface DeliveryQueue {
  /** Writes those that are not there yet; true for each that was not. */
  insert(docs: readonly DeliveryDoc[]): Promise<boolean[]>;
  /** Receivers that have deliveries due, in the order of the index from behind `from` on; `next`: where to go on, null: that was all. Costs by receivers, not by what they have due. */
  receiversDue(from: Receiver | null, now: Date): Promise<{ receivers: Receiver[]; next: Receiver | null }>;
  /** The deliveries of a receiver that are due, the longest waiting first. */
  dueOf(receiver: Receiver, now: Date, limit: number): Promise<DueDelivery[]>;
  /** Takes deliveries until then, in the name `taker`; those that others took meanwhile are not among the answer. */
  take(due: readonly DueDelivery[], until: Date, taker: string): Promise<DeliveryDoc[]>;
  /** Makes a transition; those of one moment are written in one go. It does not say whether the guard held. */
  transition(transition: DeliveryTransition): Promise<void>;
  /** Makes a transition; the delivery as it is afterwards, or null when the guard no longer held. */
  transitionOne(transition: DeliveryTransition): Promise<DeliveryDoc | null>;
  /** Has what waits for the next try of its plan sent now: to this receiver, or (null) to all. */
  release(receiver: Receiver | null, now: Date): Promise<void>;
  /** Ends what has been due since before then; how many. */
  giveUp(dueBefore: Date, now: Date): Promise<number>;
  /** What the deliveries of these leads hold. */
  contentsOf(lead_ids: readonly string[]): Promise<DeliveryContents[]>;
  /** Those of these leads that have some on their way. */
  underWay(lead_ids: readonly string[]): Promise<string[]>;
  /** Those of these leads that are over, whole. */
  over(lead_ids: readonly string[]): Promise<DeliveryDoc[]>;
  /** Deletes those of these leads that are over; how many. */
  removeOver(lead_ids: readonly string[]): Promise<number>;
  /** Writes other contents, all in one request. */
  rewrite(contents: readonly DeliveryContents[]): Promise<void>;
}

/** Deliveries read to find receivers; a receiver that fills a read is passed over by the next one. */
const READ_PER_SCAN = 20;
/** Transitions of one moment that share a write. */
const TRANSITIONS_PER_WRITE = 100;

/** Those of these leads that are not on their way. */
const overOf = (lead_ids: readonly string[]) => ({
  lead_id: { $in: [...lead_ids] },
  state: { $ne: "pending" as const },
});

/** The queue over a mongoose model. */
export function deliveryQueue(model: Model<DeliveryDoc>): DeliveryQueue {
  const transitionBatched = batched(
    async (transitions: DeliveryTransition[]) => {
      await updateEach(model, transitions);
      return transitions.map(() => true);
    },
    { maxItems: TRANSITIONS_PER_WRITE },
  );
  return {
    insert: (docs) => insertNew(model, docs),
    receiversDue: (from, now) => receiversDue(model, from, now),
    dueOf: (receiver, now, limit) =>
      model
        .find({ ...receiverOf(receiver), next_try_at: { $lte: now } }, DUE)
        .sort({ next_try_at: 1 })
        .limit(limit)
        .lean<DueDelivery[]>(),
    async take(due, until, taker) {
      if (due.length === 0) return [];
      await updateEach(
        model,
        due.map((d) => takeLease(d, until, taker)),
      );
      return model.find({ _id: { $in: due.map((d) => d._id) }, taken_by: taker }).lean<DeliveryDoc[]>();
    },
    transition: async (m) => {
      await transitionBatched(m);
    },
    transitionOne: ({ filter, update }) =>
      model.findOneAndUpdate(filter, update, { returnDocument: "after" }).lean<DeliveryDoc>(),
    async release(receiver, now) {
      const m = releaseWaiting(receiver, now);
      await model.updateMany(m.filter, m.update);
    },
    async giveUp(dueBefore, now) {
      const m = giveUp(dueBefore, now);
      return (await model.updateMany(m.filter, m.update)).modifiedCount;
    },
    contentsOf: (lead_ids) =>
      model
        .find({ lead_id: { $in: [...lead_ids] } }, { lead_id: 1, body: 1, url: 1, state: 1 })
        .lean<DeliveryContents[]>(),
    underWay: (lead_ids) => model.distinct("lead_id", { lead_id: { $in: [...lead_ids] }, state: "pending" }).exec(),
    over: (lead_ids) => model.find(overOf(lead_ids)).lean<DeliveryDoc[]>(),
    removeOver: async (lead_ids) => (await model.deleteMany(overOf(lead_ids))).deletedCount,
    rewrite: async (contents) => {
      if (contents.length === 0) return;
      await updateEach(
        model,
        contents.map(({ _id, body, url }) => ({ filter: { _id }, update: { $set: { body, url } } })),
      );
    },
  };
}

/** What comes behind a receiver in the order of the index: one range each, as that is what an index is read by. null comes before every id. */
const rangesBehind = ({ host, reseller_id, merchant_id }: Receiver) => [
  { host, reseller_id, merchant_id: merchant_id === null ? { $gte: "" } : { $gt: merchant_id } },
  { host, reseller_id: { $gt: reseller_id } },
  { host: { $gt: host } },
];

async function receiversDue(
  model: Model<DeliveryDoc>,
  from: Receiver | null,
  now: Date,
): Promise<{ receivers: Receiver[]; next: Receiver | null }> {
  const found: Receiver[] = [];
  for (const range of from === null ? [{ host: { $gte: "" } }] : rangesBehind(from)) {
    if (found.length === READ_PER_SCAN) break;
    const read = await model
      .find({ ...range, next_try_at: { $lte: now } }, { _id: 0, host: 1, reseller_id: 1, merchant_id: 1 })
      .sort({ host: 1, reseller_id: 1, merchant_id: 1, next_try_at: 1 })
      .limit(READ_PER_SCAN - found.length)
      .lean<Receiver[]>();
    found.push(...read);
  }
  const receivers = [...new Map(found.map((receiver) => [keyOf(receiver), receiver])).values()];
  return { receivers, next: found.length === READ_PER_SCAN ? (receivers.at(-1) ?? null) : null };
}
