import type { Handling, ParamsOf, ResultOf, ServiceDeps } from "../../../shared/bus/bus.ts";
import { fail } from "../../../shared/errors.ts";
import type { Passwords } from "./passwords.ts";
import { isTenantActive } from "./account-status.ts";
import { slidingWindowLimiter } from "./login-limiter.ts";
import type { AccessTokens } from "../tokens/access-tokens.ts";
import { tokenVersion } from "../users/users.model.ts";
import type { UsersRepository } from "../users/users.repository.ts";

const MAX_ATTEMPTS = 10;
const WINDOW_MS = 60_000;
const REMEMBERED_EMAILS = 20_000;

/** E-mail addresses are compared and kept in this form. */
export const emailForm = (email: string): string => email.trim().toLowerCase();

type Login = (credentials: ParamsOf<"auth.login">, handling: Handling) => Promise<ResultOf<"auth.login">>;

/** POST /login: same answer and same work for a wrong password, an unknown e-mail and an inactive user; ten failed attempts a minute per e-mail. */
export function loginWith(
  deps: Pick<ServiceDeps, "clock">,
  users: UsersRepository,
  passwords: Passwords,
  tokens: AccessTokens,
): Login {
  const limiter = slidingWindowLimiter(MAX_ATTEMPTS, WINDOW_MS, REMEMBERED_EMAILS);
  return async ({ email, password }, { bus }) => {
    const address = emailForm(email);
    const wait = limiter.acquirePermit(address, deps.clock.monotonicMs());
    if (wait > 0)
      fail("RATE_LIMITED", `Too many log-in tries for this e-mail; try again in ${wait} seconds.`, {
        retry_after_seconds: wait,
      });
    const user = await users.byEmail(address);
    const fits = await passwords.verify(password, user?.password_hash ?? null);
    if (!user || !fits || !user.is_active || !(await isTenantActive(bus, user)))
      fail("INVALID_CREDENTIALS", "The e-mail or the password is wrong.");
    limiter.refund(address);
    return {
      access_token: await tokens.sign({
        id: user._id,
        role: user.role,
        reseller_id: user.reseller_id,
        merchant_id: user.merchant_id,
        version: tokenVersion(user),
      }),
      token_type: "bearer",
      user: { id: user._id, email: user.email, role: user.role, reseller_id: user.reseller_id },
    };
  };
}
