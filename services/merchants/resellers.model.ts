import { Schema } from "mongoose";
import type { SpendCeiling } from "../../shared/contracts/records/spend.ts";
import { SCHEMA_OPTIONS } from "../../shared/database/mongo.ts";
import { spendCeilingSchema } from "./spend-ceiling.model.ts";

/** A reseller, the top of the scope tree. */
export interface ResellerDoc {
  _id: string;
  name: string;
  /** The name as it is searched by (name-key.ts). */
  name_key: string;
  is_active: boolean;
  /** Absent or null: none. */
  spend_ceiling?: SpendCeiling | null;
  created_at: Date;
  updated_at: Date;
}

/** Collection `resellers`; owner: the merchants service. */
export const resellerSchema = new Schema<ResellerDoc>(
  {
    _id: { type: String, required: true },
    name: { type: String, required: true },
    name_key: { type: String, required: true },
    is_active: { type: Boolean, required: true },
    spend_ceiling: { type: spendCeilingSchema, default: undefined },
    created_at: { type: Date, required: true },
    updated_at: { type: Date, required: true },
  },
  SCHEMA_OPTIONS,
);

resellerSchema.index({ created_at: -1, _id: -1 }, { name: "newest" });
resellerSchema.index({ name_key: 1 }, { name: "by_name" });
resellerSchema.index({ is_active: 1, created_at: -1, _id: -1 }, { name: "by_active" });
