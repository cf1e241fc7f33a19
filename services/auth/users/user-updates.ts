import type { Handlers, ServiceDeps } from "../../../shared/bus/bus.ts";
import { scopeOf, type By, type Scope } from "../../../shared/contracts/records/identity.ts";
import { fail, failEmptyChange } from "../../../shared/errors.ts";
import type { AuditLog } from "../audit/audit-log.ts";
import { emailForm } from "../login/login.ts";
import type { Passwords } from "../login/passwords.ts";
import { issuerIsVoid, type Issuers } from "../tokens/issuers.ts";
import {
  isActiveAdmin,
  changedScope,
  refusePassword,
  refuseScopeChange,
  refuseScope,
  widensAccess,
} from "./user-rules.ts";
import { checkExists, failIf, emailTaken, userChanged, userNotFound, viewOf } from "./users.ts";
import type { UserDoc } from "./users.model.ts";
import type { UserChange, UsersRepository } from "./users.repository.ts";

const lastAdmin = (): never => fail("RESOURCE_IN_USE", "This is the last active admin; make another one first.");

/** The fields that change, for the audit log, which never contains a password. */
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
  const changed = (await users.change(scope, admin, change, true)) ?? userChanged();
  if (changed === "taken") return emailTaken();
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

/** A new password, and whose responsibility the access is from now on. */
const newPassword = async (passwords: Passwords, by: By, password: string) => ({
  password_hash: await passwords.hash(password),
  access_given_by: { kind: by.kind, id: by.id },
});

/** Changes and deletes users. */
export function userUpdateActions(
  deps: Pick<ServiceDeps, "clock">,
  users: UsersRepository,
  passwords: Passwords,
  audit: AuditLog,
  issuers: Issuers,
): Handlers<"auth", "updateUser" | "deleteUser"> {
  const forChange = async (scope: Scope, id: string): Promise<UserDoc> =>
    (await users.find(scope, id)) ?? userNotFound();
  const note = (by: By, action: string, user: UserDoc, details: Record<string, unknown>): Promise<void> => {
    const { _id: subject, reseller_id, merchant_id } = user;
    return audit.note({ by, action, subject, reseller_id, merchant_id, details });
  };
  const withdraw = (scope: Scope, admin: UserDoc, change: UserChange): Promise<UserDoc> =>
    withdrawAdmin(users, () => deps.clock.now(), scope, admin, change);

  return {
    async updateUser({ by, id, ...wanted }, { bus }) {
      if (Object.keys(wanted).length === 0) failEmptyChange();
      const scope = scopeOf(by);
      const user = await forChange(scope, id);
      if (wanted.password !== undefined) failIf(refusePassword(by, id));
      const belongs = changedScope(user, wanted);
      failIf(refuseScopeChange(by, user, belongs));
      if (belongs.reseller_id !== user.reseller_id || belongs.merchant_id !== user.merchant_id)
        await checkExists(bus, belongs);
      const { email, password, is_active } = wanted;
      const widened = widensAccess(user, { ...belongs, is_active: is_active ?? user.is_active });
      const change: UserChange = {
        ...belongs,
        updated_at: deps.clock.now(),
        ...(email === undefined ? {} : { email: emailForm(email) }),
        ...(is_active === undefined ? {} : { is_active }),
        ...(widened ? { widened_by: { kind: by.kind, id: by.id } } : {}),
        ...(password === undefined ? {} : await newPassword(passwords, by, password)),
      };
      const withdrawn = isActiveAdmin(user) && !isActiveAdmin({ ...user, ...change });
      const changed = withdrawn
        ? await withdraw(scope, user, change)
        : ((await users.change(scope, user, change, password !== undefined || is_active === false)) ?? userChanged());
      if (changed === "taken") return emailTaken();
      if ((password !== undefined || widened) && (await issuers.isVoid(by)))
        await users.switchOff([id], deps.clock.now()).then(issuerIsVoid);
      await note(by, "user.updated", changed, changes(user, change));
      return viewOf(changed);
    },
    async deleteUser({ by, id }) {
      const scope = scopeOf(by);
      const user = await forChange(scope, id);
      failIf(refuseScope(by, user));
      const going = isActiveAdmin(user)
        ? await withdraw(scope, user, { is_active: false, updated_at: deps.clock.now() })
        : user;
      if (!(await users.remove(scope, going))) userChanged();
      await note(by, "user.deleted", user, { email: user.email, role: user.role });
      return {};
    },
  };
}
