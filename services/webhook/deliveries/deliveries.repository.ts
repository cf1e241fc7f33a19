import type { Model } from "mongoose";
import { within, type Scope } from "../../../shared/contracts/identity.ts";
import { DELIVERY_STATES, type DeliveryState } from "../../../shared/contracts/webhook.ts";
import { joining } from "../../../shared/joining.ts";
import { PAGE_ORDER, type PageFilter } from "../../../shared/page.ts";
import { insertNew } from "../../../shared/unordered-insert.ts";
import type { BodilessDelivery, DeliveryDoc } from "./deliveries.model.ts";
import { giveUp, takeLease, type DeliveryTransition } from "../rules/delivery-state-machine.ts";

/** What taking a delivery must know of it. */
export type DueDelivery = Pick<DeliveryDoc, "_id" | "next_try_at">;
/** Whose deliveries, within the scope. */
export interface ListFilter {
  state: DeliveryState | undefined;
  reseller_id: string | undefined;
  merchant_id: string | undefined;
}

/** Reads and guarded writes of the collection `deliveries`. What a person reads takes a scope. */
export interface DeliveriesRepository {
  /** Writes those that are not there yet; true for each that was not. */
  insert(docs: readonly DeliveryDoc[]): Promise<boolean[]>;
  /** Hosts that have deliveries due, in the order of their names from `from` on; `next`: where to go on, null: that was all. Costs by hosts, not by what they have due. */
  hostsDue(from: string | null, now: Date): Promise<{ hosts: string[]; next: string | null }>;
  /** The deliveries of a host that are due, the longest waiting first. */
  dueOf(host: string, now: Date, limit: number): Promise<DueDelivery[]>;
  /** Takes deliveries until then, in the name `taker`; those that others took meanwhile are not among the answer. */
  take(due: readonly DueDelivery[], until: Date, taker: string): Promise<DeliveryDoc[]>;
  /** Runs a move; moves of one moment are written in one go. Whether its guard held is not told. */
  transition(transitionAlone: DeliveryTransition): Promise<void>;
  /** Runs a move; the delivery as it is afterwards, or null when the guard no longer held. */
  move(move: DeliveryTransition): Promise<DeliveryDoc | null>;
  /** Ends what has been due since before then; how many. */
  giveUp(dueBefore: Date, now: Date): Promise<number>;
  /** The deliveries of a lead, oldest first. */
  ofLead(lead_id: string, limit: number): Promise<BodilessDelivery[]>;
  /** The newest delivery of a lead. */
  lastOf(lead_id: string): Promise<BodilessDelivery | null>;
  page(scope: Scope, filter: ListFilter, after: PageFilter, size: number): Promise<BodilessDelivery[]>;
}

/** Deliveries looked at to find hosts; a host that fills a look is stepped over by the next one. */
const HOSTS_PER_SCAN = 20;
/** Moves of one moment that go to the database together. */
const TRANSITIONS_PER_WRITE = 100;

const newestFirst = (a: BodilessDelivery, b: BodilessDelivery): number =>
  b.created_at.getTime() - a.created_at.getTime() || (a._id < b._id ? 1 : -1);

/** The repository over a mongoose model. */
export function deliveriesRepository(model: Model<DeliveryDoc>): DeliveriesRepository {
  const writeAll = (moves: readonly DeliveryTransition[]) =>
    model.bulkWrite(
      moves.map(({ filter, update }) => ({ updateOne: { filter, update } })),
      { ordered: false },
    );
  const transitionBatched = joining(async (moves: DeliveryTransition[]) => {
    await writeAll(moves);
    return moves.map(() => true);
  }, TRANSITIONS_PER_WRITE);
  const list = (filter: Record<string, unknown>) => model.find(filter, { body: 0 }).lean<BodilessDelivery[]>();
  return {
    insert: (docs) => insertNew(model, docs),
    async hostsDue(from, now) {
      const looked = await model
        .find({ host: from === null ? { $gte: "" } : { $gt: from }, next_try_at: { $lte: now } }, { _id: 0, host: 1 })
        .sort({ host: 1, next_try_at: 1 })
        .limit(HOSTS_PER_SCAN)
        .lean<{ host: string }[]>();
      const hosts = [...new Set(looked.map((d) => d.host))];
      return { hosts, next: looked.length === HOSTS_PER_SCAN ? (hosts.at(-1) ?? null) : null };
    },
    dueOf: (host, now, limit) =>
      model
        .find({ host, next_try_at: { $lte: now } }, { next_try_at: 1 })
        .sort({ next_try_at: 1 })
        .limit(limit)
        .lean<DueDelivery[]>(),
    async take(due, until, taker) {
      if (due.length === 0) return [];
      await writeAll(due.map((d) => takeLease(d, until, taker)));
      return model.find({ _id: { $in: due.map((d) => d._id) }, taken_by: taker }).lean<DeliveryDoc[]>();
    },
    transition: async (m) => {
      await transitionBatched(m);
    },
    move: (m) => model.findOneAndUpdate(m.filter, m.update, { returnDocument: "after" }).lean<DeliveryDoc>(),
    async giveUp(dueBefore, now) {
      const m = giveUp(dueBefore, now);
      return (await model.updateMany(m.filter, m.update)).modifiedCount;
    },
    ofLead: (lead_id, limit) => list({ lead_id }).sort({ created_at: 1 }).limit(limit),
    lastOf: async (lead_id) => (await list({ lead_id }).sort({ created_at: -1 }).limit(1))[0] ?? null,
    async page(scope, { state, ...owners }, after, size) {
      const owner = Object.fromEntries(Object.entries(owners).filter(([, id]) => id !== undefined));
      const states = state === undefined ? DELIVERY_STATES : [state];
      // One read per state, each in the order of its index: merged, none needs sorting in the database.
      const pages = await Promise.all(
        states.map((of) =>
          list({ $and: [within(scope), owner, { state: of }, after] })
            .sort(PAGE_ORDER)
            .limit(size),
        ),
      );
      return pages.flat().sort(newestFirst).slice(0, size);
    },
  };
}
