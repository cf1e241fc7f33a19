import { Schema } from "mongoose";
import { SCHEMA_OPTIONS } from "../../../shared/database/mongo.ts";

/**
 * What an Idempotency-Key stands for, or a request_id whose configuration lets it make one lead: written before the lead, whose id it fixes. A repeated push finds the id and finishes the
 * same insert, so that a push that broke off blocks no later one, and no key ever makes two leads.
 */
export interface PushKeyDoc {
  _id: string;
  /** SHA-256 of the lead as it was pushed; of a request_id: empty, for its pushes may differ. */
  body_hash: string;
  lead_id: string;
  /** The answer that the client got. */
  message: string;
  expires_at: Date;
}

/** Collection `push_keys`; owner: the leads service. */
export const pushKeySchema = new Schema<PushKeyDoc>(
  {
    _id: { type: String, required: true },
    body_hash: { type: String, default: "" },
    lead_id: { type: String, required: true },
    message: { type: String, required: true },
    expires_at: { type: Date, required: true },
  },
  SCHEMA_OPTIONS,
);

pushKeySchema.index({ expires_at: 1 }, { name: "expired", expireAfterSeconds: 0 });
