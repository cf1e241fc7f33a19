import type { Bus } from "../../../shared/bus/bus.ts";
import { recencyCache, timedCache } from "../../../shared/cache.ts";
import { MS_PER_SECOND, type Clock } from "../../../shared/time/clock.ts";
import type { By } from "../../../shared/contracts/records/identity.ts";
import { codeOf, fail } from "../../../shared/errors.ts";
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
  /**
   * The bearer of the Authorization header; UNAUTHENTICATED when it is missing or unknown. `checkBadTokens` is asked for a token that was never
   * accepted here, and what it returns is called where auth refuses it: who guesses does not hold up who shares the address.
   */
  identify(bus: Bus, authorization: string | undefined, checkBadTokens: () => () => void): Promise<By>;
  /** This token is void from now on: identified no more, whatever answer about it is still under way. */
  end(token: string): void;
}

/** The bearer token of an Authorization header; UNAUTHENTICATED where there is none. */
export function bearerOf(authorization: string | undefined): string {
  if (authorization === undefined)
    fail("UNAUTHENTICATED", "The request has no bearer token; send the header Authorization: Bearer <token>.");
  return (
    BEARER.exec(authorization)?.[1] ??
    fail("UNAUTHENTICATED", "The Authorization header is not of the form: Bearer <token>.")
  );
}

/**
 * Asks auth, and caches the answer for a few seconds under the token's hash; of refusals only those of tokens that were accepted here before, which no
 * limit of bad tokens bounds.
 */
export function identifier(clock: Clock): Identifier {
  const known = timedCache<{ by: By; until_ms: number }>({ ttlSeconds: REMEMBER_MS / MS_PER_SECOND, max: MAX_TOKENS });
  const accepted = recencyCache<true>({ max: MAX_TOKENS });
  const ended = recencyCache<true>({ max: MAX_TOKENS });
  /** Tokens that were accepted once and are refused until then. */
  const refused = recencyCache<number>({ max: MAX_TOKENS });
  return {
    async identify(bus, authorization, checkBadTokens) {
      const token = bearerOf(authorization);
      const key = sha256(token);
      if (ended.get(key)) fail("UNAUTHENTICATED", "The session of the bearer token has ended; log in again.");
      const asked_ms = clock.monotonicMs();
      const remembered = known.get(key);
      if (remembered && asked_ms < remembered.until_ms) return remembered.by;
      if (asked_ms < (refused.get(key) ?? asked_ms))
        fail("UNAUTHENTICATED", "The bearer token is expired or revoked; log in again or use a valid token.");
      const isBad = accepted.get(key)
        ? (): void => {
            refused.set(key, asked_ms + REMEMBER_MS);
          }
        : checkBadTokens();
      const by = await bus.call("auth.identify", { token, proof: true }).catch((error: unknown) => {
        if (codeOf(error) === "UNAUTHENTICATED") isBad();
        throw error;
      });
      accepted.set(key, true);
      known.set(key, { by, until_ms: asked_ms + REMEMBER_MS });
      return by;
    },
    end: (token) => {
      ended.set(sha256(token), true);
    },
  };
}
