import { Schema } from "mongoose";
import { SCHEMA_OPTIONS } from "../../shared/mongo.ts";
import type { DeliveryRecord } from "../../shared/contracts/webhook.ts";

/** A report on its way. `_id` is the webhook-id, stable over all tries; `body` the exact bytes, written once. `next_try_at` is absent once it is over. */
export interface DeliveryDoc {
  _id: string; lead_id: string; reseller_id: string; merchant_id: string | null; url: string; host: string; body: string;
  state: DeliveryRecord["state"]; try_count: number; next_try_at?: Date;
  /** Tries of the rounds before this one; absent in the first. */
  tries_before?: number;
  tries: { at: Date; status: number | null; error: string | null; duration_ms: number }[]; created_at: Date;
}

/** Collection `deliveries`; owner: the webhook service. */
export const deliverySchema = new Schema<DeliveryDoc>({
  _id: { type: String, required: true }, lead_id: { type: String, required: true }, reseller_id: { type: String, required: true },
  merchant_id: { type: String, default: null }, url: { type: String, required: true }, host: { type: String, required: true }, body: { type: String, required: true },
  state: { type: String, required: true }, try_count: { type: Number, required: true }, next_try_at: Date, tries_before: Number,
  tries: { type: [{ _id: false, at: Date, status: Number, error: String, duration_ms: Number }], default: [] }, created_at: { type: Date, required: true },
}, SCHEMA_OPTIONS);
deliverySchema.index({ next_try_at: 1 }, { name: "due", partialFilterExpression: { next_try_at: { $exists: true } } });
deliverySchema.index({ lead_id: 1, created_at: 1 }, { name: "by_lead" });

/** Document -> what is listed. */
export const toDelivery = (d: DeliveryDoc): DeliveryRecord => ({
  id: d._id, lead_id: d.lead_id, url: d.url, state: d.state, next_try_at: d.next_try_at?.toISOString() ?? null,
  tries: d.tries.map((t) => ({ ...t, at: new Date(t.at).toISOString() })), created_at: d.created_at.toISOString(),
});
