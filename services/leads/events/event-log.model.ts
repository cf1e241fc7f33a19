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

/** An event as its sheet keeps it: its position follows from its place in the sheet. */
export type SheetEvent = Pick<LogEntry, "subject" | "seq" | "type" | "at" | "template_id" | "data">;

/** Events of one tenant at positions one after the other, which were written together. `_id`: the position of the first. What is in a sheet stays at its place. */
export interface LogSheet {
  _id: number;
  reseller_id: string;
  merchant_id: string | null;
  /** Each once. */
  lead_ids: string[];
  events: SheetEvent[];
  expires_at: Date;
}

/** Most events of a sheet: a reader of one lead's events reads the sheets that hold one. */
export const MAX_SHEET_EVENTS = 50;

const Free = Schema.Types.Mixed;

/** Collection `lead_events`; owner: the leads service. */
export const logSheetSchema = new Schema<LogSheet>(
  {
    _id: { type: Number, required: true },
    reseller_id: { type: String, required: true },
    merchant_id: { type: String, default: null },
    lead_ids: { type: [String], required: true },
    events: { type: Free, required: true },
    expires_at: { type: Date, required: true },
  },
  SCHEMA_OPTIONS,
);

logSheetSchema.index({ reseller_id: 1, _id: 1 }, { name: "of_reseller" });
logSheetSchema.index({ merchant_id: 1, _id: 1 }, { name: "of_merchant" });
logSheetSchema.index({ lead_ids: 1, _id: 1 }, { name: "of_lead" });
logSheetSchema.index({ expires_at: 1 }, { name: "expired", expireAfterSeconds: 0 });
