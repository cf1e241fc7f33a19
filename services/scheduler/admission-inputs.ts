import type { ResultOf, ServiceDeps } from "../../shared/bus.ts";
import type { Plan } from "../../shared/contracts/config.ts";
import { inSlices } from "../../shared/in-slices.ts";
import { countryOf } from "../../shared/phone.ts";
import type { Queue } from "./memory/queue-schedule.ts";
import type { Facts, LineFacts, RingFacts } from "./admission/gates.ts";
import { carrierLimit, carrierRing, configurationRing, rateLimitOf, ringLimit } from "./limits/rate-permits.ts";
import type { RateWindows } from "./limits/rate-windows.repository.ts";
import { createPlansAndPauses, MAX_REMEMBERED } from "./memory/policy-cache.ts";
import { remembered } from "./memory/short-lived-cache.ts";

type Availability = ResultOf<"numbers.availability">;

/** What is known of a whole queue besides its rings. */
export interface QueueFacts {
  queue: Queue;
  plan: Plan | null;
  pauses: Facts["pauses"];
  /** What was thrown where the queue's own configuration could not be had. */
  failed?: unknown;
}

/** Where the facts of admission come from: the same for a pass and for explain. Answers are remembered for a moment, unless they are asked for afresh. */
export interface FactsOf {
  /** Plans and pauses of these queues, in their order; a queue of its own has its own configuration. */
  queues(queues: readonly Queue[]): Promise<QueueFacts[]>;
  /** The rings that these queues draw from; not remembered. */
  rings(of: readonly QueueFacts[]): Promise<Pick<Facts, "rate" | "carrier">[]>;
  /** Lines that a call of this queue to this country may use; null where the configuration is unknown. */
  lines(of: QueueFacts, country: string | null): Promise<LineFacts | null>;
  /** The callee's country: DEFAULT_COUNTRY where its number belongs to none. */
  country(phone_number: string | null): string | null;
  forgetTemplate(template_id: string): void;
  forgetPauses(): void;
  forgetLines(): void;
}

/** Remembered at most this long; edits are told by events and drop what is remembered at once. */
export const REMEMBERED_MS = 2000;
/** Playground configurations merged side by side. */
const OVERRIDES_AT_ONCE = 10;

const unique = (items: readonly string[]): string[] => [...new Set(items)];

/** Whose numbers a call may use. */
export const partyOf = (queue: Queue, plan: Plan) => ({
  reseller_id: queue.reseller_id,
  merchant_id: queue.merchant_id,
  provider: plan.configuration?.calling_provider ?? "PROVIDER_ONE",
});

/** The facts over the bus. `ttlMs` 0: every answer is fresh. */
export function createFacts(ground: ServiceDeps, rates: RateWindows, ttlMs: number): FactsOf {
  const { bus, clock, env } = ground;
  const known = createPlansAndPauses(ground, ttlMs);
  const availability = remembered<Availability>(clock, ttlMs, MAX_REMEMBERED);

  const available = async (party: ReturnType<typeof partyOf>, country: string | null): Promise<Availability> => {
    const key = JSON.stringify([party, country]);
    const known = availability.get(key);
    if (known !== undefined) return known;
    const answer = await bus.call("numbers.availability", { ...party, ...(country === null ? {} : { country }) });
    availability.set(key, answer);
    return answer;
  };

  return {
    async queues(queues) {
      const [planOf, pauses] = await Promise.all([
        known.plans(unique(queues.map((q) => q.template_id))),
        known.pauses(unique(queues.flatMap((q) => (q.merchant_id === null ? [] : [q.merchant_id])))),
      ]);
      const facts = queues.map((queue): QueueFacts => ({
        queue,
        plan: planOf.get(queue.template_id) ?? null,
        pauses: { deployment: pauses.deployment, merchant: pauses.of(queue.merchant_id) },
      }));
      await inSlices(
        facts.filter((f) => f.queue.configurations_override),
        OVERRIDES_AT_ONCE,
        async (f) => {
          try {
            f.plan = await known.withOverride(f.queue, f.plan);
          } catch (error) {
            f.failed = error;
          }
        },
      );
      return facts;
    },
    async rings(of) {
      const wanted = of.map(({ plan }) => {
        const c = plan?.configuration;
        return c ? { own: rateLimitOf(c, null), provider: c.calling_provider } : null;
      });
      const states = await rates.peek(
        unique(
          wanted.flatMap((w) =>
            w ? [carrierRing(w.provider), ...(w.own ? [configurationRing(w.own.configuration_id)] : [])] : [],
          ),
        ),
      );
      return wanted.map((w) => {
        if (!w) return { rate: null, carrier: null };
        const rate: RingFacts | null = w.own && {
          limit: ringLimit(w.own),
          state: states.get(configurationRing(w.own.configuration_id)) ?? null,
        };
        return {
          rate,
          carrier: { limit: carrierLimit(env, w.provider), state: states.get(carrierRing(w.provider)) ?? null },
        };
      });
    },
    async lines({ queue, plan }, country) {
      const c = plan?.configuration;
      if (!plan || !c) return null;
      const party = partyOf(queue, plan);
      const [all, home] = await Promise.all([
        available(party, null),
        c.enable_international_call || country === null ? null : available(party, country),
      ]);
      return { ...all, home };
    },
    country: (phone_number) =>
      phone_number === null ? null : (countryOf(phone_number) ?? env.DEFAULT_COUNTRY ?? null),
    forgetTemplate: (template_id) => {
      known.forgetTemplate(template_id);
    },
    forgetPauses: () => {
      known.forgetPauses();
    },
    forgetLines() {
      availability.clear();
    },
  };
}
