import type { Bus, Handlers, ServiceDeps } from "../../../shared/bus/bus.ts";
import type { UserRecord } from "../../../shared/contracts/auth.ts";
import { scopeOf } from "../../../shared/contracts/records/identity.ts";
import { fail } from "../../../shared/errors.ts";
import { readPage } from "../../../shared/page.ts";
import type { AuditLog } from "../audit/audit-log.ts";
import type { Refusal } from "../tokens/token-rules.ts";
import { issuerIsVoid, type Issuers } from "../tokens/issuers.ts";
import { emailForm } from "../login/login.ts";
import type { Passwords } from "../login/passwords.ts";
import { refuseScope, type UserScope } from "./user-rules.ts";
import type { UserDoc } from "./users.model.ts";
import type { UsersRepository } from "./users.repository.ts";

/** A user as the API shows it. */
export const viewOf = (doc: UserDoc): UserRecord => ({
  id: doc._id,
  email: doc.email,
  role: doc.role,
  reseller_id: doc.reseller_id,
  merchant_id: doc.merchant_id,
  is_active: doc.is_active,
  ...(doc.access_given_by ? { access_given_by: { kind: doc.access_given_by.kind, id: doc.access_given_by.id } } : {}),
  created_at: doc.created_at.toISOString(),
  updated_at: doc.updated_at.toISOString(),
});

/** Fails for an id that no user of the asker's scope has. */
export const userNotFound = (): never =>
  fail("USER_NOT_FOUND", "No user has this id; GET /users lists those of your scope.");
const RACE_RETRY_SECONDS = 1;
/** Fails where a user is not any more what a change of it was decided on. */
export const userChanged = (): never =>
  fail("BUSY", "The user was changed by somebody else at this moment; look at it and try again.", {
    retry_after_seconds: RACE_RETRY_SECONDS,
  });
/** Fails for an e-mail that another user has. */
export const emailTaken = (): never =>
  fail("EMAIL_EXISTS", "A user with this e-mail exists already; choose another address.", {
    errors: [{ path: "email", message: "exists already" }],
  });
/** Fails where there is a refusal. */
export const failIf = (refusal: Refusal | null): void => {
  if (refusal) fail(refusal.code, refusal.detail, refusal.data);
};

/** Fails unless the reseller and merchant of a scope exist and belong together. */
export async function checkExists(bus: Bus, { reseller_id, merchant_id }: UserScope): Promise<void> {
  if (reseller_id === null) return;
  const exists = await bus.call("merchants.lookup", { reseller_id, ...(merchant_id === null ? {} : { merchant_id }) });
  if (!exists.reseller) fail("RESELLER_NOT_FOUND", "No reseller has this reseller_id; create the reseller first.");
  if (!exists.merchant)
    fail("MERCHANT_NOT_FOUND", "merchant_id is not a merchant of this reseller; create the merchant first.");
}

/** Creates and reads users; user-updates.ts does the rest. */
export function userActions(
  deps: Pick<ServiceDeps, "clock" | "ids">,
  users: UsersRepository,
  passwords: Passwords,
  audit: AuditLog,
  issuers: Issuers,
): Handlers<"auth", "createUser" | "listUsers" | "getUser"> {
  return {
    async createUser({ by, email, password, role, reseller_id = null, merchant_id = null }, { bus }) {
      const scope: UserScope = { role, reseller_id, merchant_id };
      failIf(refuseScope(by, scope));
      await checkExists(bus, scope);
      const now = deps.clock.now();
      const user: UserDoc = {
        _id: deps.ids.uuid(),
        email: emailForm(email),
        ...scope,
        password_hash: await passwords.hash(password),
        is_active: true,
        token_version: 0,
        access_given_by: { kind: by.kind, id: by.id },
        created_at: now,
        updated_at: now,
      };
      if (!(await users.add(user))) emailTaken();
      if (await issuers.isVoid(by)) {
        await users.switchOff([user._id], now);
        issuerIsVoid();
      }
      await audit.note({
        by,
        action: "user.created",
        subject: user._id,
        reseller_id,
        merchant_id,
        details: { email: user.email, role },
      });
      return viewOf(user);
    },
    async listUsers({ by, limit, cursor, email, ...filter }) {
      const wanted = { ...filter, ...(email === undefined ? {} : { email: emailForm(email) }) };
      const { items, next_cursor } = await readPage(
        { limit, cursor },
        (after, size) => users.page(scopeOf(by), wanted, after, size),
        viewOf,
      );
      return { count: items.length, users: items, next_cursor };
    },
    getUser: async ({ by, id }) => viewOf((await users.find(scopeOf(by), id)) ?? userNotFound()),
  };
}
