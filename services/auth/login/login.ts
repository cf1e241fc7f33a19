import type { Bus, Handlers, ServiceDeps } from "../../../shared/bus/bus.ts";
import type { LoggedIn } from "../../../shared/contracts/auth.ts";
import { fail } from "../../../shared/errors.ts";
import { sparseLog } from "../../../shared/process/sparse-log.ts";
import type { AuditLog } from "../audit/audit-log.ts";
import type { Passwords } from "./passwords.ts";
import { isTenantActive } from "./account-status.ts";
import { recencyCache } from "../../../shared/cache.ts";
import type { Clock } from "../../../shared/time/clock.ts";
import { growingPauseLimiter, slidingWindowLimiter } from "./login-limiter.ts";
import type { AccessTokens } from "../tokens/access-tokens.ts";
import { byOf, tokenVersion, type UserDoc } from "../users/users.model.ts";
import type { UsersRepository } from "../users/users.repository.ts";

/** Failures in a row of one e-mail from one address, and the pauses after them. */
const PAUSES = { free: 10, firstMs: 60_000, maxMs: 3_600_000 };
/** Failures of one e-mail from all addresses that never logged in with it, in any hour. */
const GUESSES = 1000;
const HOUR_MS = 3_600_000;
const MAX_KEYS = 20_000;
/** The address where the gateway tells none. */
export const NO_ADDRESS = "unknown";

/** E-mail addresses are compared and kept in this form. */
export const emailForm = (email: string): string => email.trim().toLowerCase();

/** Bounds the tries at one e-mail, in this process. */
export interface LoginGuard {
  /** Counts a try; RATE_LIMITED where it is one too many. Call the returned function when it succeeds: only failures count. */
  countTry(email: string, address: string): () => void;
}

/**
 * The guard of log-ins. Who guesses is held up at its own address, ever longer; the owner of the e-mail, at another address, is not. Against guesses
 * from many addresses stands a wide limit, which does not hold where the e-mail has logged in before.
 */
export function loginGuard(clock: Pick<Clock, "monotonicMs">): LoginGuard {
  const pauses = growingPauseLimiter(PAUSES, MAX_KEYS);
  const guesses = slidingWindowLimiter(GUESSES, HOUR_MS, MAX_KEYS);
  const known = recencyCache<true>({ max: MAX_KEYS });
  return {
    countTry(email, address) {
      const here = `${email} ${address}`;
      const now = clock.monotonicMs();
      const isKnown = known.get(here) === true;
      const wait = pauses.acquirePermit(here, now) || (isKnown ? 0 : guesses.acquirePermit(email, now));
      if (wait > 0)
        fail("RATE_LIMITED", `Too many log-in tries for this e-mail; try again in ${wait} seconds.`, {
          retry_after_seconds: wait,
        });
      return () => {
        pauses.refund(here);
        if (!isKnown) guesses.refund(email);
        known.set(here, true);
      };
    },
  };
}

/** An e-mail and a password that somebody gives, and the address from which. */
interface Credentials {
  email: string;
  password: string;
  address?: string | undefined;
}

/** The user whose credentials these are. */
export type PasswordCheck = (given: Credentials, bus: Bus) => Promise<UserDoc>;

/**
 * The check of passwords, one in each process, so that tries are held up wherever they are made: same answer and same work for a wrong password, an
 * unknown e-mail and an inactive user. INVALID_CREDENTIALS, RATE_LIMITED, BUSY.
 */
export function passwordCheck(
  deps: Pick<ServiceDeps, "clock" | "log">,
  users: Pick<UsersRepository, "byEmail">,
  passwords: Passwords,
): PasswordCheck {
  const guard = loginGuard(deps.clock);
  const sparse = sparseLog(deps.clock);
  const countTry = (email: string, address: string): (() => void) => {
    try {
      return guard.countTry(email, address);
    } catch (error) {
      sparse.note("locked", (times) =>
        deps.log.warn({ event: "auth.login_locked", address, times }, "log-ins are held up after too many failures"),
      );
      throw error;
    }
  };
  return async ({ email, password, address = NO_ADDRESS }, bus) => {
    const succeeded = countTry(emailForm(email), address);
    const user = await users.byEmail(emailForm(email));
    const fits = await passwords.verify(password, user?.password_hash ?? null);
    if (!user || !fits || !user.is_active || !(await isTenantActive(bus, user))) {
      sparse.note("failed", (times) => deps.log.warn({ event: "auth.login_failed", address, times }, "log-ins fail"));
      return fail("INVALID_CREDENTIALS", "The e-mail or the password is wrong.");
    }
    succeeded();
    return user;
  };
}

/** A new session of the user. */
export async function beginSession(tokens: Pick<AccessTokens, "sign">, user: UserDoc): Promise<LoggedIn> {
  const { _id: id, email, role, reseller_id, merchant_id } = user;
  return {
    access_token: await tokens.sign({ id, role, reseller_id, merchant_id, version: tokenVersion(user) }),
    token_type: "bearer",
    user: { id, email, role, reseller_id },
  };
}

/** POST /login. */
export const loginWith =
  (
    check: PasswordCheck,
    tokens: Pick<AccessTokens, "sign">,
    audit: Pick<AuditLog, "note">,
  ): Handlers<"auth", "login">["login"] =>
  async (credentials, { bus }) => {
    const user = await check(credentials, bus);
    const { _id: subject, reseller_id, merchant_id } = user;
    const details = { address: credentials.address ?? NO_ADDRESS };
    await audit.note({ by: byOf(user), action: "user.logged_in", subject, reseller_id, merchant_id, details });
    return beginSession(tokens, user);
  };
