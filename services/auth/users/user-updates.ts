import type { Bus, ParamsOf, ServiceDeps } from "../../../shared/bus.ts";
import type { UserRecord } from "../../../shared/contracts/auth.ts";
import { scopeOf, type Scope } from "../../../shared/contracts/identity.ts";
import { fail } from "../../../shared/errors.ts";
import type { Auditing } from "../audit/audit-log.ts";
import { emailForm } from "../login/login.ts";
import type { Passwords } from "../login/passwords.ts";
import { isActiveAdmin, moved, refuseMove, refusePlace } from "./user-rules.ts";
import { checkExists, orFail, taken, unknown, viewOf } from "./users.ts";
import type { UserDoc } from "./users.model.ts";
import type { UserChange, UsersRepository } from "./users.repository.ts";

/** Changes and deletes people. */
export interface UserChanging {
  update(asked: ParamsOf<"auth.updateUser">, bus: Bus): Promise<UserRecord>;
  remove(asked: ParamsOf<"auth.deleteUser">): Promise<Record<string, never>>;
}

const RACE_RETRY_SECONDS = 1;
const lastAdmin = (): never => fail("RESOURCE_IN_USE", "This is the last active admin; make another one first.");
const overtaken = (): never =>
  fail("BUSY", "The user was changed by somebody else at this moment; look at it and try again.", {
    retry_after_seconds: RACE_RETRY_SECONDS,
  });

/** The fields that change, for the audit log, where no password may get. */
const changes = (
  user: UserDoc,
  {
    email = user.email,
    role = user.role,
    reseller_id = user.reseller_id,
    merchant_id = user.merchant_id,
    is_active = user.is_active,
    password_hash,
  }: UserChange,
) => ({
  ...(email === user.email ? {} : { email }),
  ...(role === user.role ? {} : { role }),
  ...(reseller_id === user.reseller_id ? {} : { reseller_id }),
  ...(merchant_id === user.merchant_id ? {} : { merchant_id }),
  ...(is_active === user.is_active ? {} : { is_active }),
  ...(password_hash === undefined ? {} : { password: "changed" }),
});

/**
 * Switches an admin off, or changes it so that it is none, and takes that back when no active admin is left: of two admins who remove each
 * other at once both may be refused, but one stays.
 */
async function withdrawAdmin(
  users: UsersRepository,
  now: () => Date,
  scope: Scope,
  admin: UserDoc,
  change: UserChange,
): Promise<UserDoc> {
  if (!(await users.anyAdmin(admin._id))) lastAdmin();
  const changed = (await users.change(scope, admin, change, true)) ?? overtaken();
  if (changed === "taken") return taken();
  if (await users.anyAdmin()) return changed;
  const { email, role, reseller_id, merchant_id, password_hash, is_active } = admin;
  const restored = await users.change(
    scope,
    changed,
    { email, role, reseller_id, merchant_id, password_hash, is_active, updated_at: now() },
    false,
  );
  return restored === null || restored === "taken"
    ? fail(
        "INTERNAL",
        `The last admin ${admin._id} is switched off and could not be put back; set ADMIN_EMAIL and ADMIN_PASSWORD to a new admin and start again.`,
      )
    : lastAdmin();
}

/** Changes to people, over their repository. */
export function userChanging(
  ground: ServiceDeps,
  users: UsersRepository,
  passwords: Passwords,
  audit: Auditing,
): UserChanging {
  const forChange = async (scope: Scope, id: string): Promise<UserDoc> => {
    const user = (await users.forChange(scope, id)) ?? unknown();
    return user === "foreign"
      ? fail("FORBIDDEN", "The user belongs to another scope than yours; ask its reseller or an admin.")
      : user;
  };
  const note = (
    by: ParamsOf<"auth.record">["by"],
    action: string,
    user: UserDoc,
    details: Record<string, unknown>,
  ): Promise<void> =>
    audit.note({
      by,
      action,
      subject: user._id,
      reseller_id: user.reseller_id,
      merchant_id: user.merchant_id,
      details,
    });
  const withdraw = (scope: Scope, admin: UserDoc, change: UserChange): Promise<UserDoc> =>
    withdrawAdmin(users, () => ground.clock.now(), scope, admin, change);

  return {
    async update({ by, id, ...wanted }, bus) {
      if (Object.keys(wanted).length === 0)
        fail("VALIDATION_FAILED", "The body names no field to change.", {
          errors: [{ path: "", message: "names no field to change" }],
        });
      const scope = scopeOf(by);
      const user = await forChange(scope, id);
      const place = moved(user, wanted);
      orFail(refuseMove(by, user, place));
      if (place.reseller_id !== user.reseller_id || place.merchant_id !== user.merchant_id)
        await checkExists(bus, place);
      const { email, password, is_active } = wanted;
      const change: UserChange = {
        ...place,
        updated_at: ground.clock.now(),
        ...(email === undefined ? {} : { email: emailForm(email) }),
        ...(is_active === undefined ? {} : { is_active }),
        ...(password === undefined ? {} : { password_hash: await passwords.hash(password) }),
      };
      const withdrawn = isActiveAdmin(user) && !isActiveAdmin({ ...user, ...change });
      const changed = withdrawn
        ? await withdraw(scope, user, change)
        : ((await users.change(scope, user, change, password !== undefined || is_active === false)) ?? overtaken());
      if (changed === "taken") return taken();
      await note(by, "user.updated", changed, changes(user, change));
      return viewOf(changed);
    },
    async remove({ by, id }) {
      const scope = scopeOf(by);
      const user = await forChange(scope, id);
      orFail(refusePlace(by, user));
      const going = isActiveAdmin(user)
        ? await withdraw(scope, user, { is_active: false, updated_at: ground.clock.now() })
        : user;
      if (!(await users.remove(scope, going))) overtaken();
      await note(by, "user.deleted", user, { email: user.email, role: user.role });
      return {};
    },
  };
}
