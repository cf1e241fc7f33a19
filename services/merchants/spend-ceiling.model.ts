import { Schema } from "mongoose";
import type { SpendCeiling } from "../../shared/contracts/records/spend.ts";

type Period = NonNullable<SpendCeiling["per_day"]>;

/** A period's part: absent fields limit nothing. */
const periodSchema = new Schema<Period>(
  { calls: Number, minutes: Number, money: Number },
  { _id: false, strict: "throw" },
);

/** A spend ceiling inside another document. */
export const spendCeilingSchema = new Schema<SpendCeiling>(
  { per_day: { type: periodSchema, default: undefined }, per_month: { type: periodSchema, default: undefined } },
  { _id: false, strict: "throw" },
);
