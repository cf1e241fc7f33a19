import { Schema } from "mongoose";
import { SCHEMA_OPTIONS } from "../../../shared/mongo.ts";
import type { RingState } from "./sliding-window.ts";

/** A ring of grants as it is kept: `provider:<word>` or `configuration:<id>`. `granted_at` and `asked_at`: the last grant and the database's clock when it was given. */
export interface RateWindowDoc extends RingState {
  _id: string;
  granted_at: Date | null;
  asked_at: Date | null;
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
  },
  SCHEMA_OPTIONS,
);
