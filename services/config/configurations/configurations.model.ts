import { Schema } from "mongoose";
import type { ConfigurationInput } from "../../../shared/contracts/records/configuration.ts";
import { SCHEMA_OPTIONS } from "../../../shared/database/mongo.ts";
import { OUTBOX_FIELDS, OUTBOX_INDEX, type Outboxed } from "../../../shared/database/object-outbox.ts";

/** What a client set, and nothing else: defaults are added when it is read (effective-configuration.ts), so that a deployment can change them. */
export type Settings = Omit<ConfigurationInput, "template_id">;

/** A configuration as it is kept. `settings` is JSON text, since pre-checks contain clients' free JSON. */
export interface ConfigurationDoc extends Outboxed {
  _id: string;
  reseller_id: string;
  merchant_id: string | null;
  /** Of one that was removed its own id: its template may have another. */
  template_id: string;
  settings: string;
  /** When it was removed; absent: it is there. No request finds one that was, and it goes once its events are handed over. */
  removed_at?: Date;
  created_at: Date;
  updated_at: Date;
}

/** Collection `configurations`; owner: the config service. */
export const configurationSchema = new Schema<ConfigurationDoc>(
  {
    _id: { type: String, required: true },
    reseller_id: { type: String, required: true },
    merchant_id: { type: String, default: null },
    template_id: { type: String, required: true },
    settings: { type: String, required: true },
    removed_at: Date,
    created_at: { type: Date, required: true },
    updated_at: { type: Date, required: true },
    ...OUTBOX_FIELDS,
  },
  SCHEMA_OPTIONS,
);

configurationSchema.index({ template_id: 1, reseller_id: 1 }, { unique: true, name: "one_of_a_template" });
configurationSchema.index({ outbox_at: 1 }, OUTBOX_INDEX);
/** Lists: one index for every scope and every filter. */
configurationSchema.index({ created_at: -1, _id: -1 });
configurationSchema.index({ reseller_id: 1, created_at: -1, _id: -1 });
configurationSchema.index({ merchant_id: 1, created_at: -1, _id: -1 });
configurationSchema.index({ reseller_id: 1, merchant_id: 1, created_at: -1, _id: -1 });
