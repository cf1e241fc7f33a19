import { Schema } from "mongoose";
import { SCHEMA_OPTIONS } from "../../../shared/database/mongo.ts";
import type { WindowLog } from "./rules/sliding-window.ts";

/**
 * A window's log as it is stored, under `provider:<word>` or `configuration:<id>`. `granted_at`: the last permit; `asked_at`: the database's clock
 * when it was asked for; `block`: the permits of the last write, each from when until when it may be used, null where there was none soon enough.
 */
export interface RateWindowDoc extends WindowLog {
  _id: string;
  granted_at: Date | null;
  asked_at: Date | null;
  block?: ([Date, Date] | null)[];
}

/** Collection `rate_windows`; owner: the scheduler. */
export const rateWindowSchema = new Schema<RateWindowDoc>(
  {
    _id: { type: String, required: true },
    ring: { type: [Date], required: true },
    group: { type: Number, required: true },
    filled: { type: Number, required: true },
    opened: { type: Date, required: true },
    closed_until: { type: Date, default: null },
    closed_why: { type: String, default: null },
    granted_at: { type: Date, default: null },
    asked_at: { type: Date, default: null },
    block: Schema.Types.Mixed,
  },
  SCHEMA_OPTIONS,
);
