import { Schema } from "mongoose";
import type { SecretRecord } from "../../../shared/contracts/records/secret.ts";
import { SCHEMA_OPTIONS } from "../../../shared/database/mongo.ts";

/** A client's secret, by its name within a merchant or reseller. */
export interface ClientSecretDoc {
  _id: string;
  reseller_id: string;
  merchant_id: string | null;
  name: string;
  /** Sealed (shared/process/secret-seal.ts) for this owner and name. */
  sealed: string;
  created_at: Date;
  updated_at: Date;
}

/** Collection `secrets`; owner: the config service. */
export const clientSecretSchema = new Schema<ClientSecretDoc>(
  {
    _id: { type: String, required: true },
    reseller_id: { type: String, required: true },
    merchant_id: { type: String, default: null },
    name: { type: String, required: true },
    sealed: { type: String, required: true },
    created_at: { type: Date, required: true },
    updated_at: { type: Date, required: true },
  },
  SCHEMA_OPTIONS,
);
clientSecretSchema.index({ reseller_id: 1, merchant_id: 1, name: 1 }, { unique: true, name: "one_of_a_name" });
clientSecretSchema.index({ created_at: -1, _id: -1 }, { name: "newest" });
clientSecretSchema.index({ reseller_id: 1, merchant_id: 1, created_at: -1, _id: -1 }, { name: "newest_of_owner" });

/** What a secret's value is sealed for: no other owner or name opens it. */
export const contextOf = ({
  reseller_id,
  merchant_id,
  name,
}: Pick<ClientSecretDoc, "reseller_id" | "merchant_id" | "name">): string =>
  JSON.stringify(["secret", reseller_id, merchant_id, name]);

/** Document -> what is shown. */
export const toSecret = (d: ClientSecretDoc): SecretRecord => ({
  name: d.name,
  reseller_id: d.reseller_id,
  merchant_id: d.merchant_id,
  created_at: d.created_at.toISOString(),
  updated_at: d.updated_at.toISOString(),
});
