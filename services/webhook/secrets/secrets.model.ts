import { Schema } from "mongoose";
import type { StoredSecret } from "./sealed-secrets.ts";
import { SCHEMA_OPTIONS } from "../../../shared/database/mongo.ts";

/** Signing secrets of a merchant (`merchant:<id>`) or reseller (`reseller:<id>`), newest first; an older one is valid until its end, so that receivers can change over. */
export interface SecretsDoc {
  _id: string;
  secrets: StoredSecret[];
}

/** Collection `webhook_secrets`; owner: the webhook service. Secrets are sealed where SECRETS_KEY is set (shared/process/secret-seal.ts); those written before are in clear. */
export const secretsSchema = new Schema<SecretsDoc>(
  {
    _id: { type: String, required: true },
    secrets: { type: [{ _id: false, value: String, valid_until: Date }], required: true },
  },
  SCHEMA_OPTIONS,
);
