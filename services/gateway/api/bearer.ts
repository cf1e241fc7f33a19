import type { Bus } from "../../../shared/bus/bus.ts";
import { timedCache } from "../../../shared/cache.ts";
import { MS_PER_SECOND, type Clock } from "../../../shared/time/clock.ts";
import type { By } from "../../../shared/contracts/records/identity.ts";
import { fail } from "../../../shared/errors.ts";
import { sha256 } from "../../../shared/ids.ts";

/**
 * How long an identity is cached, from the request to auth and not from its answer, which may be slow: below the five seconds in which a
 * revocation takes effect on every node. Auth itself caches nothing.
 */
export const REMEMBER_MS = 4000;
const MAX_TOKENS = 10_000;

const BEARER = /^Bearer +([A-Za-z0-9._~+/=-]{1,8192})$/i;

/** Identifies the asker of a request. */
export interface Identifier {
  /** The bearer of the Authorization header; UNAUTHENTICATED when it is missing or unknown. */
  identify(bus: Bus, authorization: string | undefined): Promise<By>;
}

/** Asks auth, and caches the answer for a few seconds under the token's hash. Refusals are not cached. */
export function identifier(clock: Clock): Identifier {
  const known = timedCache<{ by: By; until_ms: number }>({ ttlSeconds: REMEMBER_MS / MS_PER_SECOND, max: MAX_TOKENS });
  return {
    async identify(bus, authorization) {
      if (authorization === undefined)
        fail("UNAUTHENTICATED", "The request has no bearer token; send the header Authorization: Bearer <token>.");
      const token =
        BEARER.exec(authorization)?.[1] ??
        fail("UNAUTHENTICATED", "The Authorization header is not of the form: Bearer <token>.");
      const key = sha256(token);
      const asked_ms = clock.monotonicMs();
      const remembered = known.get(key);
      if (remembered && asked_ms < remembered.until_ms) return remembered.by;
      const by = await bus.call("auth.identify", { token, proof: true });
      known.set(key, { by, until_ms: asked_ms + REMEMBER_MS });
      return by;
    },
  };
}
