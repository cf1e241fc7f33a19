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

/** An event as its page keeps it: its position follows from its place in the page. */
export type PagedEvent = Pick<LogEntry, "subject" | "seq" | "type" | "at" | "template_id" | "data">;

/** Events of one tenant at positions one after the other, which were written together. `_id`: the position of the first. What is in a page stays at its place. */
export interface LogPage {
  _id: number;
  reseller_id: string;
  merchant_id: string | null;
  /** Each once. */
  lead_ids: string[];
  events: PagedEvent[];
  expires_at: Date;
}

/** Most events of a page: a reader of one lead's events reads the pages that hold one. */
export const MAX_PAGE_EVENTS = 50;

const Free = Schema.Types.Mixed;

/** Collection `lead_events`; owner: the leads service. */
export const logPageSchema = new Schema<LogPage>(
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

logPageSchema.index({ reseller_id: 1, _id: 1 }, { name: "of_reseller" });
logPageSchema.index({ merchant_id: 1, _id: 1 }, { name: "of_merchant" });
logPageSchema.index({ lead_ids: 1, _id: 1 }, { name: "of_lead" });
logPageSchema.index({ expires_at: 1 }, { name: "expired", expireAfterSeconds: 0 });
