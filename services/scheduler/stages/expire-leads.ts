import { plusSeconds } from "../../../shared/clock.ts";
import { errorForLog } from "../../../shared/log.ts";
import type { QueueFacts } from "../admission-inputs.ts";
import { putAside } from "./admit-queues.ts";
import type { Works } from "../deps.ts";

/** How often the leads of a template that is held are looked through for expired ones. */
const EVERY_MS = 10_000;
const EXPIRED_AT_ONCE = 500;
/** Templates looked through in one pass; the others come with the next. */
const TEMPLATES_AT_ONCE = 20;
const MAX_TEMPLATES = 50_000;

/** Ends leads that waited too long, template by template, also those that no gate of their own is asked about because their queue is held. */
export interface Expiry {
  /** Templates of held queues, and (`found`) of queues where an expired lead was seen just now. */
  run(held: readonly QueueFacts[], found: readonly QueueFacts[]): Promise<void>;
}

/** The expiry of one process; several don't get in each other's way. */
export function createExpiry(w: Works): Expiry {
  const { ground } = w;
  const looked = new Map<string, number>();
  async function expire(template_id: string, max_age_seconds: number): Promise<void> {
    looked.delete(template_id);
    looked.set(template_id, ground.clock.monotonicMs());
    for (const oldest of looked.keys()) {
      if (looked.size <= MAX_TEMPLATES) break;
      looked.delete(oldest);
    }
    const { expired } = await ground.bus.call("leads.expire", {
      template_id,
      created_before: plusSeconds(ground.clock.now(), -max_age_seconds).toISOString(),
      reason: `not dialled within ${max_age_seconds} seconds`,
      limit: EXPIRED_AT_ONCE,
    });
    if (expired === EXPIRED_AT_ONCE) looked.delete(template_id);
  }
  return {
    async run(held, found) {
      const nowMs = ground.clock.monotonicMs();
      const isTime = (id: string): boolean => nowMs - (looked.get(id) ?? Number.NEGATIVE_INFINITY) >= EVERY_MS;
      const ages = new Map<string, number>();
      const seen = Map.groupBy(found, (f) => f.plan?.template_id);
      for (const { plan } of found) if (plan) ages.set(plan.template_id, plan.max_age_seconds);
      for (const { plan } of held)
        if (plan && ages.size < TEMPLATES_AT_ONCE && isTime(plan.template_id))
          ages.set(plan.template_id, plan.max_age_seconds);
      for (const [template_id, max_age_seconds] of ages) {
        await expire(template_id, max_age_seconds).catch((error: unknown) => {
          ground.log.warn(
            { event: "expire.failed", template_id, ...errorForLog(error) },
            "expired leads could not be ended; a later pass tries again",
          );
          for (const { queue } of seen.get(template_id) ?? []) putAside(w, queue.queue, error);
        });
      }
    },
  };
}
