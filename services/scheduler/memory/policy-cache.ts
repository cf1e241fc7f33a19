import { chunks } from "../../../shared/batching.ts";
import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import { recencyCache, type Cache } from "../../../shared/cache.ts";
import type { Pause } from "../admission/gates.ts";
import { inParts } from "./in-parts.ts";
import { createOwnPlanCache, createPlanCache, type ReadValues } from "./plan-cache.ts";

const MAX_ENTRIES = 50_000;
/** Pauses carry what a person wrote; so many fit into one answer, however long that is. */
const MERCHANTS_AT_ONCE = 100;
/** The deployment's own pause is kept under no merchant's id. */
const DEPLOYMENT = "";

/** An answer; null is one. */
interface Answer<T> {
  value: T;
}

const NOTHING: Cache<never> = {
  get: () => undefined,
  set: () => undefined,
  delete: () => undefined,
  clear: () => undefined,
};

/** A cache of answers that live `ttlMs` of monotonic time; 0: it keeps nothing, so that every answer is fresh. */
export const answerCache = <T extends {}>(clock: ServiceDeps["clock"], ttlMs: number): Cache<T> =>
  ttlMs === 0 ? NOTHING : recencyCache<T>({ max: MAX_ENTRIES, ttl: { ms: ttlMs, clock } });

/** Plans of templates and pauses of merchants over the bus, read for many at once and kept for a moment. `ttlMs` 0: every answer is fresh. */
export function createPolicyCache(deps: Pick<ServiceDeps, "bus" | "clock">, ttlMs: number) {
  const pauses = answerCache<Answer<Pause>>(deps.clock, ttlMs);

  async function readPauses(ids: readonly string[], of: Map<string, Pause>): Promise<void> {
    const merchant_ids = ids.filter((id) => id !== DEPLOYMENT);
    const answer = await deps.bus.call("merchants.pauses", { merchant_ids });
    const byId = new Map(answer.merchants.map((m) => [m.id, m.pause]));
    for (const id of ids) {
      const value = id === DEPLOYMENT ? answer.deployment : (byId.get(id) ?? null);
      pauses.set(id, { value });
      of.set(id, value);
    }
  }

  return {
    ...createPlanCache(deps, ttlMs),
    withOverride: createOwnPlanCache(deps),
    /** Pauses by merchant, and the deployment's own. */
    async pauses(merchant_ids: readonly string[]): Promise<ReadValues<Pause> & { deployment: Pause }> {
      const of = new Map<string, Pause>();
      const missing = [DEPLOYMENT, ...merchant_ids].filter((id) => {
        const known = pauses.get(id);
        if (known) of.set(id, known.value);
        return known === undefined;
      });
      const failed = new Map<string, unknown>();
      for (const some of chunks(missing, { maxItems: MERCHANTS_AT_ONCE }))
        for (const [id, error] of await inParts(some, (part) => readPauses(part, of))) failed.set(id, error);
      if (failed.has(DEPLOYMENT)) throw failed.get(DEPLOYMENT);
      return { of, failed, deployment: of.get(DEPLOYMENT) ?? null };
    },
    invalidatePauses: (): void => pauses.clear(),
  };
}
