import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import type { Plan } from "../../../shared/contracts/config.ts";
import { MIN_MAX_AGE_SECONDS } from "../../../shared/contracts/records/template.ts";
import { plusSeconds } from "../../../shared/time/clock.ts";
import { startLoop, type Loop } from "../../../shared/time/loop.ts";
import { errorForLog } from "../../../shared/process/log.ts";
import type { QueueInputs } from "../admission-inputs.ts";
import type { Deferred, StageResult } from "../dispositions.ts";
import type { ReadValues } from "../memory/plan-cache.ts";

/** What expiry needs. */
export interface ExpiryDeps extends Pick<ServiceDeps, "bus" | "clock" | "log"> {
  inputs: { plans(template_ids: readonly string[]): Promise<ReadValues<Plan | null>> };
}

/** Ends leads that waited too long, template by template. Replicas don't get in each other's way. */
export interface Expiry {
  /** The last stage of a pass: of templates whose leads the expiry gate dropped, others are as old. */
  ofDropped(dropped: readonly QueueInputs[]): Promise<StageResult<never>>;
  /** Looks at all templates with unfinished leads every few seconds, whether or not any is due: each one's oldest lead says whether there is one to end. */
  start(): void;
  stop(): Promise<void>;
}

/** Rounds begin this often: a lead ends at most so much later than its age says, ms. */
const INTERVAL_MS = 5000;
const TEMPLATES_PER_ROUND = 500;
const EXPIRED_AT_ONCE = 500;
/** Of one template in one go; more are ended by the next round. */
const REQUESTS_PER_TEMPLATE = 20;

/** Ends what is too old of a template. */
async function expire({ bus, clock }: ExpiryDeps, { template_id, max_age_seconds }: Plan): Promise<void> {
  for (let requests = 0; requests < REQUESTS_PER_TEMPLATE; requests++) {
    const { expired } = await bus.call("leads.expire", {
      template_id,
      created_before: plusSeconds(clock.now(), -max_age_seconds).toISOString(),
      reason: `not dialled within ${max_age_seconds} seconds`,
      limit: EXPIRED_AT_ONCE,
    });
    if (expired < EXPIRED_AT_ONCE) return;
  }
}

/** The expiry of a process. */
export function createExpiry(deps: ExpiryDeps): Expiry {
  const { bus, clock, inputs, log } = deps;
  let after: string | null = null;
  let loop: Loop | null = null;

  const failed = (template_id: string, error: unknown): void =>
    log.warn(
      { event: "expire.failed", template_id, ...errorForLog(error) },
      "expired leads could not be ended; a later pass tries again",
    );

  /** True: there are more templates to look at. */
  async function round(): Promise<boolean> {
    const page = await bus.call("leads.aging", { after, limit: TEMPLATES_PER_ROUND });
    after = page.next;
    const old = (from: string, max_age_seconds: number): boolean =>
      plusSeconds(new Date(from), max_age_seconds) < clock.now();
    const aging = page.templates.filter((t) => old(t.expiry_from, MIN_MAX_AGE_SECONDS));
    const plans = await inputs.plans(aging.map((t) => t.template_id));
    for (const { template_id, expiry_from } of aging) {
      const plan = plans.of.get(template_id);
      if (plan && old(expiry_from, plan.max_age_seconds))
        await expire(deps, plan).catch((error: unknown) => failed(template_id, error));
    }
    return page.next !== null;
  }

  return {
    async ofDropped(dropped) {
      const deferred: Deferred[] = [];
      for (const plan of new Map(dropped.flatMap((q) => (q.plan ? [[q.plan.template_id, q.plan]] : []))).values())
        await expire(deps, plan).catch((error: unknown) => {
          failed(plan.template_id, error);
          for (const { queue, plan: own } of dropped)
            if (own?.template_id === plan.template_id)
              deferred.push({ kind: "failed_queue", queue: queue.queue, error });
        });
      return { ok: [], deferred, dropped: [] };
    },
    start() {
      loop = startLoop({
        name: "expiry",
        clock,
        intervalMs: INTERVAL_MS,
        pass: round,
        onError: (error) =>
          log.warn(
            { event: "expiry.failed", ...errorForLog(error) },
            "templates with old leads could not be read; the next round follows",
          ),
      });
    },
    async stop() {
      await loop?.stop();
    },
  };
}
