import { Schema } from "mongoose";
import type { EventName } from "../../../shared/contracts/events/catalogue.ts";
import type { EndpointRecord } from "../../../shared/contracts/webhooks/webhook-endpoint.ts";
import { SCHEMA_OPTIONS } from "../../../shared/database/mongo.ts";
import type { StoredSecret } from "../secrets/sealed-secrets.ts";

/**
 * Where a tenant hears of events. Its secrets, newest first, stand in the document itself: neither is there without the other. `slot` is its place
 * among those of its owner: the unique index on it is the limit of how many there may be.
 */
export interface EndpointDoc {
  _id: string;
  reseller_id: string;
  /** null: the reseller's own; it hears of all its merchants. */
  merchant_id: string | null;
  owner: string;
  slot: number;
  url: string;
  types: EventName[];
  paused: boolean;
  /** Sealed where SECRETS_KEY is set. */
  secrets: StoredSecret[];
  /** The position of the log of events behind which it hears. */
  after_position: number;
  created_at: Date;
  updated_at: Date;
}

/** Collection `webhook_endpoints`; owner: the webhook service. */
export const endpointSchema = new Schema<EndpointDoc>(
  {
    _id: { type: String, required: true },
    reseller_id: { type: String, required: true },
    merchant_id: { type: String, default: null },
    owner: { type: String, required: true },
    slot: { type: Number, required: true },
    url: { type: String, required: true },
    types: { type: [String], required: true },
    paused: { type: Boolean, required: true },
    secrets: { type: [{ _id: false, value: String, valid_until: Date }], required: true },
    after_position: { type: Number, default: 0 },
    created_at: { type: Date, required: true },
    updated_at: { type: Date, required: true },
  },
  SCHEMA_OPTIONS,
);
endpointSchema.index({ owner: 1, slot: 1 }, { name: "slot_of_owner", unique: true });
endpointSchema.index({ reseller_id: 1, created_at: -1, _id: -1 }, { name: "by_reseller" });
endpointSchema.index({ merchant_id: 1, created_at: -1, _id: -1 }, { name: "by_merchant" });
endpointSchema.index({ created_at: -1, _id: -1 }, { name: "newest" });
endpointSchema.index({ after_position: 1 }, { name: "by_position" });

/** Document -> what is shown: never a secret. */
export const toEndpoint = (d: EndpointDoc): EndpointRecord => ({
  id: d._id,
  reseller_id: d.reseller_id,
  merchant_id: d.merchant_id,
  url: d.url,
  types: d.types,
  paused: d.paused,
  secret_expires_at: d.secrets.at(1)?.valid_until?.toISOString() ?? null,
  created_at: d.created_at.toISOString(),
  updated_at: d.updated_at.toISOString(),
});
