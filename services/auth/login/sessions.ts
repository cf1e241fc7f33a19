import type { Handlers, ServiceDeps } from "../../../shared/bus/bus.ts";
import { WHOLE_SCOPE } from "../../../shared/contracts/records/identity.ts";
import { fail } from "../../../shared/errors.ts";
import type { AuditLog } from "../audit/audit-log.ts";
import { isS2sToken, type AccessTokens } from "../tokens/access-tokens.ts";
import { liveSessions } from "../tokens/live-sessions.ts";
import { byOf, type UserDoc } from "../users/users.model.ts";
import type { UsersRepository } from "../users/users.repository.ts";
import { userChanged } from "../users/users.ts";
import { beginSession, NO_ADDRESS, type PasswordCheck } from "./login.ts";
import type { Passwords } from "./passwords.ts";

/** What a person does with the own session and password. */
export function sessionActions(
  { clock }: Pick<ServiceDeps, "clock">,
  users: UsersRepository,
  { check, passwords, tokens }: { check: PasswordCheck; passwords: Passwords; tokens: AccessTokens },
  audit: Pick<AuditLog, "note">,
): Handlers<"auth", "logOut" | "changePassword"> {
  const liveSession = liveSessions(users, tokens);
  const note = (user: UserDoc, action: string, details: Record<string, unknown> = {}): Promise<void> => {
    const { _id: subject, reseller_id, merchant_id } = user;
    return audit.note({ by: byOf(user), action, subject, reseller_id, merchant_id, details });
  };
  return {
    async logOut({ token }, { bus }) {
      if (isS2sToken(token))
        fail("FORBIDDEN", "A server-to-server token has no session; revoke it with DELETE /s2s-tokens/{id}.");
      const { user, claims } = await liveSession(token, bus);
      await users.endSession(user._id, { jti: claims.jti, until: claims.until }, clock.now());
      await note(user, "user.logged_out");
      return {};
    },
    async changePassword({ token, current_password, new_password, address = NO_ADDRESS }, { bus }) {
      if (isS2sToken(token))
        fail("FORBIDDEN", "A server-to-server token has no password; log in as the user whose password it is.");
      const { email } = (await liveSession(token, bus)).user;
      const user = await check({ email, password: current_password, address }, bus);
      if (new_password === current_password)
        fail("VALIDATION_FAILED", "new_password is the current one; choose another.", {
          errors: [{ path: "new_password", message: "is the current password" }],
        });
      const change = { password_hash: await passwords.hash(new_password), updated_at: clock.now() };
      const changed = await users.change(WHOLE_SCOPE, user, change, true);
      if (changed === null || changed === "taken") return userChanged();
      await note(changed, "user.password_changed", { address });
      return beginSession(tokens, changed);
    },
  };
}
