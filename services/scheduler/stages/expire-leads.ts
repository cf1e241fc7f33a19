import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import { recencyCache } from "../../../shared/cache.ts";
import { plusSeconds } from "../../../shared/time/clock.ts";
import { errorForLog } from "../../../shared/process/log.ts";
import type { QueueInputs } from "../admission-inputs.ts";
import type { Deferred, StageResult } from "../dispositions.ts";

/** Queues whose leads may have expired. */
export interface ExpiryInput {
  /** Queues that a gate closes, so that no lead of theirs is judged. */
  closed: readonly QueueInputs[];
  /** Queues of leads that the expiry gate drops in this pass. */
  expired: readonly QueueInputs[];
}

/** How often the leads of a template whose queues are closed are searched for expired ones. */
const SEARCH_EVERY_MS = 10_000;
const EXPIRED_AT_ONCE = 500;
/** Templates searched in one pass; the others come with the next. */
const TEMPLATES_PER_PASS = 20;
const MAX_TEMPLATES = 50_000;

/** The last stage of a pass: ends leads that waited too long, template by template. Replicas don't get in each other's way. */
export function createExpiry({
  bus,
  clock,
  log,
}: Pick<ServiceDeps, "bus" | "clock" | "log">): (input: ExpiryInput) => Promise<StageResult<never>> {
  const searched = recencyCache<true>({ max: MAX_TEMPLATES, ttl: { ms: SEARCH_EVERY_MS, clock } });

  async function expire(template_id: string, max_age_seconds: number): Promise<void> {
    searched.set(template_id, true);
    const { expired } = await bus.call("leads.expire", {
      template_id,
      created_before: plusSeconds(clock.now(), -max_age_seconds).toISOString(),
      reason: `not dialled within ${max_age_seconds} seconds`,
      limit: EXPIRED_AT_ONCE,
    });
    if (expired === EXPIRED_AT_ONCE) searched.delete(template_id);
  }

  return async ({ closed, expired }) => {
    const ages = new Map<string, number>();
    for (const { plan } of expired) if (plan) ages.set(plan.template_id, plan.max_age_seconds);
    for (const { plan } of closed)
      if (plan && ages.size < TEMPLATES_PER_PASS && searched.get(plan.template_id) === undefined)
        ages.set(plan.template_id, plan.max_age_seconds);
    const deferred: Deferred[] = [];
    for (const [template_id, max_age_seconds] of ages) {
      await expire(template_id, max_age_seconds).catch((error: unknown) => {
        const fields = { event: "expire.failed", template_id, ...errorForLog(error) };
        log.warn(fields, "expired leads could not be ended; a later pass tries again");
        for (const { queue, plan } of expired)
          if (plan?.template_id === template_id) deferred.push({ kind: "failed_queue", queue: queue.queue, error });
      });
    }
    return { ok: [], deferred, dropped: [] };
  };
}
