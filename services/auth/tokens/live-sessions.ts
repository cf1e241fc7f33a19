import type { Bus } from "../../../shared/bus/bus.ts";
import { fail } from "../../../shared/errors.ts";
import { isTenantActive } from "../login/account-status.ts";
import { hasEnded, tokenVersion, type UserDoc } from "../users/users.model.ts";
import type { UsersRepository } from "../users/users.repository.ts";
import type { AccessTokens, SessionClaims } from "./access-tokens.ts";

/** A session that goes on, and the user whose it is. */
export interface LiveSession {
  user: UserDoc;
  claims: SessionClaims;
}

/** Fails for a bearer token of whatever kind that is not valid, without saying why. */
export const unauthenticated = (): never =>
  fail("UNAUTHENTICATED", "The bearer token is expired, revoked or unknown; log in again or use a valid token.");

/** The session of an access token; UNAUTHENTICATED for one that is not valid, has ended, or whose user or tenant is switched off or gone. */
export const liveSessions =
  (users: Pick<UsersRepository, "byId">, tokens: Pick<AccessTokens, "verify">) =>
  async (token: string, bus: Bus): Promise<LiveSession> => {
    const claims = (await tokens.verify(token)) ?? unauthenticated();
    const user = (await users.byId(claims.id)) ?? unauthenticated();
    if (!user.is_active || tokenVersion(user) !== claims.version || hasEnded(user, claims.jti)) unauthenticated();
    if (!(await isTenantActive(bus, user))) unauthenticated();
    return { user, claims };
  };
