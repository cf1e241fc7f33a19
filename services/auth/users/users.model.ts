import { Schema } from "mongoose";
import type { Role } from "../../../shared/contracts/records/identity.ts";
import { SCHEMA_OPTIONS } from "../../../shared/database/mongo.ts";

/** A person who logs in. `email` is lower-case and unique; `password_hash` is a PHC string (passwords.ts). */
export interface UserDoc {
  _id: string;
  email: string;
  role: Role;
  reseller_id: string | null;
  merchant_id: string | null;
  password_hash: string;
  is_active: boolean;
  /** Access tokens of another version are void: it goes up with a new password and when the user is switched off. Absent: 0. */
  token_version?: number;
  created_at: Date;
  updated_at: Date;
}

/** The version that a user's access tokens must have. */
export const tokenVersion = (user: Pick<UserDoc, "token_version">): number => user.token_version ?? 0;

/** Collection `users`; owner: the auth service. */
export const userSchema = new Schema<UserDoc>(
  {
    _id: { type: String, required: true },
    email: { type: String, required: true },
    role: { type: String, required: true },
    reseller_id: { type: String, default: null },
    merchant_id: { type: String, default: null },
    password_hash: { type: String, required: true },
    is_active: { type: Boolean, required: true },
    token_version: { type: Number, default: 0 },
    created_at: { type: Date, required: true },
    updated_at: { type: Date, required: true },
  },
  SCHEMA_OPTIONS,
);

userSchema.index({ email: 1 }, { name: "email", unique: true });
userSchema.index({ created_at: -1, _id: -1 }, { name: "newest" });
userSchema.index({ role: 1, created_at: -1, _id: -1 }, { name: "by_role" });
userSchema.index({ is_active: 1, created_at: -1, _id: -1 }, { name: "by_active" });
userSchema.index({ merchant_id: 1, created_at: -1, _id: -1 }, { name: "by_merchant" });
userSchema.index({ reseller_id: 1, created_at: -1, _id: -1 }, { name: "by_reseller" });
userSchema.index({ reseller_id: 1, role: 1, created_at: -1, _id: -1 }, { name: "by_reseller_role" });
userSchema.index({ reseller_id: 1, is_active: 1, created_at: -1, _id: -1 }, { name: "by_reseller_active" });
