import { Schema } from "mongoose";
import type { Pause } from "../../../shared/contracts/merchants.ts";

/** Calling was stopped by a person; null: it was not. */
export interface PauseDoc {
  at: Date;
  by: string;
  reason: string | null;
}

/** A pause inside another document. */
export const pauseSchema = new Schema<PauseDoc>(
  { at: { type: Date, required: true }, by: { type: String, required: true }, reason: { type: String, default: null } },
  { _id: false, strict: "throw" },
);

/** A pause as it is shown. */
export const pauseView = (pause: PauseDoc | null | undefined): Pause | null =>
  pause ? { at: pause.at.toISOString(), by: pause.by, reason: pause.reason } : null;
