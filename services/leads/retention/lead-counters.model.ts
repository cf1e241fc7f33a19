import { Schema } from "mongoose";
import { SCHEMA_OPTIONS } from "../../../shared/database/mongo.ts";

/** Sums over leads of one template that were created on one day and ended with one outcome. */
export interface CounterSum {
  merchant_id: string | null;
  template_id: string;
  /** Name of the template. */
  template: string;
  /** The day's beginning, UTC. */
  day: Date;
  outcome: string | null;
  leads: number;
  attempts: number;
  /** Those of them that were called at least once. */
  called: number;
  answered: number;
  talk_seconds: number;
  cost: number;
  do_not_call: number;
}

/** The figures of leads that are gone, as analytics count them: tests are left out. */
export interface LeadCounterDoc extends CounterSum {
  _id: string;
  reseller_id: string;
  /** Number of the last fold of the reseller that was added: none is added twice. */
  through: number;
}

/** Collection `lead_counters`; owner: the leads service. */
export const leadCounterSchema = new Schema<LeadCounterDoc>(
  {
    _id: { type: String, required: true },
    reseller_id: { type: String, required: true },
    merchant_id: { type: String, default: null },
    template_id: { type: String, required: true },
    template: { type: String, required: true },
    day: { type: Date, required: true },
    outcome: { type: String, default: null },
    leads: { type: Number, required: true },
    attempts: { type: Number, required: true },
    called: { type: Number, required: true },
    answered: { type: Number, required: true },
    talk_seconds: { type: Number, required: true },
    cost: { type: Number, required: true },
    do_not_call: { type: Number, required: true },
    through: { type: Number, required: true },
  },
  SCHEMA_OPTIONS,
);
leadCounterSchema.index({ reseller_id: 1, day: 1 }, { name: "of_reseller" });
leadCounterSchema.index({ merchant_id: 1, day: 1 }, { name: "of_merchant" });
leadCounterSchema.index({ template_id: 1, day: 1 }, { name: "of_template" });
leadCounterSchema.index({ day: 1 }, { name: "by_day" });
