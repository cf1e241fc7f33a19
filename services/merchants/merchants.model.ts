import { Schema } from "mongoose";
import { SCHEMA_OPTIONS } from "../../shared/mongo.ts";

/** A merchant: the business that calls; it belongs to one reseller for good. */
export interface MerchantDoc {
  _id: string;
  name: string;
  reseller_id: string;
  contact_email: string;
  is_active: boolean;
  created_at: Date;
  updated_at: Date;
}

/** Collection `merchants`; owner: the merchants service. */
export const merchantSchema = new Schema<MerchantDoc>({
  _id: { type: String, required: true },
  name: { type: String, required: true },
  reseller_id: { type: String, required: true },
  contact_email: { type: String, required: true },
  is_active: { type: Boolean, required: true },
  created_at: { type: Date, required: true }, updated_at: { type: Date, required: true },
}, SCHEMA_OPTIONS);

merchantSchema.index({ reseller_id: 1, created_at: -1, _id: -1 }, { name: "by_reseller" });
merchantSchema.index({ created_at: -1, _id: -1 }, { name: "newest" });
