import { Schema } from "mongoose";
import { SCHEMA_OPTIONS } from "../../shared/mongo.ts";

/** The last N grants of a configuration, oldest first. */
export interface RateWindowDoc { _id: string; ring: Date[] }

/** Collection `rate_windows`; owner: the scheduler. */
export const rateWindowSchema = new Schema<RateWindowDoc>({ _id: { type: String, required: true }, ring: { type: [Date], required: true } }, SCHEMA_OPTIONS);
