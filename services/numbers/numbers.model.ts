import { Schema } from "mongoose";
import type { Provider } from "../../shared/contracts/records/configuration.ts";
import { SCHEMA_OPTIONS } from "../../shared/database/mongo.ts";
import { OUTBOX_FIELDS, OUTBOX_INDEX, type Outboxed } from "../../shared/database/object-outbox.ts";
import { whenPresent } from "../../shared/database/partial-indexes.ts";

/** One reserved slot of a number. It is free again when its holder releases it, or when its lease ends at `until` (the server's time). `name`: the name its holder acts in (slot-leases.ts). */
export interface Slot {
  holder: string;
  name: string;
  until: Date;
}

/** An outbound number as it is stored. IN_USE is never stored: it follows from the slots. */
export interface NumberDoc extends Outboxed {
  _id: string;
  phone_number: string;
  provider: Provider;
  status: "AVAILABLE" | "DISABLED";
  channel: string;
  max_concurrent_calls: number;
  /** null: shared pool. */
  reseller_id: string | null;
  /** null: every merchant of the reseller. */
  merchant_id: string | null;
  /** The template that takes calls to the number; absent in numbers of older versions. */
  inbound_template_id?: string | null;
  /** ISO country of the number, to prefer a caller id from the callee's country; null where it has none. */
  country: string | null;
  slots: Slot[];
  /** null; its own id once it was deleted: no request finds it, and it is removed when its calls have ended and its events are handed over. */
  removed: string | null;
  removed_at?: Date;
  /** When a slot of it was reserved last; the epoch for a number that never was used. */
  used_at: Date;
  created_at: Date;
  updated_at: Date;
}

const slotSchema = new Schema<Slot>(
  {
    holder: { type: String, required: true },
    name: { type: String, required: true },
    until: { type: Date, required: true },
  },
  { _id: false, strict: "throw" },
);

const DRAINED_AFTER_SECONDS = 7 * 86_400;

/** Collection `numbers`; owner: the numbers service. */
export const numberSchema = new Schema<NumberDoc>(
  {
    _id: { type: String, required: true },
    phone_number: { type: String, required: true },
    provider: { type: String, required: true },
    status: { type: String, required: true },
    channel: { type: String, required: true },
    max_concurrent_calls: { type: Number, required: true },
    reseller_id: { type: String, default: null },
    merchant_id: { type: String, default: null },
    inbound_template_id: { type: String, default: null },
    country: { type: String, default: null },
    slots: { type: [slotSchema], required: true },
    removed: { type: String, default: null },
    removed_at: { type: Date },
    used_at: { type: Date, required: true },
    created_at: { type: Date, required: true },
    updated_at: { type: Date, required: true },
    ...OUTBOX_FIELDS,
  },
  SCHEMA_OPTIONS,
);

/**
 * A phone number has one owner in the deployment, whatever its provider: two providers may be one carrier account, and no number is in two accounts.
 * `removed` differs for every deleted number, so that the same phone number can be added again.
 */
numberSchema.index({ phone_number: 1, removed: 1 }, { unique: true, name: "one_owner" });
/** For deleted numbers whose last release never came, or whose events nobody took; longer than any call. */
numberSchema.index({ removed_at: 1 }, { expireAfterSeconds: DRAINED_AFTER_SECONDS });
numberSchema.index({ provider: 1, status: 1, reseller_id: 1, merchant_id: 1, used_at: 1 });
/** Unique: one holder can never have slots of two numbers, whatever races there are. */
numberSchema.index(
  { "slots.holder": 1 },
  { unique: true, ...whenPresent("slots.holder"), name: "one_line_per_holder" },
);
/** Partial, so that it holds reserved slots only. */
numberSchema.index({ "slots.name": 1 }, { ...whenPresent("slots.name"), name: "lines_by_name" });
numberSchema.index({ outbox_at: 1 }, OUTBOX_INDEX);
/** For lists: one index for every scope and every filter; the unique one serves phone numbers. */
numberSchema.index({ created_at: -1, _id: -1 });
numberSchema.index({ reseller_id: 1, created_at: -1, _id: -1 });
numberSchema.index({ merchant_id: 1, created_at: -1, _id: -1 });
numberSchema.index({ provider: 1, created_at: -1, _id: -1 });
numberSchema.index({ status: 1, created_at: -1, _id: -1 });
