import type { Model } from "mongoose";
import { isDuplicateKey } from "../../shared/errors.ts";
import type { S2sTokenDoc } from "./s2s-tokens.model.ts";
import type { UserDoc } from "./users.model.ts";

const MAX_QUERY_MS = 5000;

/** Reads and writes of the collection `users`. */
export interface UsersRepository {
  byEmail(email: string): Promise<UserDoc | null>;
  byId(id: string): Promise<UserDoc | null>;
  /** Adds a user; false when the e-mail is taken already. */
  add(user: UserDoc): Promise<boolean>;
}

/** Reads and writes of the collection `s2s_tokens`. */
export interface S2sTokensRepository {
  add(token: S2sTokenDoc): Promise<void>;
  /** The token with this hash, if it is neither revoked nor expired at `now`. */
  valid(token_hash: string, now: Date): Promise<S2sTokenDoc | null>;
  /** Notes the use, unless one was noted at or after `unlessSince`. */
  seen(id: string, now: Date, unlessSince: Date): Promise<void>;
}

/** The repository of users over a mongoose model. E-mails are looked up as stored: lower-case. */
export const usersRepository = (model: Model<UserDoc>): UsersRepository => ({
  byEmail: (email) => model.findOne({ email }).maxTimeMS(MAX_QUERY_MS).lean<UserDoc>(),
  byId: (id) => model.findOne({ _id: id }).maxTimeMS(MAX_QUERY_MS).lean<UserDoc>(),
  async add(user) {
    try {
      await model.create(user);
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  },
});

/** The repository of server-to-server tokens over a mongoose model. */
export const s2sTokensRepository = (model: Model<S2sTokenDoc>): S2sTokensRepository => ({
  add: async (token) => { await model.create(token); },
  valid: (token_hash, now) => model.findOne({ token_hash, revoked_at: null, expires_at: { $gt: now } }).maxTimeMS(MAX_QUERY_MS).lean<S2sTokenDoc>(),
  seen: async (id, now, unlessSince) => {
    await model.updateOne({ _id: id, $or: [{ last_seen_at: null }, { last_seen_at: { $lt: unlessSince } }] }, { $set: { last_seen_at: now } });
  },
});
