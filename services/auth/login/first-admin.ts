import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import { emailForm } from "./login.ts";
import { MIN_PASSWORD, type Passwords } from "./passwords.ts";
import type { UsersRepository } from "../users/users.repository.ts";

/** As narrow as the log-in contract: an address that could never log in must not become the admin. */
const EMAIL = /^[^\s@]{1,64}@[^\s@.]{1,63}(?:\.[^\s@.]{1,63}){1,8}$/;

/**
 * Creates the first admin from ADMIN_EMAIL and ADMIN_PASSWORD. One that exists is left as it is, password included; of several replicas
 * starting at once the unique index lets one write. Throws one sentence when the two values can't be used.
 */
export async function ensureFirstAdmin(
  deps: Pick<ServiceDeps, "clock" | "env" | "ids" | "log">,
  users: UsersRepository,
  passwords: Passwords,
): Promise<void> {
  const { ADMIN_EMAIL, ADMIN_PASSWORD } = deps.env;
  if (ADMIN_EMAIL === undefined || ADMIN_PASSWORD === undefined) return;
  const email = emailForm(ADMIN_EMAIL);
  if (!EMAIL.test(email)) throw new Error("auth can't start: ADMIN_EMAIL is not an e-mail address");
  if (await users.byEmail(email)) return;
  if (ADMIN_PASSWORD.length < MIN_PASSWORD || ADMIN_PASSWORD.trim() === "")
    throw new Error(`auth can't start: ADMIN_PASSWORD must have at least ${MIN_PASSWORD} characters, not only blanks`);
  const now = deps.clock.now();
  const added = await users.add({
    _id: deps.ids.uuid(),
    email,
    role: "admin",
    reseller_id: null,
    merchant_id: null,
    password_hash: await passwords.hash(ADMIN_PASSWORD),
    is_active: true,
    token_version: 0,
    created_at: now,
    updated_at: now,
  });
  if (added) deps.log.info({ event: "auth.first_admin" }, "the first admin was created");
}
