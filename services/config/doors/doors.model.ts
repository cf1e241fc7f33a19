import { Schema } from "mongoose";
import type { DoorRecord } from "../../../shared/contracts/records/session.ts";
import { SCHEMA_OPTIONS } from "../../../shared/database/mongo.ts";

/** A door: by its key, visitors of its websites begin sessions of its template. */
export interface DoorDoc {
  _id: string;
  key: string;
  reseller_id: string;
  merchant_id: string | null;
  template_id: string;
  origins: string[];
  calls_per_address_hour: number;
  calls_per_origin_hour: number;
  calls_per_day: number | null;
  created_at: Date;
}

/** How often a door was used in one window, by the name of both. */
export interface DoorUseDoc {
  _id: string;
  count: number;
  expires_at: Date;
}

/** Collection `doors`; owner: the config service. */
export const doorSchema = new Schema<DoorDoc>(
  {
    _id: { type: String, required: true },
    key: { type: String, required: true },
    reseller_id: { type: String, required: true },
    merchant_id: { type: String, default: null },
    template_id: { type: String, required: true },
    origins: { type: [String], required: true },
    calls_per_address_hour: { type: Number, required: true },
    calls_per_origin_hour: { type: Number, required: true },
    calls_per_day: { type: Number, default: null },
    created_at: { type: Date, required: true },
  },
  SCHEMA_OPTIONS,
);
doorSchema.index({ key: 1 }, { unique: true, name: "by_key" });
doorSchema.index({ template_id: 1 }, { name: "of_template" });
doorSchema.index({ created_at: -1, _id: -1 }, { name: "newest" });
doorSchema.index({ reseller_id: 1, merchant_id: 1, created_at: -1, _id: -1 }, { name: "newest_of_owner" });

/** Collection `door_uses`; owner: the config service. */
export const doorUseSchema = new Schema<DoorUseDoc>(
  {
    _id: { type: String, required: true },
    count: { type: Number, required: true },
    expires_at: { type: Date, required: true },
  },
  SCHEMA_OPTIONS,
);
doorUseSchema.index({ expires_at: 1 }, { name: "expired", expireAfterSeconds: 0 });

/** Document -> what is shown. */
export const toDoor = ({ _id: id, created_at, ...d }: DoorDoc): DoorRecord => ({
  id,
  key: d.key,
  reseller_id: d.reseller_id,
  merchant_id: d.merchant_id,
  template_id: d.template_id,
  origins: d.origins,
  calls_per_address_hour: d.calls_per_address_hour,
  calls_per_origin_hour: d.calls_per_origin_hour,
  calls_per_day: d.calls_per_day,
  created_at: created_at.toISOString(),
});
