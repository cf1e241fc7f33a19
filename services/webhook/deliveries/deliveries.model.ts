import { Schema } from "mongoose";
import { SCHEMA_OPTIONS } from "../../../shared/database/mongo.ts";
import type { DeliveryRecord, DeliveryState, ListedDelivery } from "../../../shared/contracts/webhook.ts";

/**
 * A webhook event on its way. `_id` is the webhook-id, stable over all tries; `body` the exact bytes, written once. `next_try_at` is absent once
 * it is over.
 */
export interface DeliveryDoc {
  _id: string;
  lead_id: string;
  reseller_id: string;
  merchant_id: string | null;
  url: string;
  host: string;
  body: string;
  state: DeliveryState;
  try_count: number;
  next_try_at?: Date;
  /** When its plan has the next try. It may be due sooner, to probe a host that is down; a failure of that is no try of the plan. Absent until a try failed. */
  planned_at?: Date;
  /** Who took it last: names one taking of several deliveries. */
  taken_by?: string;
  /** Tries that do not count in the plan: those of the rounds before this one, and failed probes. Absent: none. */
  tries_before?: number;
  tries: { at: Date; status: number | null; error: string | null; duration_ms: number }[];
  created_at: Date;
}

/** Collection `deliveries`; owner: the webhook service. */
export const deliverySchema = new Schema<DeliveryDoc>(
  {
    _id: { type: String, required: true },
    lead_id: { type: String, required: true },
    reseller_id: { type: String, required: true },
    merchant_id: { type: String, default: null },
    url: { type: String, required: true },
    host: { type: String },
    body: { type: String, required: true },
    state: { type: String, required: true },
    try_count: { type: Number, required: true },
    next_try_at: Date,
    planned_at: Date,
    taken_by: String,
    tries_before: Number,
    tries: { type: [{ _id: false, at: Date, status: Number, error: String, duration_ms: Number }], default: [] },
    created_at: { type: Date, required: true },
  },
  SCHEMA_OPTIONS,
);
const NEWEST = { created_at: -1, _id: -1 } as const;
// By receiver first: what one has due costs nothing to reads of another's. In its place 0.2.0 read by `due_by_host`, which 0.4.0 drops.
deliverySchema.index(
  { host: 1, reseller_id: 1, merchant_id: 1, next_try_at: 1 },
  { name: "due_by_receiver", partialFilterExpression: { next_try_at: { $exists: true } } },
);
deliverySchema.index({ lead_id: 1, created_at: 1 }, { name: "by_lead" });
deliverySchema.index({ state: 1, ...NEWEST }, { name: "by_state" });
deliverySchema.index({ reseller_id: 1, state: 1, ...NEWEST }, { name: "by_reseller" });
deliverySchema.index({ merchant_id: 1, state: 1, ...NEWEST }, { name: "by_merchant" });

/** A delivery without the bytes it carries. */
export type BodilessDelivery = Omit<DeliveryDoc, "body">;

/** Document -> what a lead's list shows. */
export const toDelivery = (d: BodilessDelivery, host_paused_until: Date | null): DeliveryRecord => ({
  id: d._id,
  lead_id: d.lead_id,
  url: d.url,
  state: d.state,
  next_try_at: d.next_try_at?.toISOString() ?? null,
  ...(d.state === "pending" && host_paused_until ? { host_paused_until: host_paused_until.toISOString() } : {}),
  tries: d.tries.map((t) => ({ ...t, at: new Date(t.at).toISOString() })),
  created_at: d.created_at.toISOString(),
});

/** Document -> what the list of all shows. */
export const toListed = (d: BodilessDelivery, host_paused_until: Date | null): ListedDelivery => ({
  ...toDelivery(d, host_paused_until),
  reseller_id: d.reseller_id,
  merchant_id: d.merchant_id,
});
