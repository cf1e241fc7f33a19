import { chunks } from "../../../shared/batching.ts";
import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import { recencyCache, type Cache } from "../../../shared/cache.ts";
import type { Plan } from "../../../shared/contracts/config.ts";
import type { Pause } from "../admission/gates.ts";
import type { Queue } from "./queue-schedule.ts";

const MAX_ENTRIES = 50_000;
const PLANS_AT_ONCE = 500;
const MERCHANTS_AT_ONCE = 1000;
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

/** The values of these cache keys: from the cache, else read in chunks. */
async function readThrough<T>(
  cache: Cache<Answer<T>>,
  keys: readonly string[],
  maxItems: number,
  read: (keys: string[]) => Promise<(key: string) => T>,
): Promise<Map<string, T>> {
  const values = new Map<string, T>();
  const missing = keys.filter((key) => {
    const known = cache.get(key);
    if (known) values.set(key, known.value);
    return known === undefined;
  });
  for (const some of chunks(missing, { maxItems })) {
    const valueOf = await read(some);
    for (const key of some) {
      const value = valueOf(key);
      cache.set(key, { value });
      values.set(key, value);
    }
  }
  return values;
}

/** Plans of templates and pauses of merchants over the bus, read for many at once and kept for a moment. `ttlMs` 0: every answer is fresh. */
export function createPolicyCache({ bus, clock }: Pick<ServiceDeps, "bus" | "clock">, ttlMs: number) {
  const plans = answerCache<Answer<Plan | null>>(clock, ttlMs);
  const overridden = answerCache<Plan>(clock, ttlMs);
  const pauses = answerCache<Answer<Pause>>(clock, ttlMs);

  return {
    /** Plans by template; null: the template no longer exists. */
    plans: (template_ids: readonly string[]): Promise<Map<string, Plan | null>> =>
      readThrough(plans, template_ids, PLANS_AT_ONCE, async (some) => {
        const answer = await bus.call("config.plans", { template_ids: some });
        const byId = new Map(answer.plans.map((p) => [p.template_id, p]));
        return (id) => byId.get(id) ?? null;
      }),
    /** The plan with a playground lead's own configuration, which the config service merges. */
    async withOverride(queue: Queue, plan: Plan | null): Promise<Plan | null> {
      const override = queue.configurations_override;
      if (!plan?.configuration || !override) return plan;
      const known = overridden.get(queue.queue);
      if (known !== undefined) return known;
      const { configuration } = await bus.call("config.overridden", { template_id: queue.template_id, override });
      const own = { ...plan, configuration };
      overridden.set(queue.queue, own);
      return own;
    },
    async pauses(merchant_ids: readonly string[]) {
      const known = await readThrough(pauses, [DEPLOYMENT, ...merchant_ids], MERCHANTS_AT_ONCE, async (some) => {
        const answer = await bus.call("merchants.pauses", { merchant_ids: some.filter((id) => id !== DEPLOYMENT) });
        const byId = new Map(answer.merchants.map((m) => [m.id, m.pause]));
        return (id) => (id === DEPLOYMENT ? answer.deployment : (byId.get(id) ?? null));
      });
      return {
        deployment: known.get(DEPLOYMENT) ?? null,
        of: (merchant_id: string | null): Pause => (merchant_id === null ? null : (known.get(merchant_id) ?? null)),
      };
    },
    invalidateTemplate(template_id: string): void {
      plans.delete(template_id);
      overridden.clear();
    },
    invalidatePauses: (): void => pauses.clear(),
  };
}
