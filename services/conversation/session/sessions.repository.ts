import { idsOfLead } from "../../../shared/ids.ts";
import type { Model } from "mongoose";
import type { ResultOf } from "../../../shared/bus/bus.ts";
import { plusSeconds } from "../../../shared/time/clock.ts";
import type { ConversationFacts } from "../../../shared/contracts/records/attempt.ts";
import type { MediaSource } from "../../../shared/contracts/records/session.ts";
import { insertEach } from "../../../shared/database/write-batches.ts";
import type { PlannedSession, SessionDoc } from "./sessions.model.ts";

/** How long a session is kept that was not settled: until the sweep has surely recovered it. */
const KEPT_SECONDS = 7 * 86_400;
/** How long a settled one is kept: its transcript lives in the lead. */
const KEPT_SETTLED_SECONDS = 3600;

/** What prepare gives. */
export type NewSession = PlannedSession & { token_hash: string; ttl_seconds: number };

interface Known {
  talk: ConversationFacts;
  call_id: string | null;
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

/** What tokens do to a session's document. */
const tokens = (model: Model<SessionDoc>) => ({
  /** A prepared session gets another token; the one before is void. Null: its media have joined, or it is over. */
  renew: async (id: string, token_hash: string, ttl_seconds: number, now: Date): Promise<SessionDoc | null> =>
    inFull(
      await model
        .findOneAndUpdate(
          { _id: id, state: "PREPARED" },
          { $set: { token_hash, ...timesOf(ttl_seconds, now) } },
          { returnDocument: "after" },
        )
        .lean<SessionDoc>(),
    ),
  /** The session an unused, unexpired token stands for; leaves it unused. */
  peek: async (token_hash: string, provider: MediaSource, now: Date): Promise<SessionDoc | null> =>
    inFull(
      await model
        .findOne({ token_hash, provider, state: "PREPARED", token_expires_at: { $gt: now } })
        .lean<SessionDoc>(),
    ),
  /** Uses the token up, once over all nodes; null: another process did, or it has expired. */
  redeem: async (token_hash: string, provider: MediaSource, node_id: string, now: Date): Promise<SessionDoc | null> =>
    inFull(
      await model
        .findOneAndUpdate(
          { token_hash, provider, state: "PREPARED", token_expires_at: { $gt: now } },
          { $set: { state: "REDEEMED", node_id, updated_at: now }, $unset: { token_hash: 1 } },
          { returnDocument: "after" },
        )
        .lean<SessionDoc>(),
    ),
});

/** Deletes the sessions of leads, which are found by their ids: those begin with the lead's. */
async function removeOf(model: Model<SessionDoc>, lead_ids: readonly string[]): Promise<number> {
  const of = await Promise.all(lead_ids.map((lead_id) => model.deleteMany({ _id: idsOfLead(lead_id) })));
  return of.reduce((sum, { deletedCount }) => sum + deletedCount, 0);
}

/** The sessions' documents. Every transition is one guarded write. */
export const sessionsRepository = (model: Model<SessionDoc>) => ({
  ...tokens(model),
  /** Makes or renews sessions: preparing again voids the token before. For each, in order; false: the conversation has begun already. */
  async prepare(sessions: readonly NewSession[], now: Date): Promise<boolean[]> {
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
  async begin(id: string, answered_at: Date, now: Date): Promise<void> {
    await model.updateOne({ _id: id, state: "REDEEMED" }, { $set: { state: "TALKING", answered_at, updated_at: now } });
  },
  /** Keeps the facts known so far. */
  async progress(id: string, { talk, call_id }: Known, now: Date): Promise<void> {
    await model.updateOne(
      { _id: id, state: { $in: [...BEFORE_TALK, "TALKING"] } },
      { $set: { talk, call_id, updated_at: now } },
    );
  },
  /** The conversation has ended; its facts wait to be settled. */
  async ended(id: string, { talk, call_id, ended_at }: Known & { ended_at: Date }, now: Date): Promise<void> {
    await model.updateOne(
      { _id: id, state: { $ne: "CLOSED" } },
      { $set: { state: "ENDED_UNSETTLED", talk, call_id, ended_at, updated_at: now } },
    );
  },
  /** It is over: settled, or ended before it began. */
  async close(id: string, now: Date): Promise<void> {
    await model.updateOne(
      { _id: id },
      {
        $set: { state: "CLOSED", updated_at: now, purge_at: plusSeconds(now, KEPT_SETTLED_SECONDS) },
        $unset: { token_hash: 1 },
      },
    );
  },
  /** Deletes the sessions of leads that are over. */
  erase: async (lead_ids: readonly string[]): Promise<ResultOf<"conversation.eraseNumber">> => ({
    erased: { conversation_sessions: await removeOf(model, lead_ids) },
    waiting: [],
    pending: false,
  }),
  /** The same for leads that end. */
  end: async (lead_ids: readonly string[]): Promise<ResultOf<"conversation.endRecords">> => ({
    ended: { conversation_sessions: await removeOf(model, lead_ids) },
    waiting: [],
  }),
  find: async (id: string): Promise<SessionDoc | null> => inFull(await model.findOne({ _id: id }).lean<SessionDoc>()),
});

/** The repository of the sessions. */
export type SessionsRepository = ReturnType<typeof sessionsRepository>;
