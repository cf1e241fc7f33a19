import { Schema } from "mongoose";
import { SCHEMA_OPTIONS } from "../../shared/database/mongo.ts";

/** A listed number as it is kept. `_id` is `<reseller or *>:<e164>`, of a wish `wish:<reseller>/<merchant>:<e164>`, of an erased number `erased:<reseller or *>/<merchant>:<hash>`, so that a number can be listed once per lister and a check reads by id only. */
export interface EntryDoc {
  _id: string;
  /** null: listed by an admin, applies to every reseller. */
  reseller_id: string | null;
  /** E.164; of an erased number its hash (shared/privacy/number-hash.ts). */
  phone_number: string;
  /** Id of the person or token that listed it. */
  listed_by: string;
  created_at: Date;
  /** A callee's wish, not somebody's list: for the merchant whose lead it was (null: for the reseller's own templates). Or an erasure (merchant absent: for the reseller and all its merchants). */
  source?: "callee" | "erasure";
  merchant_id?: string | null;
  lead_id?: string;
}

/** Collection `blacklist`; owner: the blacklist service. */
export const entrySchema = new Schema<EntryDoc>(
  {
    _id: { type: String, required: true },
    reseller_id: { type: String, default: null },
    phone_number: { type: String, required: true },
    listed_by: { type: String, required: true },
    created_at: { type: Date, required: true },
    source: String,
    merchant_id: String,
    lead_id: String,
  },
  SCHEMA_OPTIONS,
);

entrySchema.index({ created_at: -1, _id: -1 });
entrySchema.index({ reseller_id: 1, created_at: -1, _id: -1 });
entrySchema.index({ phone_number: 1 });
