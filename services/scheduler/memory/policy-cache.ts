import type { ServiceDeps } from "../../../shared/bus.ts";
import type { Plan } from "../../../shared/contracts/config.ts";
import { inParts } from "../../../shared/packets.ts";
import type { Queue } from "./queue-schedule.ts";
import type { Facts } from "../admission/gates.ts";
import { remembered } from "./short-lived-cache.ts";

type Pause = Facts["pauses"]["deployment"];

/** Plans of templates and pauses of merchants, many in one question, remembered for a moment. */
export interface PlansAndPauses {
  /** Plans by template; null: it no longer exists. */
  plans(template_ids: readonly string[]): Promise<Map<string, Plan | null>>;
  /** The plan with a playground lead's own configuration, which its owner, the config service, merges. */
  withOverride(queue: Queue, plan: Plan | null): Promise<Plan | null>;
  pauses(merchant_ids: readonly string[]): Promise<{ deployment: Pause; of(merchant_id: string | null): Pause }>;
  forgetTemplate(template_id: string): void;
  forgetPauses(): void;
}

/** Most entries remembered of each kind. */
export const MAX_REMEMBERED = 50_000;
const PLANS_AT_ONCE = 500;
const MERCHANTS_AT_ONCE = 1000;
/** The deployment's own pause is remembered under no merchant's id. */
const DEPLOYMENT = "";

/** The reader over the bus. `ttlMs` 0: every answer is fresh. */
export function createPlansAndPauses({ bus, clock }: ServiceDeps, ttlMs: number): PlansAndPauses {
  const plans = remembered<Plan | null>(clock, ttlMs, MAX_REMEMBERED);
  const owns = remembered<Plan | null>(clock, ttlMs, MAX_REMEMBERED);
  const pauses = remembered<Pause>(clock, ttlMs, MAX_REMEMBERED);

  async function plansOf(template_ids: readonly string[]): Promise<Map<string, Plan | null>> {
    const found = new Map<string, Plan | null>();
    const asked = template_ids.filter((id) => {
      const known = plans.get(id);
      if (known !== undefined) found.set(id, known);
      return known === undefined;
    });
    for (const some of inParts(asked, PLANS_AT_ONCE)) {
      const answer = await bus.call("config.plans", { template_ids: some });
      const byId = new Map(answer.plans.map((p) => [p.template_id, p]));
      for (const id of some) {
        plans.set(id, byId.get(id) ?? null);
        found.set(id, byId.get(id) ?? null);
      }
    }
    return found;
  }

  async function pausesOf(merchant_ids: readonly string[]): Promise<Map<string, Pause>> {
    const found = new Map<string, Pause>();
    const asked = [DEPLOYMENT, ...merchant_ids].filter((id) => {
      const known = pauses.get(id);
      if (known !== undefined) found.set(id, known);
      return known === undefined;
    });
    for (const some of inParts(asked, MERCHANTS_AT_ONCE)) {
      const answer = await bus.call("merchants.pauses", { merchant_ids: some.filter((id) => id !== DEPLOYMENT) });
      const paused = new Map(answer.merchants.map((m) => [m.id, m.pause]));
      for (const id of some) {
        const pause = id === DEPLOYMENT ? answer.deployment : (paused.get(id) ?? null);
        pauses.set(id, pause);
        found.set(id, pause);
      }
    }
    return found;
  }

  return {
    plans: plansOf,
    async withOverride(queue, plan) {
      if (!plan?.configuration || !queue.configurations_override) return plan;
      const known = owns.get(queue.queue);
      if (known !== undefined) return known;
      const { configuration } = await bus.call("config.overridden", {
        template_id: queue.template_id,
        override: queue.configurations_override,
      });
      const own = { ...plan, configuration };
      owns.set(queue.queue, own);
      return own;
    },
    async pauses(merchant_ids) {
      const found = await pausesOf(merchant_ids);
      return {
        deployment: found.get(DEPLOYMENT) ?? null,
        of: (merchant_id) => (merchant_id === null ? null : (found.get(merchant_id) ?? null)),
      };
    },
    forgetTemplate(template_id) {
      plans.forget(template_id);
      owns.clear();
    },
    forgetPauses() {
      pauses.clear();
    },
  };
}
