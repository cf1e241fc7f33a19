import NodeCache from "node-cache";
import type { Bus } from "../../../shared/bus.ts";
import type { Clock } from "../../../shared/clock.ts";
import type { By } from "../../../shared/contracts/identity.ts";
import { fail } from "../../../shared/errors.ts";
import { sha256 } from "../../../shared/ids.ts";

/**
 * How long an identity is remembered, from the moment auth was asked and not from its answer, which may have been long on its way: below the five
 * seconds in which a revocation must hold on every node. Auth itself remembers nothing.
 */
export const REMEMBER_MS = 4000;
const SWEEP_SECONDS = 10;
const MAX_TOKENS = 10_000;
const MS_PER_SECOND = 1000;

const BEARER = /^Bearer +([A-Za-z0-9._~+/=-]{1,8192})$/i;

/** Tells who asks. */
export interface Identifier {
  /** The bearer of the Authorization header; UNAUTHENTICATED when it is missing or nobody's. */
  identify(bus: Bus, authorization: string | undefined): Promise<By>;
  close(): void;
}

/** Asks auth, and remembers the answer for a few seconds under the token's hash. Refusals are not remembered. */
export function identifier(clock: Clock): Identifier {
  const known = new NodeCache({
    stdTTL: REMEMBER_MS / MS_PER_SECOND,
    checkperiod: SWEEP_SECONDS,
    maxKeys: MAX_TOKENS,
    useClones: false,
  });
  return {
    async identify(bus, authorization) {
      if (authorization === undefined)
        fail("UNAUTHENTICATED", "The request has no bearer token; send the header Authorization: Bearer <token>.");
      const token =
        BEARER.exec(authorization)?.[1] ??
        fail("UNAUTHENTICATED", "The Authorization header is not of the form: Bearer <token>.");
      const key = sha256(token);
      const asked_ms = clock.monotonicMs();
      const remembered = known.get<{ by: By; until_ms: number }>(key);
      if (remembered && asked_ms < remembered.until_ms) return remembered.by;
      const by = await bus.call("auth.identify", { token });
      if (known.keys().length >= MAX_TOKENS) known.flushAll(); // rather ask again than grow
      known.set(key, { by, until_ms: asked_ms + REMEMBER_MS });
      return by;
    },
    close: () => known.close(),
  };
}
