import type { Model, UpdateQuery } from "mongoose";
import type { ListFilter } from "../../../shared/bus/bus.ts";
import { within, type Scope } from "../../../shared/contracts/records/identity.ts";
import { isDuplicateKey } from "../../../shared/database/database-errors.ts";
import { newestOf, type PageFilter } from "../../../shared/page.ts";
import type { UserDoc } from "./users.model.ts";

/** What a list of users is narrowed by. */
type UserFilter = ListFilter<"auth.listUsers">;

/** What may change of a user. */
export type UserChange = Partial<
  Pick<UserDoc, "email" | "role" | "reseller_id" | "merchant_id" | "password_hash" | "is_active">
> & { updated_at: Date };

/** Reads and writes of the collection `users`. What is done on behalf of a person takes its scope; the others serve log-in and start. */
export interface UsersRepository {
  byEmail(email: string): Promise<UserDoc | null>;
  byId(id: string): Promise<UserDoc | null>;
  /** Adds a user; false when the e-mail is taken already. */
  add(user: UserDoc): Promise<boolean>;
  find(scope: Scope, id: string): Promise<UserDoc | null>;
  /** The user, if it lies in the scope; "foreign" when it exists elsewhere; null when it exists nowhere. */
  forChange(scope: Scope, id: string): Promise<UserDoc | "foreign" | null>;
  page(scope: Scope, filter: UserFilter, after: PageFilter, size: number): Promise<UserDoc[]>;
  /** Changes a user whose state is still `seen`; `logOut` ends its access tokens. "taken": the e-mail is; null: it changed meanwhile. */
  change(scope: Scope, seen: UserDoc, change: UserChange, logOut: boolean): Promise<UserDoc | "taken" | null>;
  /** Deletes a user whose state is still `seen`; false: it changed meanwhile. */
  remove(scope: Scope, seen: UserDoc): Promise<boolean>;
  /** Whether any admin is active, other than the named one. */
  anyAdmin(besides?: string): Promise<boolean>;
}

/** What a change is decided on: the user's scope and whether it is active. */
const seenState = ({
  _id,
  role,
  reseller_id,
  merchant_id,
  is_active,
}: UserDoc): Pick<UserDoc, "_id" | "role" | "reseller_id" | "merchant_id" | "is_active"> => ({
  _id,
  role,
  reseller_id,
  merchant_id,
  is_active,
});

const orTaken = <T>(work: Promise<T>): Promise<T | "taken"> =>
  work.catch((error: unknown) => {
    if (isDuplicateKey(error)) return "taken" as const;
    throw error;
  });

/** The repository of users over a mongoose model. E-mails are looked up as stored: lower-case. */
export const usersRepository = (model: Model<UserDoc>): UsersRepository => ({
  byEmail: (email) => model.findOne({ email }).lean<UserDoc>(),
  byId: (id) => model.findOne({ _id: id }).lean<UserDoc>(),
  add: async (user) => (await orTaken(model.create(user))) !== "taken",
  find: (scope, id) => model.findOne({ $and: [{ _id: id }, within(scope)] }).lean<UserDoc>(),
  async forChange(scope, id) {
    const found = await model.findOne({ $and: [{ _id: id }, within(scope)] }).lean<UserDoc>();
    if (found) return found;
    return (await model.exists({ _id: id })) ? "foreign" : null;
  },
  page: (scope, filter, after, size) => newestOf(model, [within(scope), filter, after], size),
  change(scope, seen, change, logOut) {
    const update: UpdateQuery<UserDoc> = { $set: change, ...(logOut ? { $inc: { token_version: 1 } } : {}) };
    return orTaken(
      model
        .findOneAndUpdate({ $and: [seenState(seen), within(scope)] }, update, { returnDocument: "after" })
        .lean<UserDoc>(),
    );
  },
  remove: async (scope, seen) => (await model.deleteOne({ $and: [seenState(seen), within(scope)] })).deletedCount === 1,
  anyAdmin: async (besides) =>
    (await model.exists({
      role: "admin",
      is_active: true,
      ...(besides === undefined ? {} : { _id: { $ne: besides } }),
    })) !== null,
});
