import type { Model } from "mongoose";
import { plusSeconds } from "../../../shared/time/clock.ts";
import type { ConversationFacts } from "../../../shared/contracts/records/attempt.ts";
import type { Provider } from "../../../shared/contracts/records/configuration.ts";
import { insertEach } from "../../../shared/database/unordered-insert.ts";
import type { SessionDoc } from "./sessions.model.ts";

/** How long a session is kept that was not settled: until the sweep has surely recovered it. */
const KEPT_SECONDS = 7 * 86_400;
/** How long a settled one is kept: its transcript lives in the lead. */
const KEPT_SETTLED_SECONDS = 3600;

/** What prepare gives. */
export type NewSession = Pick<
  SessionDoc,
  | "_id"
  | "lead_id"
  | "claim_no"
  | "provider"
  | "template_id"
  | "template_version"
  | "payload"
  | "max_call_seconds"
  | "voicemail_action"
  | "engine"
  | "carrier"
  | "stream"
  | "record"
> & { token_hash: string; ttl_seconds: number };

/** The sessions' documents. Every transition is one guarded write. */
export interface SessionsRepository {
  /** Makes or renews sessions: preparing again voids the token before. For each, in order; false: the conversation has begun already. */
  prepare(sessions: readonly NewSession[], now: Date): Promise<boolean[]>;
  /** The session an unused, unexpired token stands for; leaves it unused. */
  peek(token_hash: string, provider: Provider, now: Date): Promise<SessionDoc | null>;
  /** Uses the token up, once over all nodes; null: another process did, or it has expired. */
  redeem(token_hash: string, provider: Provider, node_id: string, now: Date): Promise<SessionDoc | null>;
  begin(id: string, answered_at: Date, now: Date): Promise<void>;
  /** Keeps the facts known so far. */
  progress(id: string, known: { talk: ConversationFacts; call_id: string | null }, now: Date): Promise<void>;
  /** The conversation has ended; its facts wait to be settled. */
  ended(
    id: string,
    known: { talk: ConversationFacts; call_id: string | null; ended_at: Date },
    now: Date,
  ): Promise<void>;
  /** It is over: settled, or ended before it began. */
  close(id: string, now: Date): Promise<void>;
  find(id: string): Promise<SessionDoc | null>;
}

const BEFORE_TALK = ["PREPARED", "REDEEMED"] as const;

const timesOf = (ttl_seconds: number, now: Date) => ({
  token_expires_at: plusSeconds(now, ttl_seconds),
  updated_at: now,
  purge_at: plusSeconds(now, KEPT_SECONDS),
});

const documentOf = ({ ttl_seconds, ...session }: NewSession, now: Date): SessionDoc => ({
  ...session,
  ...timesOf(ttl_seconds, now),
  state: "PREPARED",
  node_id: null,
  call_id: null,
  talk: null,
  answered_at: null,
  ended_at: null,
  created_at: now,
});

/** Fields that documents of an older version lack. */
const LATER_FIELDS = { engine: "relay", carrier: "none", stream: null, record: false } as const;
const inFull = (doc: SessionDoc | null): SessionDoc | null => doc && { ...LATER_FIELDS, ...doc };

/** The repository on its model. */
export const sessionsRepository = (model: Model<SessionDoc>): SessionsRepository => ({
  async prepare(sessions, now) {
    if (sessions.length === 0) return [];
    const written = await insertEach(
      model,
      sessions.map((session) => documentOf(session, now)),
    );
    return Promise.all(
      sessions.map(async ({ _id, ttl_seconds, ...fields }, i) => {
        if (written[i] === "written") return true;
        const renewed = await model.updateOne(
          { _id, state: "PREPARED" },
          { $set: { ...fields, ...timesOf(ttl_seconds, now) } },
        );
        return renewed.matchedCount > 0;
      }),
    );
  },
  peek: async (token_hash, provider, now) =>
    inFull(
      await model
        .findOne({ token_hash, provider, state: "PREPARED", token_expires_at: { $gt: now } })
        .lean<SessionDoc>(),
    ),
  redeem: async (token_hash, provider, node_id, now) =>
    inFull(
      await model
        .findOneAndUpdate(
          { token_hash, provider, state: "PREPARED", token_expires_at: { $gt: now } },
          { $set: { state: "REDEEMED", node_id, updated_at: now }, $unset: { token_hash: 1 } },
          { returnDocument: "after" },
        )
        .lean<SessionDoc>(),
    ),
  async begin(id, answered_at, now) {
    await model.updateOne({ _id: id, state: "REDEEMED" }, { $set: { state: "TALKING", answered_at, updated_at: now } });
  },
  async progress(id, { talk, call_id }, now) {
    await model.updateOne(
      { _id: id, state: { $in: [...BEFORE_TALK, "TALKING"] } },
      { $set: { talk, call_id, updated_at: now } },
    );
  },
  async ended(id, { talk, call_id, ended_at }, now) {
    await model.updateOne(
      { _id: id, state: { $ne: "CLOSED" } },
      { $set: { state: "ENDED_UNSETTLED", talk, call_id, ended_at, updated_at: now } },
    );
  },
  async close(id, now) {
    await model.updateOne(
      { _id: id },
      {
        $set: { state: "CLOSED", updated_at: now, purge_at: plusSeconds(now, KEPT_SETTLED_SECONDS) },
        $unset: { token_hash: 1 },
      },
    );
  },
  find: async (id) => inFull(await model.findOne({ _id: id }).lean<SessionDoc>()),
});
