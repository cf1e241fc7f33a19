import { Schema } from "mongoose";
import { SCHEMA_OPTIONS } from "../../../shared/database/mongo.ts";

/** An event in the log. `_id`: `<subject>.<seq>`. */
export interface LogEntry {
  _id: string;
  /** Its place in the deployment's log: 1, 2, 3, … without a gap. */
  position: number;
  /** The lead, or what else it is about (`number:<id>`). */
  subject: string;
  seq: number;
  type: string;
  at: Date;
  /** null: it is of no reseller, and for admins alone. */
  reseller_id: string | null;
  merchant_id: string | null;
  template_id: string | null;
  data: Record<string, unknown>;
  expires_at: Date;
}

/** An event before it has its place in the log. */
export type Placeless = Omit<LogEntry, "position" | "expires_at">;

/** An event as its sheet keeps it: its position follows from its place in the sheet. */
export type SheetEvent = Pick<LogEntry, "subject" | "seq" | "type" | "at" | "template_id" | "data">;

/** Events of one tenant at positions one after the other, which were written together. `_id`: the position of the first. What is in a sheet stays at its place. */
export interface LogSheet {
  _id: number;
  reseller_id: string | null;
  merchant_id: string | null;
  /** The subjects of its events, leads or others, each once. */
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
    reseller_id: { type: String, default: null },
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
