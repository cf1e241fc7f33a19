import { Schema } from "mongoose";
import type { ErasedCounts, ErasureRecord } from "../../../shared/contracts/requests/erasures.ts";
import { ERASED_KINDS } from "../../../shared/contracts/requests/erasures.ts";
import { SCHEMA_OPTIONS } from "../../../shared/database/mongo.ts";
import { whenPresent } from "../../../shared/database/partial-indexes.ts";

/** The erasure of a number. It knows the number until it is done, and forgets it then. */
export interface ErasureDoc extends Pick<ErasureRecord, "state" | "requested_by" | "waiting" | "held_by"> {
  _id: string;
  /** Whose records; nulls: every tenant's, and those of a reseller and all its merchants. */
  reseller_id: string | null;
  merchant_id: string | null;
  /** E.164; absent once it is done. */
  phone_number?: string;
  erased: ErasedCounts;
  /** When a process takes it next; while one is at it, when that counts as gone. Absent once it is done. */
  due_at?: Date;
  /** Times it was taken: the fencing token of who has it. */
  turn: number;
  created_at: Date;
  finished_at: Date | null;
}

const Free = Schema.Types.Mixed;

/** Collection `erasures`; owner: the leads service. */
export const erasureSchema = new Schema<ErasureDoc>(
  {
    _id: { type: String, required: true },
    reseller_id: { type: String, default: null },
    merchant_id: { type: String, default: null },
    phone_number: String,
    state: { type: String, required: true },
    waiting: { type: Number, required: true },
    held_by: { type: String, default: null },
    erased: { type: Free, default: {} },
    requested_by: { type: Free, required: true },
    due_at: Date,
    turn: { type: Number, required: true },
    created_at: { type: Date, required: true },
    finished_at: { type: Date, default: null },
  },
  SCHEMA_OPTIONS,
);

// One at a time of a number and scope: who asks again gets the one under way.
erasureSchema.index(
  { phone_number: 1, reseller_id: 1, merchant_id: 1 },
  { name: "under_way", unique: true, ...whenPresent("phone_number") },
);
erasureSchema.index({ due_at: 1 }, { name: "due", ...whenPresent("due_at") });
const NEWEST = { created_at: -1, _id: -1 } as const;
erasureSchema.index({ ...NEWEST }, { name: "newest" });
erasureSchema.index({ reseller_id: 1, ...NEWEST }, { name: "by_reseller" });
erasureSchema.index({ merchant_id: 1, ...NEWEST }, { name: "by_merchant" });

/** All kinds that are counted, at nothing. */
const NONE = Object.fromEntries(ERASED_KINDS.map((kind) => [kind, 0])) as Record<(typeof ERASED_KINDS)[number], number>;

/** Document -> the report: never the number. */
export const toErasure = (d: ErasureDoc): ErasureRecord => ({
  id: d._id,
  reseller_id: d.reseller_id,
  merchant_id: d.merchant_id,
  state: d.state,
  waiting: d.waiting,
  held_by: d.held_by ?? null,
  erased: { ...NONE, ...d.erased },
  requested_by: d.requested_by,
  created_at: d.created_at.toISOString(),
  finished_at: d.finished_at?.toISOString() ?? null,
});
