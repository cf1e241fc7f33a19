import type { Model } from "mongoose";
import { updateEach } from "../../../shared/database/write-batches.ts";
import { DELIVERY_STATES, type DeliveryState } from "../../../shared/contracts/webhooks/delivery.ts";
import { newestOf, type PageFilter } from "../../../shared/page.ts";
import type { BodilessDelivery, DeliveryDoc } from "../deliveries/deliveries.model.ts";
import { deliveryQueue, type DeliveryQueue } from "../deliveries/delivery-queue.ts";
import type { Undelivered } from "../rules/chain-admission.ts";
import type { DeliveryTransition } from "../rules/delivery-state-machine.ts";

/** Reads and guarded writes of the collection `endpoint_deliveries`. */
export interface EndpointDeliveries extends DeliveryQueue {
  page(
    endpoint_id: string,
    state: DeliveryState | undefined,
    after: PageFilter,
    size: number,
  ): Promise<BodilessDelivery[]>;
  find(endpoint_id: string, id: string): Promise<BodilessDelivery | null>;
  /** Of these chains what was not delivered, without what was sent again. */
  undelivered(chains: readonly string[]): Promise<Undelivered[]>;
  /** The number of the last event of a chain before this one that was delivered; 0: none was. */
  lastDelivered(chain: string, before: number): Promise<number>;
  /** The first one of a chain behind this number that was not delivered, on its way or given up; null: there is none. */
  firstBehind(chain: string, seq: number): Promise<BodilessDelivery | null>;
  /** Has the next one of a chain sent now; null: there is none. */
  releaseNext(chain: string, behind: number, now: Date): Promise<BodilessDelivery | null>;
  /** Makes transitions, all in one request. */
  write(transitions: readonly DeliveryTransition[]): Promise<void>;
  /** Has what a paused endpoint held sent now. */
  resume(endpoint_id: string, now: Date): Promise<void>;
  /** Sends what is on its way to another address. */
  readdress(endpoint_id: string, url: string, host: string): Promise<void>;
  remove(ids: readonly string[]): Promise<void>;
  /** Removes all that was ever made for these endpoints. */
  removeOf(endpoint_ids: readonly string[]): Promise<void>;
}

const UNDELIVERED: DeliveryState[] = ["pending", "exhausted", "refused"];
/** What was sent again goes beside the order. */
const IN_ORDER = { "endpoint.replayed": { $exists: false } } as const;
const WITHOUT_BODY = { body: 0 } as const;
const OF_CHAIN = { state: 1, next_try_at: 1, endpoint: 1 } as const;

/** What comes of a chain behind a delivery, in its order. */
const chainReads = (
  model: Model<DeliveryDoc>,
): Pick<EndpointDeliveries, "undelivered" | "lastDelivered" | "firstBehind" | "releaseNext"> => ({
  undelivered: async (chains) =>
    chains.length === 0
      ? []
      : model
          .find({ "endpoint.chain": { $in: [...chains] }, ...IN_ORDER, state: { $in: UNDELIVERED } }, OF_CHAIN)
          .lean<Undelivered[]>(),
  async lastDelivered(chain, before) {
    const last = await model
      .findOne({ "endpoint.chain": chain, "endpoint.seq": { $lt: before }, ...IN_ORDER, state: "delivered" }, OF_CHAIN)
      .sort({ "endpoint.seq": -1 })
      .lean<Undelivered>();
    return last?.endpoint.seq ?? 0;
  },
  firstBehind: (chain, seq) =>
    model
      .findOne(
        { "endpoint.chain": chain, "endpoint.seq": { $gt: seq }, ...IN_ORDER, state: { $in: UNDELIVERED } },
        WITHOUT_BODY,
      )
      .sort({ "endpoint.seq": 1 })
      .lean<BodilessDelivery>(),
  releaseNext: (chain, behind, now) =>
    model
      .findOneAndUpdate(
        {
          "endpoint.chain": chain,
          "endpoint.seq": { $gt: behind },
          ...IN_ORDER,
          "endpoint.held": { $exists: false },
          state: "pending",
        },
        { $set: { next_try_at: now } },
        { returnDocument: "after", sort: { "endpoint.seq": 1 }, projection: WITHOUT_BODY },
      )
      .lean<BodilessDelivery>(),
});

/** The repository over its model. */
export function endpointDeliveries(model: Model<DeliveryDoc>): EndpointDeliveries {
  const onItsWay = (endpoint_id: string) => ({ "endpoint.id": endpoint_id, state: "pending" as const });
  return {
    ...deliveryQueue(model),
    page: (endpoint_id, state, after, size) =>
      newestOf(model, [{ "endpoint.id": endpoint_id, state: state ?? { $in: [...DELIVERY_STATES] } }, after], size),
    find: (endpoint_id, _id) =>
      model.findOne({ _id, "endpoint.id": endpoint_id }, WITHOUT_BODY).lean<BodilessDelivery>(),
    ...chainReads(model),
    write: async (transitions) => {
      if (transitions.length > 0) await updateEach(model, transitions);
    },
    async resume(endpoint_id, now) {
      await model.updateMany(
        { ...onItsWay(endpoint_id), "endpoint.held": true as const },
        { $set: { next_try_at: now }, $unset: { "endpoint.held": 1 } },
      );
    },
    async readdress(endpoint_id, url, host) {
      await model.updateMany(onItsWay(endpoint_id), { $set: { url, host } });
    },
    async remove(ids) {
      await model.deleteMany({ _id: { $in: [...ids] } });
    },
    async removeOf(endpoint_ids) {
      await model.deleteMany({ "endpoint.id": { $in: [...endpoint_ids] } });
    },
  };
}
