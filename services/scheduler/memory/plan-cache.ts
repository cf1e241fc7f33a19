import { chunks } from "../../../shared/batching.ts";
import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import { recencyCache } from "../../../shared/cache.ts";
import type { Plan } from "../../../shared/contracts/config.ts";
import { jsonBytes } from "../../../shared/json.ts";
import { inParts } from "./in-parts.ts";
import type { Queue } from "./queue-schedule.ts";

/** What was read for keys, and the errors of those that could not be read. */
export interface ReadValues<T> {
  of: Map<string, T>;
  failed: Map<string, unknown>;
}

/** A plan, and when it was last known to be the current one (ms of monotonic time). */
interface KnownPlan {
  plan: Plan;
  stamp: string | null;
  checked_ms: number;
}

/** A playground lead's plan, and the one that its override was merged over. */
interface OwnPlan {
  over: Plan;
  plan: Plan;
}

const PLANS_AT_ONCE = 500;
const MAX_PLANS = 50_000;
/** Bytes of plans that are kept, of templates and of playground leads. What is used longest ago goes, and is read again. */
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_OWN_BYTES = 16 * 1024 * 1024;
/** A plan is read again this often even though its stamp is the same. */
const KEPT_MS = 60_000;

/**
 * Plans of templates over the bus, read for many at once and taken for current for `ttlMs`; after that they are asked for by their stamps, so that only
 * plans that have changed travel again. `ttlMs` 0: nothing is kept, every answer is fresh.
 */
export function createPlanCache({ bus, clock }: Pick<ServiceDeps, "bus" | "clock">, ttlMs: number) {
  const plans = recencyCache<KnownPlan>({
    max: MAX_PLANS,
    bytes: { max: MAX_BYTES, of: ({ plan }) => jsonBytes(plan) },
    ttl: { ms: KEPT_MS, clock },
  });
  /** Reads plans of these templates into `of`; null for templates that no longer exist. An older config service answers for all at once, and knows no stamps. */
  async function read(ids: readonly string[], of: Map<string, Plan | null>): Promise<void> {
    for (let rest = ids; rest.length > 0;) {
      // held while they are asked for: what goes from the cache meanwhile (after KEPT_MS, or for others' room) is not gone
      const had = new Map<string, KnownPlan>();
      const known = rest.flatMap((template_id) => {
        const entry = ttlMs === 0 ? undefined : plans.get(template_id);
        if (!entry || entry.stamp === null) return [];
        had.set(template_id, entry);
        return [{ template_id, stamp: entry.stamp }];
      });
      const answer = await bus.call("config.plans", { template_ids: [...rest], known });
      const checked_ms = clock.monotonicMs();
      const changed = new Map(answer.plans.map((plan) => [plan.template_id, plan]));
      const unchanged = new Set(answer.unchanged);
      const done = Math.max(1, answer.read ?? rest.length);
      for (const id of rest.slice(0, done)) {
        const entry = unchanged.has(id) ? had.get(id) : undefined;
        if (entry) entry.checked_ms = checked_ms;
        const plan = changed.get(id) ?? entry?.plan ?? null;
        of.set(id, plan);
        if (plan !== null && !entry && ttlMs > 0) plans.set(id, { plan, stamp: plan.stamp ?? null, checked_ms });
      }
      rest = rest.slice(done);
    }
  }

  return {
    /** Plans by template; null: the template no longer exists. */
    async plans(template_ids: readonly string[]): Promise<ReadValues<Plan | null>> {
      const of = new Map<string, Plan | null>();
      const stale = template_ids.filter((id) => {
        const entry = ttlMs === 0 ? undefined : plans.get(id);
        if (!entry || clock.monotonicMs() - entry.checked_ms >= ttlMs) return true;
        of.set(id, entry.plan);
        return false;
      });
      const failed = new Map<string, unknown>();
      for (const some of chunks(stale, { maxItems: PLANS_AT_ONCE }))
        for (const [id, error] of await inParts(some, (part) => read(part, of))) failed.set(id, error);
      return { of, failed };
    },
    invalidateTemplate(template_id: string): void {
      const entry = plans.get(template_id);
      if (entry) entry.checked_ms = Number.NEGATIVE_INFINITY;
    },
  };
}

/** Plans of playground leads with a configuration of their own, which the config service merges. A lead's override never changes, so they are kept while the template's plan is. */
export function createOwnPlanCache({ bus, clock }: Pick<ServiceDeps, "bus" | "clock">) {
  const own = recencyCache<OwnPlan>({
    max: MAX_PLANS,
    bytes: { max: MAX_OWN_BYTES, of: ({ plan }) => jsonBytes(plan) },
    ttl: { ms: KEPT_MS, clock },
  });

  async function overrideOf({
    configurations_override,
    override_of,
  }: Queue): Promise<Queue["configurations_override"]> {
    if (configurations_override || override_of === undefined) return configurations_override;
    return (await bus.call("leads.overrideOf", { lead_id: override_of })).override;
  }

  /** The plan of the queue, of the plan of its template. */
  return async (queue: Queue, plan: Plan | null): Promise<Plan | null> => {
    if (!plan?.configuration) return plan;
    const known = own.get(queue.queue);
    if (known?.over === plan) return known.plan;
    const override = await overrideOf(queue);
    if (!override) return plan;
    const { configuration } = await bus.call("config.overridden", { template_id: queue.template_id, override });
    const merged = { ...plan, configuration };
    own.set(queue.queue, { over: plan, plan: merged });
    return merged;
  };
}
