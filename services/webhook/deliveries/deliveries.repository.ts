import type { Model } from "mongoose";
import type { ListFilter } from "../../../shared/bus/bus.ts";
import { within, type Scope } from "../../../shared/contracts/records/identity.ts";
import { DELIVERY_STATES } from "../../../shared/contracts/webhooks/delivery.ts";
import { PAGE_ORDER, type PageFilter } from "../../../shared/page.ts";
import type { BodilessDelivery, DeliveryDoc } from "./deliveries.model.ts";
import { deliveryQueue, type DeliveryQueue } from "./delivery-queue.ts";

/** Whose deliveries, within the scope. */
type DeliveryFilter = ListFilter<"webhook.list">;

/** Reads and guarded writes of the collection `deliveries`: the reports of leads. What a person reads takes a scope. */
export interface DeliveriesRepository extends DeliveryQueue {
  /** The deliveries of a lead, oldest first. */
  ofLead(lead_id: string, limit: number): Promise<BodilessDelivery[]>;
  /** The newest delivery of a lead. */
  lastOf(lead_id: string): Promise<BodilessDelivery | null>;
  page(scope: Scope, filter: DeliveryFilter, after: PageFilter, size: number): Promise<BodilessDelivery[]>;
}

const newestFirst = (a: BodilessDelivery, b: BodilessDelivery): number =>
  b.created_at.getTime() - a.created_at.getTime() || (a._id < b._id ? 1 : -1);

const listed = (model: Model<DeliveryDoc>, filter: Record<string, unknown>) =>
  model.find(filter, { body: 0 }).lean<BodilessDelivery[]>();

/** The repository over a mongoose model. */
export function deliveriesRepository(model: Model<DeliveryDoc>): DeliveriesRepository {
  const list = (filter: Record<string, unknown>) => listed(model, filter);
  return {
    ...deliveryQueue(model),
    ofLead: (lead_id, limit) => list({ lead_id }).sort({ created_at: 1 }).limit(limit),
    lastOf: async (lead_id) => (await list({ lead_id }).sort({ created_at: -1 }).limit(1))[0] ?? null,
    page: (scope, filter, after, size) => page(model, scope, filter, after, size),
  };
}

/** One read per state, each in the order of its index: merged, none needs sorting in the database. */
async function page(
  model: Model<DeliveryDoc>,
  scope: Scope,
  { state, ...owner }: DeliveryFilter,
  after: PageFilter,
  size: number,
): Promise<BodilessDelivery[]> {
  const states = state === undefined ? DELIVERY_STATES : [state];
  const pages = await Promise.all(
    states.map((of) =>
      listed(model, { $and: [within(scope), owner, { state: of }, after] })
        .sort(PAGE_ORDER)
        .limit(size),
    ),
  );
  return pages.flat().sort(newestFirst).slice(0, size);
}
