import { Schema } from "mongoose";
import type { Provider } from "../../../shared/contracts/records/configuration.ts";
import type { SpendCeilings } from "../../../shared/contracts/records/spend.ts";
import type { InboundPlan } from "../../../shared/contracts/config.ts";
import type { BlockReason, InboundVerdict } from "../../../shared/contracts/records/inbound.ts";
import { SCHEMA_OPTIONS } from "../../../shared/database/mongo.ts";
import { whenText } from "../../../shared/database/partial-indexes.ts";

/**
 * An inbound call as it is stored, accepted or blocked. `_id` follows from the carrier's name for it, so that a repeated webhook is one call; an
 * accepted one's lead has it too.
 */
export interface InboundCallDoc {
  _id: string;
  provider: Provider;
  carrier_call_id: string;
  /** The caller; null: withheld. */
  from: string | null;
  to: string;
  /** Its route; nulls: the number has no owner. */
  number_id: string | null;
  reseller_id: string | null;
  merchant_id: string | null;
  template_id: string | null;
  /** The template and configuration as they stood when it was judged. */
  plan: InboundPlan | null;
  /** The ceilings that it counts for, as they stood then; absent: none. */
  spend_ceilings?: SpendCeilings;
  created_at: Date;
  /** Absent until it was judged. */
  verdict?: InboundVerdict;
  reason?: BlockReason;
  judged_at?: Date;
  /** The carrier got the answer, or the command. */
  settled_at?: Date;
  lead_id?: string;
}

/** How long inbound calls are kept. */
export const KEPT_SECONDS = 90 * 24 * 3600;

const Free = Schema.Types.Mixed;

/** Collection `inbound_calls`; owner: the dialer. */
export const inboundCallSchema = new Schema<InboundCallDoc>(
  {
    _id: { type: String, required: true },
    provider: { type: String, required: true },
    carrier_call_id: { type: String, required: true },
    from: { type: String, default: null },
    to: { type: String, required: true },
    number_id: { type: String, default: null },
    reseller_id: { type: String, default: null },
    merchant_id: { type: String, default: null },
    template_id: { type: String, default: null },
    plan: { type: Free, default: null },
    spend_ceilings: Free,
    created_at: { type: Date, required: true },
    verdict: String,
    reason: String,
    judged_at: Date,
    settled_at: Date,
    lead_id: String,
  },
  SCHEMA_OPTIONS,
);

inboundCallSchema.index({ created_at: 1 }, { name: "kept", expireAfterSeconds: KEPT_SECONDS });
/** Calls of one caller within a window. */
inboundCallSchema.index({ template_id: 1, from: 1, created_at: -1, _id: -1 }, { name: "of_caller" });
/** All calls of one caller: what an erasure looks for. */
inboundCallSchema.index({ from: 1 }, { name: "by_caller", ...whenText("from") });
/** Lists: newest first within a scope and filter. */
const NEWEST = { created_at: -1, _id: -1 } as const;
inboundCallSchema.index({ ...NEWEST }, { name: "newest" });
inboundCallSchema.index({ reseller_id: 1, ...NEWEST }, { name: "by_reseller" });
inboundCallSchema.index({ merchant_id: 1, ...NEWEST }, { name: "by_merchant" });
inboundCallSchema.index({ template_id: 1, ...NEWEST }, { name: "by_template" });
inboundCallSchema.index({ reseller_id: 1, verdict: 1, ...NEWEST }, { name: "by_reseller_verdict" });
inboundCallSchema.index({ verdict: 1, ...NEWEST }, { name: "by_verdict" });
