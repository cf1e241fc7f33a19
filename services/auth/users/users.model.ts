import { Schema } from "mongoose";
import type { By, Role } from "../../../shared/contracts/records/identity.ts";
import { SCHEMA_OPTIONS } from "../../../shared/database/mongo.ts";
import type { Issuer } from "../tokens/s2s-tokens.model.ts";

/** A session that its user ended: the token's id, and when that expires by itself. */
export interface EndedSession {
  jti: string;
  until: Date;
}

/** Most ended sessions that are kept of a user. One more ends all the user's sessions. */
export const MAX_ENDED_SESSIONS = 100;

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
  /** Sessions that a log-out ended before their token expires, at most MAX_ENDED_SESSIONS. Absent: none. */
  ended_sessions?: EndedSession[];
  /** Who made the user or set its password last, other than the user itself. Absent: unknown, or the first admin. */
  access_given_by?: Issuer;
  /** Who last gave the user more than it had: a higher role, another merchant or reseller, or access again after it was switched off. Absent: nobody, or unknown. */
  widened_by?: Issuer;
  created_at: Date;
  updated_at: Date;
}

/** The version that a user's access tokens must have. */
export const tokenVersion = (user: Pick<UserDoc, "token_version">): number => user.token_version ?? 0;

/** Whether a log-out ended the session of this token. */
export const hasEnded = (user: Pick<UserDoc, "ended_sessions">, jti: string): boolean =>
  user.ended_sessions?.some((ended) => ended.jti === jti) ?? false;

/** The user as the caller of an action. */
export const byOf = ({ _id: id, role, reseller_id, merchant_id }: UserDoc): By => ({
  kind: "user",
  id,
  role,
  reseller_id,
  merchant_id,
});

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
    ended_sessions: { type: [{ _id: false, jti: String, until: Date }], default: undefined },
    access_given_by: { type: Schema.Types.Mixed },
    widened_by: { type: Schema.Types.Mixed },
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
userSchema.index({ "access_given_by.id": 1, created_at: -1, _id: -1 }, { name: "by_access_giver" });
userSchema.index({ "widened_by.id": 1, created_at: -1, _id: -1 }, { name: "by_access_widener" });
