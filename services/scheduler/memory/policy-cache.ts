import { chunks } from "../../../shared/batching.ts";
import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import { recencyCache, type Cache } from "../../../shared/cache.ts";
import type { CalleeCap } from "../../../shared/contracts/merchants.ts";
import type { SpendCeiling } from "../../../shared/contracts/records/spend.ts";
import type { Pause } from "../admission/gates.ts";
import { inParts } from "./in-parts.ts";
import { createOwnPlanCache, createPlanCache, type ReadValues } from "./plan-cache.ts";

const MAX_ENTRIES = 50_000;
/** Pauses carry what a person wrote; so many fit into one answer, however long that is. */
const MERCHANTS_AT_ONCE = 100;
/** The deployment's own pause is kept under no merchant's id. */
const DEPLOYMENT = "";

/** Before a reseller's id among those of merchants. */
const RESELLER = "reseller:";

/** A merchant's pause, its cap on calls per callee and its spend ceiling; null: it has none. Of a reseller only the ceiling. */
interface Policy {
  pause: Pause;
  cap: CalleeCap | null;
  ceiling: SpendCeiling | null;
}

/** The key of a reseller's policy. */
export const resellerKey = (reseller_id: string): string => RESELLER + reseller_id;

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
    const reseller_ids = ids.filter((id) => id.startsWith(RESELLER)).map((id) => id.slice(RESELLER.length));
    const merchant_ids = ids.filter((id) => id !== DEPLOYMENT && !id.startsWith(RESELLER));
    const answer = await deps.bus.call("merchants.pauses", { merchant_ids, reseller_ids });
    const byId = new Map(answer.merchants.map((m) => [m.id, m.pause]));
    const caps = new Map(answer.caps?.map((m) => [m.id, m.max_calls_per_callee]));
    const ceilings = new Map(answer.ceilings?.map((of) => [of.id, of.spend_ceiling]));
    for (const id of ids) {
      const pause = id === DEPLOYMENT ? answer.deployment : (byId.get(id) ?? null);
      const owner = id.startsWith(RESELLER) ? id.slice(RESELLER.length) : id;
      const policy = { pause, cap: caps.get(id) ?? null, ceiling: ceilings.get(owner) ?? null };
      policies.set(id, policy);
      of.set(id, policy);
    }
  }

  return {
    ...createPlanCache(deps, ttlMs),
    withOverride: createOwnPlanCache(deps),
    /** Pauses, caps and spend ceilings by merchant and `resellerKey`, and the deployment's own pause. */
    async tenants(ids: readonly string[]): Promise<ReadValues<Policy> & { deployment: Pause }> {
      const of = new Map<string, Policy>();
      const missing = [DEPLOYMENT, ...ids].filter((id) => {
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
