import type { ServiceGround } from "../../shared/bus.ts";
import { plusMs } from "../../shared/clock.ts";
import type { By } from "../../shared/contracts/identity.ts";
import { fail } from "../../shared/errors.ts";
import { sha256 } from "../../shared/ids.ts";
import { errorForLog } from "../../shared/log.ts";
import type { S2sTokensRepository, UsersRepository } from "./auth.repository.ts";
import { isS2sToken, type AccessTokens } from "./tokens.ts";

/** How fine `last_seen_at` is kept. */
const SEEN_EVERY_MS = 60_000;

/**
 * Who a bearer token stands for; UNAUTHENTICATED for anything else, without saying why. Role and scope come from the stored user or token,
 * not from what the token says, so that a person who was switched off or moved is out within the gateway's few seconds of memory.
 */
export function identifyWith(ground: ServiceGround, users: UsersRepository, s2s: S2sTokensRepository, tokens: AccessTokens): (p: { token: string }) => Promise<By> {
  const stranger = (): never => fail("UNAUTHENTICATED", "The bearer token is expired, revoked or unknown; log in again or use a valid token.");

  const byS2s = async (token: string): Promise<By> => {
    const now = ground.clock.now();
    const found = (await s2s.valid(sha256(token), now)) ?? stranger();
    const since = plusMs(now, -SEEN_EVERY_MS);
    if (found.last_seen_at === null || found.last_seen_at < since) {
      await s2s.seen(found._id, now, since).catch((error: unknown) => {
        ground.log.warn({ event: "auth.seen_not_noted", token_id: found._id, ...errorForLog(error) }, "the use of a token could not be noted; it is let in all the same");
      });
    }
    return { kind: "s2s", id: found._id, role: found.role, reseller_id: found.reseller_id, merchant_id: found.merchant_id };
  };

  const byLogin = async (token: string): Promise<By> => {
    const id = (await tokens.verify(token)) ?? stranger();
    const user = await users.byId(id);
    if (!user?.is_active) return stranger();
    return { kind: "user", id: user._id, role: user.role, reseller_id: user.reseller_id, merchant_id: user.merchant_id };
  };

  return ({ token }) => (isS2sToken(token) ? byS2s(token) : byLogin(token));
}
