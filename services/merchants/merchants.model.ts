import { Schema } from "mongoose";
import type { CalleeCap, WebhookPhoneNumber } from "../../shared/contracts/merchants.ts";
import type { SpendCeiling } from "../../shared/contracts/records/spend.ts";
import { SCHEMA_OPTIONS } from "../../shared/database/mongo.ts";
import { OUTBOX_FIELDS, OUTBOX_INDEX, type Outboxed } from "../../shared/database/object-outbox.ts";
import { spendCeilingSchema } from "./spend-ceiling.model.ts";
import { pauseSchema, type PauseDoc } from "./pauses/pause.model.ts";

/** A merchant: the business that calls; it belongs to one reseller for good. */
export interface MerchantDoc extends Outboxed {
  _id: string;
  name: string;
  /** The name as it is searched by (name-key.ts). */
  name_key: string;
  reseller_id: string;
  contact_email: string;
  is_active: boolean;
  /** Calling was stopped by a person. */
  paused: PauseDoc | null;
  /** In E.164, each once; absent: none. */
  test_numbers?: string[];
  /** Absent or null: none. */
  max_calls_per_callee?: CalleeCap | null;
  /** Absent or null: none. */
  spend_ceiling?: SpendCeiling | null;
  /** Absent: masked. */
  webhook_phone_number?: WebhookPhoneNumber;
  created_at: Date;
  updated_at: Date;
}

const calleeCapSchema = new Schema<CalleeCap>({ per_day: Number, per_week: Number }, { _id: false, strict: "throw" });

/** Collection `merchants`; owner: the merchants service. */
export const merchantSchema = new Schema<MerchantDoc>(
  {
    _id: { type: String, required: true },
    name: { type: String, required: true },
    name_key: { type: String, required: true },
    reseller_id: { type: String, required: true },
    contact_email: { type: String, required: true },
    is_active: { type: Boolean, required: true },
    paused: { type: pauseSchema, default: null },
    test_numbers: { type: [String], default: undefined },
    max_calls_per_callee: { type: calleeCapSchema, default: undefined },
    spend_ceiling: { type: spendCeilingSchema, default: undefined },
    webhook_phone_number: String,
    created_at: { type: Date, required: true },
    updated_at: { type: Date, required: true },
    ...OUTBOX_FIELDS,
  },
  SCHEMA_OPTIONS,
);

merchantSchema.index({ reseller_id: 1, created_at: -1, _id: -1 }, { name: "by_reseller" });
merchantSchema.index({ created_at: -1, _id: -1 }, { name: "newest" });
merchantSchema.index({ outbox_at: 1 }, OUTBOX_INDEX);
merchantSchema.index({ name_key: 1 }, { name: "by_name" });
merchantSchema.index({ is_active: 1, created_at: -1, _id: -1 }, { name: "by_active" });
merchantSchema.index({ reseller_id: 1, name_key: 1 }, { name: "by_reseller_name" });
merchantSchema.index({ reseller_id: 1, is_active: 1, created_at: -1, _id: -1 }, { name: "by_reseller_active" });
