import type { Bus, Handling, ParamsOf, ServiceDeps } from "../../../shared/bus/bus.ts";
import { plusMs } from "../../../shared/time/clock.ts";
import type { By } from "../../../shared/contracts/records/identity.ts";
import { sha256 } from "../../../shared/ids.ts";
import { errorForLog } from "../../../shared/process/log.ts";
import type { AuditLog } from "../audit/audit-log.ts";
import type { S2sTokenDoc } from "./s2s-tokens.model.ts";
import type { S2sTokensRepository } from "./s2s-tokens.repository.ts";
import { isTenantActive } from "../login/account-status.ts";
import { isS2sToken, type AccessTokens } from "./access-tokens.ts";
import { byOf } from "../users/users.model.ts";
import { liveSessions, unauthenticated } from "./live-sessions.ts";
import type { UsersRepository } from "../users/users.repository.ts";

/** How fine `last_seen_at` is kept. */
const SEEN_EVERY_MS = 60_000;

const dayOf = (at: Date): string => at.toISOString().slice(0, 10);

/** What identifies a bearer. */
export interface Identities {
  users: UsersRepository;
  s2s: S2sTokensRepository;
  tokens: AccessTokens;
  audit: AuditLog;
}

/** Records the use of a token: to the minute on the token, and each day's first use in the audit log. A failure to record does not reject the token. */
async function recordUse(
  deps: Pick<ServiceDeps, "clock" | "log">,
  { s2s, audit }: Identities,
  token: S2sTokenDoc,
  by: By,
): Promise<void> {
  const now = deps.clock.now();
  const since = plusMs(now, -SEEN_EVERY_MS);
  if (token.last_seen_at !== null && token.last_seen_at >= since) return;
  try {
    if (!(await s2s.seen(token._id, now, since))) return;
  } catch (error) {
    deps.log.warn(
      { event: "auth.seen_not_noted", token_id: token._id, ...errorForLog(error) },
      "the use of a token could not be recorded; the token is accepted",
    );
    return;
  }
  if (token.last_seen_at !== null && dayOf(token.last_seen_at) === dayOf(now)) return;
  await audit.note({
    by,
    action: "token.used",
    subject: token._id,
    reseller_id: token.reseller_id,
    merchant_id: token.merchant_id,
    details: { name: token.name },
  });
}

/**
 * Who a bearer token stands for; UNAUTHENTICATED for anything else, without saying why. Role and scope come from the stored user or token,
 * not from the token's claims, so that a change takes effect as soon as the gateway's cache expires.
 */
export function identifyWith(
  deps: Pick<ServiceDeps, "clock" | "log" | "proven">,
  known: Identities,
): (p: ParamsOf<"auth.identify">, handling: Handling) => Promise<By> {
  const liveSession = liveSessions(known.users, known.tokens);
  const byS2s = async (token: string, bus: Bus): Promise<By> => {
    const found = (await known.s2s.valid(sha256(token), deps.clock.now())) ?? unauthenticated();
    if (!(await isTenantActive(bus, found))) return unauthenticated();
    const by: By = {
      kind: "s2s",
      id: found._id,
      role: found.role,
      reseller_id: found.reseller_id,
      merchant_id: found.merchant_id,
    };
    await recordUse(deps, known, found, by);
    return by;
  };

  const byLogin = async (token: string, bus: Bus): Promise<By> => {
    return byOf((await liveSession(token, bus)).user);
  };

  return async ({ token, proof }, { bus }) => {
    const by = await (isS2sToken(token) ? byS2s(token, bus) : byLogin(token, bus));
    return proof === true ? deps.proven(by) : by;
  };
}
