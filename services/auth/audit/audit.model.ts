import { Schema } from "mongoose";
import type { Role } from "../../../shared/contracts/records/identity.ts";
import { SCHEMA_OPTIONS } from "../../../shared/database/mongo.ts";

/** An entry of the audit log. Nothing changes one; it ends by its age where AUDIT_RETENTION_DAYS is set. */
export interface AuditDoc {
  _id: string;
  actor: { kind: "user" | "s2s"; id: string; role: Role };
  action: string;
  subject: string;
  /** Whose the subject is: who may read the entry. */
  reseller_id: string | null;
  merchant_id: string | null;
  details: Record<string, unknown>;
  /** When it was done. */
  created_at: Date;
}

/** Collection `audit`; owner: the auth service. */
export const auditSchema = new Schema<AuditDoc>(
  {
    _id: { type: String, required: true },
    actor: { type: Schema.Types.Mixed, required: true },
    action: { type: String, required: true },
    subject: { type: String, required: true },
    reseller_id: { type: String, default: null },
    merchant_id: { type: String, default: null },
    details: { type: Schema.Types.Mixed, required: true },
    created_at: { type: Date, required: true },
  },
  SCHEMA_OPTIONS,
);

auditSchema.index({ created_at: -1, _id: -1 }, { name: "newest" });
auditSchema.index({ action: 1, created_at: -1, _id: -1 }, { name: "by_action" });
auditSchema.index({ subject: 1, created_at: -1, _id: -1 }, { name: "by_subject" });
auditSchema.index({ reseller_id: 1, created_at: -1, _id: -1 }, { name: "by_reseller" });
auditSchema.index({ reseller_id: 1, action: 1, created_at: -1, _id: -1 }, { name: "by_reseller_action" });
auditSchema.index({ reseller_id: 1, subject: 1, created_at: -1, _id: -1 }, { name: "by_reseller_subject" });
