import { chunks } from "../../../shared/batching.ts";
import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import { recencyCache, type Cache } from "../../../shared/cache.ts";
import type { CalleeCap } from "../../../shared/contracts/merchants.ts";
import type { Pause } from "../admission/gates.ts";
import { inParts } from "./in-parts.ts";
import { createOwnPlanCache, createPlanCache, type ReadValues } from "./plan-cache.ts";

const MAX_ENTRIES = 50_000;
/** Pauses carry what a person wrote; so many fit into one answer, however long that is. */
const MERCHANTS_AT_ONCE = 100;
/** The deployment's own pause is kept under no merchant's id. */
const DEPLOYMENT = "";

/** A merchant's pause and its cap on calls per callee; null: it has none. */
interface Policy {
  pause: Pause;
  cap: CalleeCap | null;
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
  const policies = answerCache<Policy>(deps.clock, ttlMs);

  async function readPolicies(ids: readonly string[], of: Map<string, Policy>): Promise<void> {
    const merchant_ids = ids.filter((id) => id !== DEPLOYMENT);
    const answer = await deps.bus.call("merchants.pauses", { merchant_ids });
    const byId = new Map(answer.merchants.map((m) => [m.id, m.pause]));
    const caps = new Map(answer.caps?.map((m) => [m.id, m.max_calls_per_callee]));
    for (const id of ids) {
      const pause = id === DEPLOYMENT ? answer.deployment : (byId.get(id) ?? null);
      const policy = { pause, cap: caps.get(id) ?? null };
      policies.set(id, policy);
      of.set(id, policy);
    }
  }

  return {
    ...createPlanCache(deps, ttlMs),
    withOverride: createOwnPlanCache(deps),
    /** Pauses and caps by merchant, and the deployment's own pause. */
    async merchants(merchant_ids: readonly string[]): Promise<ReadValues<Policy> & { deployment: Pause }> {
      const of = new Map<string, Policy>();
      const missing = [DEPLOYMENT, ...merchant_ids].filter((id) => {
        const known = policies.get(id);
        if (known) of.set(id, known);
        return known === undefined;
      });
      const failed = new Map<string, unknown>();
      for (const some of chunks(missing, { maxItems: MERCHANTS_AT_ONCE }))
        for (const [id, error] of await inParts(some, (part) => readPolicies(part, of))) failed.set(id, error);
      if (failed.has(DEPLOYMENT)) throw failed.get(DEPLOYMENT);
      return { of, failed, deployment: of.get(DEPLOYMENT)?.pause ?? null };
    },
    invalidatePauses: (): void => policies.clear(),
  };
}
