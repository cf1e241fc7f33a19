import { Schema } from "mongoose";
import type { Role } from "../../shared/contracts/identity.ts";
import { SCHEMA_OPTIONS } from "../../shared/mongo.ts";

/** A person who logs in. `email` is lower-case and unique; `password_hash` is a PHC string (passwords.ts). */
export interface UserDoc {
  _id: string;
  email: string;
  role: Role;
  reseller_id: string | null;
  merchant_id: string | null;
  password_hash: string;
  is_active: boolean;
  created_at: Date;
  updated_at: Date;
}

/** Collection `users`; owner: the auth service. */
export const userSchema = new Schema<UserDoc>({
  _id: { type: String, required: true },
  email: { type: String, required: true },
  role: { type: String, required: true },
  reseller_id: { type: String, default: null }, merchant_id: { type: String, default: null },
  password_hash: { type: String, required: true },
  is_active: { type: Boolean, required: true },
  created_at: { type: Date, required: true }, updated_at: { type: Date, required: true },
}, SCHEMA_OPTIONS);

userSchema.index({ email: 1 }, { name: "email", unique: true });
