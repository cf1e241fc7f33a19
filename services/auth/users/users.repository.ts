import type { Model, UpdateQuery } from "mongoose";
import type { ListFilter } from "../../../shared/bus/bus.ts";
import { within, type Scope } from "../../../shared/contracts/records/identity.ts";
import { isDuplicateKey } from "../../../shared/database/database-errors.ts";
import { newestOf, type PageFilter } from "../../../shared/page.ts";
import { MAX_ENDED_SESSIONS, tokenVersion, type EndedSession, type UserDoc } from "./users.model.ts";

/** What a list of users is narrowed by. */
type UserFilter = ListFilter<"auth.listUsers">;

/** What may change of a user. */
export type UserChange = Partial<
  Pick<
    UserDoc,
    "email" | "role" | "reseller_id" | "merchant_id" | "password_hash" | "is_active" | "access_given_by" | "widened_by"
  >
> & { updated_at: Date };

/** Reads and writes of the collection `users`. What is done on behalf of a person takes its scope; the others serve log-in and start. */
export interface UsersRepository {
  byEmail(email: string): Promise<UserDoc | null>;
  byId(id: string): Promise<UserDoc | null>;
  /** Adds a user; false when the e-mail is taken already. */
  add(user: UserDoc): Promise<boolean>;
  find(scope: Scope, id: string): Promise<UserDoc | null>;
  page(scope: Scope, filter: UserFilter, after: PageFilter, size: number): Promise<UserDoc[]>;
  /** Changes a user whose state is still `seen`; `logOut` ends its access tokens. "taken": the e-mail is; null: it changed meanwhile. */
  change(scope: Scope, seen: UserDoc, change: UserChange, logOut: boolean): Promise<UserDoc | "taken" | null>;
  /** Ends a session of a user. Expired ones are dropped; where there are too many others, all the user's sessions end. */
  endSession(id: string, session: EndedSession, now: Date): Promise<void>;
  /** Deletes a user whose state is still `seen`; false: it changed meanwhile. */
  remove(scope: Scope, seen: UserDoc): Promise<boolean>;
  /** A page of the users of a scope, admins left out, to whom any of these gave access, by id; `after` is the last id of the page before. */
  givenAccessBy(scope: Scope, givers: readonly string[], after: string, size: number): Promise<UserDoc[]>;
  /** Switches those off that are active and no admins, and ends their access tokens. */
  switchOff(ids: readonly string[], now: Date): Promise<void>;
  /** Whether any admin is active, other than the named one. */
  anyAdmin(besides?: string): Promise<boolean>;
}

/** What a change is decided on: the user's scope, whether it is active, and the password, which no change leaves at the same version. */
const seenState = (seen: UserDoc) => {
  const { _id, role, reseller_id, merchant_id, is_active } = seen;
  const version = tokenVersion(seen);
  // absent is 0
  return {
    _id,
    role,
    reseller_id,
    merchant_id,
    is_active,
    token_version: version === 0 ? { $not: { $gt: 0 } } : version,
  };
};

const orTaken = <T>(work: Promise<T>): Promise<T | "taken"> =>
  work.catch((error: unknown) => {
    if (isDuplicateKey(error)) return "taken" as const;
    throw error;
  });

/** Users to whom one of these gave access, or more of it. */
const givenBy = (givers: readonly string[]) => ({
  $or: [{ "access_given_by.id": { $in: [...givers] } }, { "widened_by.id": { $in: [...givers] } }],
});

/** The repository of users over a mongoose model. E-mails are looked up as stored: lower-case. */
export const usersRepository = (model: Model<UserDoc>): UsersRepository => ({
  byEmail: (email) => model.findOne({ email }).lean<UserDoc>(),
  byId: (id) => model.findOne({ _id: id }).lean<UserDoc>(),
  add: async (user) => (await orTaken(model.create(user))) !== "taken",
  find: (scope, id) => model.findOne({ $and: [{ _id: id }, within(scope)] }).lean<UserDoc>(),
  page: (scope, { access_given_by, ...filter }, after, size) =>
    newestOf(
      model,
      [within(scope), filter, access_given_by === undefined ? {} : givenBy([access_given_by]), after],
      size,
    ),
  givenAccessBy: (scope, givers, after, size) =>
    model
      .find({
        $and: [givenBy(givers), { _id: { $gt: after }, role: { $ne: "admin" } }, within(scope)],
      })
      .sort({ _id: 1 })
      .limit(size)
      .lean<UserDoc[]>(),
  switchOff: async (ids, now) => {
    await model.updateMany(
      { _id: { $in: [...ids] }, is_active: true, role: { $ne: "admin" } },
      { $set: { is_active: false, updated_at: now }, $inc: { token_version: 1 } },
    );
  },
  change(scope, seen, change, logOut) {
    const update: UpdateQuery<UserDoc> = { $set: change, ...(logOut ? { $inc: { token_version: 1 } } : {}) };
    return orTaken(
      model
        .findOneAndUpdate({ $and: [seenState(seen), within(scope)] }, update, { returnDocument: "after" })
        .lean<UserDoc>(),
    );
  },
  async endSession(id, session, now) {
    const there = { _id: id };
    await model.updateOne(there, { $pull: { ended_sessions: { until: { $lte: now } } } });
    const { matchedCount } = await model.updateOne(
      { ...there, [`ended_sessions.${MAX_ENDED_SESSIONS - 1}`]: { $exists: false } },
      { $push: { ended_sessions: session } },
    );
    if (matchedCount === 0) await model.updateOne(there, { $inc: { token_version: 1 }, $set: { ended_sessions: [] } });
  },
  remove: async (scope, seen) => (await model.deleteOne({ $and: [seenState(seen), within(scope)] })).deletedCount === 1,
  anyAdmin: async (besides) =>
    (await model.exists({
      role: "admin",
      is_active: true,
      ...(besides === undefined ? {} : { _id: { $ne: besides } }),
    })) !== null,
});
