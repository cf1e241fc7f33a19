import { Schema } from "mongoose";
import type { Role } from "../../../shared/contracts/records/identity.ts";
import { SCHEMA_OPTIONS } from "../../../shared/database/mongo.ts";

/** Who issued a token or gave a user its password: a user, or a token. */
export interface Issuer {
  kind: "user" | "s2s";
  id: string;
}

/** A server-to-server token. Of the token itself only its SHA-256 is kept, and the first letters by which a person recognises it. */
export interface S2sTokenDoc {
  _id: string;
  name: string;
  role: Exclude<Role, "admin">;
  reseller_id: string;
  merchant_id: string | null;
  token_hash: string;
  token_prefix: string;
  issued_by: Issuer;
  created_at: Date;
  expires_at: Date;
  /** Written at most once a minute. */
  last_seen_at: Date | null;
  revoked_at: Date | null;
  /** The token with whose revocation this one was revoked. Absent: it was revoked itself, or not at all. */
  revoked_with?: string;
}

/** Collection `s2s_tokens`; owner: the auth service. */
export const s2sTokenSchema = new Schema<S2sTokenDoc>(
  {
    _id: { type: String, required: true },
    name: { type: String, required: true },
    role: { type: String, required: true },
    reseller_id: { type: String, required: true },
    merchant_id: { type: String, default: null },
    token_hash: { type: String, required: true },
    token_prefix: { type: String, required: true },
    issued_by: { type: Schema.Types.Mixed, required: true },
    created_at: { type: Date, required: true },
    expires_at: { type: Date, required: true },
    last_seen_at: { type: Date, default: null },
    revoked_at: { type: Date, default: null },
    revoked_with: { type: String },
  },
  SCHEMA_OPTIONS,
);

s2sTokenSchema.index({ token_hash: 1 }, { name: "token_hash", unique: true });
s2sTokenSchema.index({ created_at: -1, _id: -1 }, { name: "newest" });
s2sTokenSchema.index({ role: 1, created_at: -1, _id: -1 }, { name: "by_role" });
s2sTokenSchema.index({ merchant_id: 1, created_at: -1, _id: -1 }, { name: "by_merchant" });
s2sTokenSchema.index({ reseller_id: 1, created_at: -1, _id: -1 }, { name: "by_reseller" });
s2sTokenSchema.index({ reseller_id: 1, role: 1, created_at: -1, _id: -1 }, { name: "by_reseller_role" });
s2sTokenSchema.index({ "issued_by.id": 1, created_at: -1, _id: -1 }, { name: "by_issuer" });
