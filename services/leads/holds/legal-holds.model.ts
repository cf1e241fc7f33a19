import { Schema } from "mongoose";
import type { LegalHoldRecord } from "../../../shared/contracts/requests/legal-holds.ts";
import { SCHEMA_OPTIONS } from "../../../shared/database/mongo.ts";
import { whenPresent } from "../../../shared/database/partial-indexes.ts";

/** A legal hold. It knows its number until it is lifted, and forgets it then: an erasure may follow. */
export interface LegalHoldDoc extends Pick<LegalHoldRecord, "reseller_id" | "covers" | "reason" | "put_by"> {
  _id: string;
  /** E.164; null: every number, or it was lifted. */
  phone_number: string | null;
  /** There while it is in force. */
  active?: true;
  created_at: Date;
  lifted_by: LegalHoldRecord["lifted_by"];
  lift_reason: string | null;
  lifted_at: Date | null;
}

const Free = Schema.Types.Mixed;

/** Collection `legal_holds`; owner: the leads service. */
export const legalHoldSchema = new Schema<LegalHoldDoc>(
  {
    _id: { type: String, required: true },
    reseller_id: { type: String, required: true },
    covers: { type: String, required: true },
    phone_number: { type: String, default: null },
    active: Boolean,
    reason: { type: String, required: true },
    put_by: { type: Free, required: true },
    created_at: { type: Date, required: true },
    lifted_by: { type: Free, default: null },
    lift_reason: { type: String, default: null },
    lifted_at: { type: Date, default: null },
  },
  SCHEMA_OPTIONS,
);
legalHoldSchema.index({ phone_number: 1, reseller_id: 1 }, { name: "in_force", ...whenPresent("active") });
const NEWEST = { created_at: -1, _id: -1 } as const;
legalHoldSchema.index({ ...NEWEST }, { name: "newest" });
legalHoldSchema.index({ reseller_id: 1, ...NEWEST }, { name: "by_reseller" });

/** Document -> what is shown. */
export const toLegalHold = (d: LegalHoldDoc): LegalHoldRecord => ({
  id: d._id,
  reseller_id: d.reseller_id,
  covers: d.covers,
  phone_number: d.phone_number,
  state: d.active ? "active" : "lifted",
  reason: d.reason,
  put_by: d.put_by,
  created_at: d.created_at.toISOString(),
  lifted_by: d.lifted_by,
  lift_reason: d.lift_reason,
  lifted_at: d.lifted_at?.toISOString() ?? null,
});
