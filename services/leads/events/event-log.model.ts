import { Schema } from "mongoose";
import { SCHEMA_OPTIONS } from "../../../shared/database/mongo.ts";

/** An event in the log. `_id`: `<lead_id>.<seq>`. */
export interface LogEntry {
  _id: string;
  /** Its place in the deployment's log: 1, 2, 3, … without a gap. */
  position: number;
  /** The lead. */
  subject: string;
  seq: number;
  type: string;
  at: Date;
  reseller_id: string;
  merchant_id: string | null;
  template_id: string;
  data: Record<string, unknown>;
  expires_at: Date;
}

const Free = Schema.Types.Mixed;

/** Collection `lead_events`; owner: the leads service. */
export const logEntrySchema = new Schema<LogEntry>(
  {
    _id: { type: String, required: true },
    position: { type: Number, required: true },
    subject: { type: String, required: true },
    seq: { type: Number, required: true },
    type: { type: String, required: true },
    at: { type: Date, required: true },
    reseller_id: { type: String, required: true },
    merchant_id: { type: String, default: null },
    template_id: { type: String, required: true },
    data: { type: Free, default: {} },
    expires_at: { type: Date, required: true },
  },
  SCHEMA_OPTIONS,
);

// Unique: of two publishers that take each other's place for a moment, one writes a position, and the other starts again. Events of one lead are found by _id.
logEntrySchema.index({ position: 1 }, { name: "by_position", unique: true });
logEntrySchema.index({ reseller_id: 1, position: 1 }, { name: "of_reseller" });
logEntrySchema.index({ merchant_id: 1, position: 1 }, { name: "of_merchant" });
logEntrySchema.index({ expires_at: 1 }, { name: "expired", expireAfterSeconds: 0 });
