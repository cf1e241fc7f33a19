import { Schema } from "mongoose";
import type { ConversationFacts } from "../../../shared/contracts/records/attempt.ts";
import type { VoicemailAction } from "../../../shared/contracts/records/configuration.ts";
import type { MediaSource } from "../../../shared/contracts/records/session.ts";
import type { Preparation } from "../../../shared/contracts/conversation.ts";
import type { Engine } from "../../../shared/contracts/records/models.ts";
import type { StreamDialect } from "../../../shared/contracts/records/stream-dialect.ts";
import { SCHEMA_OPTIONS } from "../../../shared/database/mongo.ts";
import { whenPresent } from "../../../shared/database/partial-indexes.ts";

/** States of a session: prepared before the dial, TALKING once media has joined, then kept until its facts are settled. */
export type SessionState = "PREPARED" | "REDEEMED" | "TALKING" | "ENDED_UNSETTLED" | "CLOSED";

/** What is known of a conversation before it begins, by its call_ref. */
export interface PlannedSession {
  _id: string;
  lead_id: string;
  claim_no: number;
  provider: MediaSource;
  template_id: string;
  template_version: number;
  payload: Record<string, unknown>;
  max_call_seconds: number;
  voicemail_action: VoicemailAction;
  /** The engine of the conversation. */
  engine: Engine;
  /** The carrier's name, for logs. */
  carrier: Preparation["carrier"];
  /** How the carrier's media stream speaks; null: no stream of audio is understood. */
  stream: StreamDialect | null;
  /** The client says what is spoken, in place of the template; absent: it does not. */
  client_led?: boolean;
  /** We record the conversation, where it carries sound. */
  record: boolean;
  /** The traceparent of its lead's first span; absent: it is not traced. */
  trace?: string;
}

/** One conversation. The media token is kept as SHA-256 only, and only until it is used. */
export interface SessionDoc extends PlannedSession {
  state: SessionState;
  token_hash?: string;
  token_expires_at: Date;
  node_id: string | null;
  call_id: string | null;
  /** What is known of the conversation so far; null until something was said. */
  talk: ConversationFacts | null;
  answered_at: Date | null;
  ended_at: Date | null;
  created_at: Date;
  updated_at: Date;
  /** The document expires at this time. */
  purge_at: Date;
}

/** Schema of `conversation_sessions`. */
export const sessionSchema = new Schema<SessionDoc>(
  {
    _id: { type: String, required: true },
    lead_id: { type: String, required: true },
    claim_no: { type: Number, required: true },
    provider: { type: String, required: true },
    template_id: { type: String, required: true },
    template_version: { type: Number, required: true },
    payload: { type: Schema.Types.Mixed, required: true },
    max_call_seconds: { type: Number, required: true },
    voicemail_action: { type: String, default: "hangup" },
    engine: { type: String, default: "relay" },
    carrier: { type: String, default: "none" },
    stream: { type: Schema.Types.Mixed, default: null },
    client_led: Boolean,
    record: { type: Boolean, default: false },
    trace: String,
    state: { type: String, required: true },
    token_hash: { type: String },
    token_expires_at: { type: Date, required: true },
    node_id: { type: String, default: null },
    call_id: { type: String, default: null },
    talk: { type: Schema.Types.Mixed, default: null },
    answered_at: { type: Date, default: null },
    ended_at: { type: Date, default: null },
    created_at: { type: Date, required: true },
    updated_at: { type: Date, required: true },
    purge_at: { type: Date, required: true },
  },
  { ...SCHEMA_OPTIONS },
);

sessionSchema.index({ token_hash: 1 }, { name: "by_token", unique: true, ...whenPresent("token_hash") });
sessionSchema.index({ purge_at: 1 }, { name: "purge", expireAfterSeconds: 0 });
