import type { Bus, ParamsOf, ResultOf, ServiceGround } from "../../shared/bus.ts";
import type { UserRecord } from "../../shared/contracts/auth.ts";
import { scopeOf, type Scope } from "../../shared/contracts/identity.ts";
import { fail } from "../../shared/errors.ts";
import { pageFilter, pageOf, pageSize } from "../../shared/page.ts";
import type { Auditing } from "./auditing.ts";
import type { Refusal } from "./issuing.ts";
import { emailForm } from "./login.ts";
import type { Passwords } from "./passwords.ts";
import { isActiveAdmin, moved, refuseMove, refusePlace, type Place } from "./user-rules.ts";
import type { UserDoc } from "./users.model.ts";
import type { UserChange, UsersRepository } from "./users.repository.ts";

/** People who log in, as auth's actions want them. */
export interface Users {
  create(wanted: ParamsOf<"auth.createUser">, bus: Bus): Promise<UserRecord>;
  list(asked: ParamsOf<"auth.listUsers">): Promise<ResultOf<"auth.listUsers">>;
  get(asked: ParamsOf<"auth.getUser">): Promise<UserRecord>;
  update(asked: ParamsOf<"auth.updateUser">, bus: Bus): Promise<UserRecord>;
  remove(asked: ParamsOf<"auth.deleteUser">): Promise<Record<string, never>>;
}

const viewOf = (doc: UserDoc): UserRecord => ({
  id: doc._id, email: doc.email, role: doc.role, reseller_id: doc.reseller_id, merchant_id: doc.merchant_id, is_active: doc.is_active,
  created_at: doc.created_at.toISOString(), updated_at: doc.updated_at.toISOString(),
});

const RACE_RETRY_SECONDS = 1;

const unknown = (): never => fail("USER_NOT_FOUND", "No user has this id; GET /users lists those of your scope.");
const taken = (): never => fail("EMAIL_EXISTS", "A user with this e-mail exists already; choose another address.", { errors: [{ path: "email", message: "exists already" }] });
const lastAdmin = (): never => fail("RESOURCE_IN_USE", "This is the last active admin; make another one first.");
const overtaken = (): never => fail("BUSY", "The user was changed by somebody else at this moment; look at it and try again.", { retry_after_seconds: RACE_RETRY_SECONDS });
const orFail = (refusal: Refusal | null): void => { if (refusal) fail(refusal.code, refusal.detail, refusal.data); };

async function checkExists(bus: Bus, { reseller_id, merchant_id }: Place): Promise<void> {
  if (reseller_id === null) return;
  const exists = await bus.call("merchants.lookup", { reseller_id, ...(merchant_id === null ? {} : { merchant_id }) });
  if (!exists.reseller) fail("RESELLER_NOT_FOUND", "No reseller has this reseller_id; create the reseller first.");
  if (!exists.merchant) fail("MERCHANT_NOT_FOUND", "merchant_id is not a merchant of this reseller; create the merchant first.");
}

/** The names of the fields that change, for the audit log: values of passwords must not get there. */
const changes = (user: UserDoc, { updated_at: _, password_hash, ...change }: UserChange): Record<string, unknown> => ({
  ...Object.fromEntries(Object.entries(change).filter(([name, value]) => user[name as keyof typeof change] !== value).map(([name, value]) => [name, value])),
  ...(password_hash === undefined ? {} : { password: "changed" }),
});

/** Manages people. */
export function userManagement(ground: ServiceGround, users: UsersRepository, passwords: Passwords, audit: Auditing): Users {
  const forChange = async (scope: Scope, id: string): Promise<UserDoc> => {
    const user = await users.forChange(scope, id) ?? unknown();
    return user === "foreign" ? fail("FORBIDDEN", "The user belongs to another scope than yours; ask its reseller or an admin.") : user;
  };
  const note = (by: ParamsOf<"auth.record">["by"], action: string, user: UserDoc, details: Record<string, unknown>): Promise<void> =>
    audit.note({ by, action, subject: user._id, reseller_id: user.reseller_id, merchant_id: user.merchant_id, details });

  /**
   * Switches an admin off, or changes it so that it is none, and takes that back when no active admin is left: of two admins who remove each
   * other at once both may be refused, but one stays.
   */
  const withdrawAdmin = async (scope: Scope, admin: UserDoc, change: UserChange): Promise<UserDoc> => {
    if (!await users.anyAdmin(admin._id)) lastAdmin();
    const changed = await users.change(scope, admin, change, true) ?? overtaken();
    if (changed === "taken") return taken();
    if (await users.anyAdmin()) return changed;
    const { email, role, reseller_id, merchant_id, password_hash, is_active } = admin;
    await users.change(scope, changed, { email, role, reseller_id, merchant_id, password_hash, is_active, updated_at: ground.clock.now() }, false);
    return lastAdmin();
  };

  return {
    async create({ by, email, password, role, reseller_id = null, merchant_id = null }, bus) {
      const place: Place = { role, reseller_id, merchant_id };
      orFail(refusePlace(by, place));
      await checkExists(bus, place);
      const now = ground.clock.now();
      const user: UserDoc = {
        _id: ground.ids.uuid(), email: emailForm(email), ...place, password_hash: await passwords.hash(password), is_active: true, token_version: 0, created_at: now, updated_at: now,
      };
      if (!await users.add(user)) taken();
      await note(by, "user.created", user, { email: user.email, role });
      return viewOf(user);
    },
    async list({ by, limit, cursor, email, ...filter }) {
      const wanted = { ...filter, ...(email === undefined ? {} : { email: emailForm(email) }) };
      const { items, next_cursor } = pageOf(await users.page(scopeOf(by), wanted, pageFilter(cursor), pageSize(limit)), limit);
      return { count: items.length, users: items.map(viewOf), next_cursor };
    },
    get: async ({ by, id }) => viewOf(await users.find(scopeOf(by), id) ?? unknown()),
    async update({ by, id, ...wanted }, bus) {
      if (Object.keys(wanted).length === 0) fail("VALIDATION_FAILED", "The body names no field to change.", { errors: [{ path: "", message: "names no field to change" }] });
      const scope = scopeOf(by);
      const user = await forChange(scope, id);
      const place = moved(user, wanted);
      orFail(refuseMove(by, user, place));
      if (place.reseller_id !== user.reseller_id || place.merchant_id !== user.merchant_id) await checkExists(bus, place);
      const { email, password, is_active } = wanted;
      const change: UserChange = {
        ...place, updated_at: ground.clock.now(), ...(email === undefined ? {} : { email: emailForm(email) }), ...(is_active === undefined ? {} : { is_active }),
        ...(password === undefined ? {} : { password_hash: await passwords.hash(password) }),
      };
      const withdrawn = isActiveAdmin(user) && !isActiveAdmin({ ...user, ...change });
      const changed = withdrawn ? await withdrawAdmin(scope, user, change) : await users.change(scope, user, change, password !== undefined || is_active === false) ?? overtaken();
      if (changed === "taken") return taken();
      await note(by, "user.updated", changed, changes(user, change));
      return viewOf(changed);
    },
    async remove({ by, id }) {
      const scope = scopeOf(by);
      const user = await forChange(scope, id);
      orFail(refusePlace(by, user));
      const going = isActiveAdmin(user) ? await withdrawAdmin(scope, user, { is_active: false, updated_at: ground.clock.now() }) : user;
      if (!await users.remove(scope, going)) overtaken();
      await note(by, "user.deleted", user, { email: user.email, role: user.role });
      return {};
    },
  };
}
