import type { Model } from "mongoose";
import type { ListFilter } from "../../../shared/bus/bus.ts";
import { within, type Scope } from "../../../shared/contracts/records/identity.ts";
import { newestOf, type PageFilter } from "../../../shared/page.ts";
import type { S2sTokenDoc } from "./s2s-tokens.model.ts";

/** What a list of tokens is narrowed by. */
type S2sTokenFilter = ListFilter<"auth.listS2s">;

/** Reads and writes of the collection `s2s_tokens`. What is done on behalf of a person takes its scope. */
export interface S2sTokensRepository {
  add(token: S2sTokenDoc): Promise<void>;
  /** The token with this hash, if it is neither revoked nor expired at `now`. */
  valid(token_hash: string, now: Date): Promise<S2sTokenDoc | null>;
  /** Notes the use, unless one was noted at or after `unlessSince`; false: it was. */
  seen(id: string, now: Date, unlessSince: Date): Promise<boolean>;
  page(scope: Scope, filter: S2sTokenFilter, after: PageFilter, size: number): Promise<S2sTokenDoc[]>;
  /** A page of the tokens of a scope that any of these issued since `since`, by id; `after` is the last id of the page before. */
  issuedBy(scope: Scope, issuers: readonly string[], since: Date, after: string, size: number): Promise<S2sTokenDoc[]>;
  /** Revokes those that are not revoked yet, because the token `with_id` was. */
  revokeMany(ids: readonly string[], with_id: string, now: Date): Promise<void>;
  isRevoked(id: string): Promise<boolean>;
  /** Revokes a token for good. `before`: it was revoked already; null: the scope has none. */
  revoke(scope: Scope, id: string, now: Date): Promise<{ token: S2sTokenDoc; before: boolean } | null>;
}

/** The repository of server-to-server tokens over a mongoose model. */
export const s2sTokensRepository = (model: Model<S2sTokenDoc>): S2sTokensRepository => ({
  add: async (token) => {
    await model.create(token);
  },
  valid: (token_hash, now) =>
    model.findOne({ token_hash, revoked_at: null, expires_at: { $gt: now } }).lean<S2sTokenDoc>(),
  seen: async (id, now, unlessSince) => {
    const unnoted = { $or: [{ last_seen_at: null }, { last_seen_at: { $lt: unlessSince } }] };
    return (await model.updateOne({ _id: id, ...unnoted }, { $set: { last_seen_at: now } })).modifiedCount === 1;
  },
  page: (scope, { issued_by, ...filter }, after, size) =>
    newestOf(model, [within(scope), filter, issued_by === undefined ? {} : { "issued_by.id": issued_by }, after], size),
  issuedBy: (scope, issuers, since, after, size) =>
    model
      .find({
        $and: [
          { "issued_by.id": { $in: [...issuers] }, created_at: { $gte: since }, _id: { $gt: after } },
          within(scope),
        ],
      })
      .sort({ _id: 1 })
      .limit(size)
      .lean<S2sTokenDoc[]>(),
  revokeMany: async (ids, with_id, now) => {
    await model.updateMany(
      { _id: { $in: [...ids] }, revoked_at: null },
      { $set: { revoked_at: now, revoked_with: with_id } },
    );
  },
  isRevoked: async (id) => (await model.exists({ _id: id, revoked_at: { $ne: null } })) !== null,
  async revoke(scope, id, now) {
    const mine = { $and: [{ _id: id }, within(scope)] };
    const revoked = await model
      .findOneAndUpdate({ ...mine, revoked_at: null }, { $set: { revoked_at: now } }, { returnDocument: "after" })
      .lean<S2sTokenDoc>();
    if (revoked) return { token: revoked, before: false };
    const token = await model.findOne(mine).lean<S2sTokenDoc>();
    return token && { token, before: true };
  },
});
