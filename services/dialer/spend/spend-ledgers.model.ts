import { Schema } from "mongoose";
import { SCHEMA_OPTIONS } from "../../../shared/database/mongo.ts";
import { whenPresent } from "../../../shared/database/partial-indexes.ts";
import type { Ledger } from "./spend-reservations.ts";

/** A ledger as it is stored, under the id of its merchant or reseller. `rev`: how often it was written. */
export interface SpendLedgerDoc extends Ledger {
  _id: string;
  rev: number;
  /** When the first of its reservations is to be looked at. Absent: it has none. */
  due_at?: Date;
}

const Free = Schema.Types.Mixed;

/** Collection `spend_ledgers`; owner: the dialer. */
export const spendLedgerSchema = new Schema<SpendLedgerDoc>(
  {
    _id: { type: String, required: true },
    rev: { type: Number, required: true },
    day: { type: Free, required: true },
    month: { type: Free, required: true },
    reserved: { type: [Free], required: true },
    due_at: Date,
  },
  SCHEMA_OPTIONS,
);

spendLedgerSchema.index({ due_at: 1 }, { name: "due", ...whenPresent("due_at") });
