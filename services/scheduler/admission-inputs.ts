import pLimit from "p-limit";
import type { CapJudgement } from "../../shared/time/sliding-cap.ts";
import type { ResultOf, ServiceDeps } from "../../shared/bus/bus.ts";
import type { Plan } from "../../shared/contracts/config.ts";
import type { CalleeCap } from "../../shared/contracts/merchants.ts";
import type { SpendCeilings, SpendRoom } from "../../shared/contracts/records/spend.ts";
import type { Provider } from "../../shared/contracts/records/configuration.ts";
import { DIALLED_MODES, isSessionMode, type WaitingLead } from "../../shared/contracts/records/lead.ts";
import { maskPhone } from "../../shared/process/log.ts";
import { deploymentDestinations } from "../../shared/numbering/destination.ts";
import { countryOf } from "../../shared/phone.ts";
import type { GateInputs, SlotAvailability } from "./admission/gates.ts";
import {
  carrierLimit,
  carrierWindowId,
  configurationWindowId,
  rateLimitOf,
  toRateLimit,
} from "./limits/rules/rate-limits.ts";
import type { RateWindows } from "./limits/rate-windows.repository.ts";
import { answerCache, createPolicyCache, resellerKey } from "./memory/policy-cache.ts";
import { createSpendRooms, type SpendingQueue } from "./memory/spend-rooms.ts";
import type { Queue } from "./memory/queue-schedule.ts";

/** What the gates judge a whole queue by, besides its limits. */
export interface QueueInputs extends Pick<SpendingQueue, "ceilings" | "spend"> {
  queue: Queue;
  plan: Plan | null;
  pauses: GateInputs["pauses"];
  /** The merchant's cap on calls per callee; null: none. */
  cap?: CalleeCap | null;
  /** The error of a queue whose plan, pause or own configuration could not be read. */
  failed?: unknown;
}

/** Whose numbers a call may use. */
export interface Party {
  reseller_id: string;
  merchant_id: string | null;
  provider: Provider;
}

/** How long plans, pauses and slot counts are kept, in ms; events that announce a change drop them at once. */
export const INPUTS_TTL_MS = 2000;
/** Playground configurations merged side by side. */
const OVERRIDES_AT_ONCE = 10;

const unique = (items: readonly string[]): string[] => [...new Set(items)];

/** The party of a queue's calls. */
export const partyOf = ({ reseller_id, merchant_id }: Queue, plan: Plan): Party => ({
  reseller_id,
  merchant_id,
  provider: plan.configuration?.calling_provider ?? "PROVIDER_ONE",
});

/** A party as a key of caches. */
export const partyKey = (party: Party): string => JSON.stringify(party);

/** Reads the limits that queues draw permits from, in their order; afresh. */
const limitReader =
  ({ env }: Pick<ServiceDeps, "env">, rates: Pick<RateWindows, "read">, aheadMs?: () => number) =>
  async (queues: readonly QueueInputs[]): Promise<Pick<GateInputs, "rate" | "carrier">[]> => {
    const drawn = queues.map(({ plan }) => {
      const c = plan?.configuration;
      if (!c) return null;
      const own = rateLimitOf(c, null);
      const ownId = own && configurationWindowId(own.configuration_id);
      return { own, ownId, provider: c.calling_provider, carrierId: carrierWindowId(c.calling_provider) };
    });
    const logs = await rates.read(
      unique(drawn.flatMap((d) => (d ? [d.carrierId, ...(d.ownId ? [d.ownId] : [])] : []))),
    );
    const ahead = aheadMs ? { ahead_ms: aheadMs() } : {};
    return drawn.map((d) => {
      if (!d) return { rate: null, carrier: null };
      const rate = d.own && { limit: toRateLimit(d.own), log: logs.get(d.ownId ?? "") ?? null, ...ahead };
      return { rate, carrier: { limit: carrierLimit(env, d.provider), log: logs.get(d.carrierId) ?? null, ...ahead } };
    });
  };

/** The ceilings that calls of a queue count for, as a part of its inputs. */
const ceilingsOf = (
  merchant: SpendCeilings["merchant"] | null,
  reseller: SpendCeilings["reseller"] | null,
): Pick<QueueInputs, "ceilings"> =>
  merchant || reseller ? { ceilings: { ...(merchant ? { merchant } : {}), ...(reseller ? { reseller } : {}) } } : {};

/** Reads plans, pauses, caps and spend ceilings of queues, and what room the ceilings leave. */
const queueReader = (
  policies: ReturnType<typeof createPolicyCache>,
  withRooms: ReturnType<typeof createSpendRooms>,
) => {
  const overridden = async (inputs: QueueInputs): Promise<QueueInputs> => {
    try {
      return { ...inputs, plan: await policies.withOverride(inputs.queue, inputs.plan) };
    } catch (failed) {
      return { ...inputs, failed };
    }
  };
  return async (queues: readonly Queue[]): Promise<QueueInputs[]> => {
    const [plans, tenants] = await Promise.all([
      policies.plans(unique(queues.map((q) => q.template_id))),
      policies.tenants(unique(queues.flatMap((q) => [q.merchant_id ?? [], resellerKey(q.reseller_id)].flat()))),
    ]);
    const limit = pLimit(OVERRIDES_AT_ONCE);
    const read = await Promise.all(
      queues.map((queue): QueueInputs | Promise<QueueInputs> => {
        const merchant = queue.merchant_id ?? "";
        const { pause, cap, ceiling } = tenants.of.get(merchant) ?? { pause: null, cap: null, ceiling: null };
        const plan = plans.of.get(queue.template_id) ?? null;
        const reseller = resellerKey(queue.reseller_id);
        const ceilings = ceilingsOf(queue.merchant_id === null ? null : ceiling, tenants.of.get(reseller)?.ceiling);
        const all = { queue, plan, pauses: { deployment: tenants.deployment, merchant: pause }, cap, ...ceilings };
        const failed =
          plans.failed.get(queue.template_id) ?? tenants.failed.get(merchant) ?? tenants.failed.get(reseller);
        if (failed !== undefined) return { ...all, failed };
        if (!queue.configurations_override && queue.override_of === undefined) return all;
        return limit(() => overridden(all));
      }),
    );
    return withRooms(read);
  };
};

/** Reads what the gates judge by, the same for a pass and for explain. `ttlMs` 0: every answer is fresh. `aheadMs`: how far ahead a pass looks for permits. */
export function createAdmissionInputs(
  deps: Pick<ServiceDeps, "bus" | "clock" | "env">,
  rates: Pick<RateWindows, "read">,
  ttlMs: number,
  aheadMs?: () => number,
) {
  const policies = createPolicyCache(deps, ttlMs);
  const slots = answerCache<ResultOf<"numbers.availability">>(deps.clock, ttlMs);

  const availability = async (party: Party, country: string | null): Promise<ResultOf<"numbers.availability">> => {
    const key = JSON.stringify([party, country]);
    const known = slots.get(key);
    if (known !== undefined) return known;
    const answer = await deps.bus.call("numbers.availability", { ...party, ...(country === null ? {} : { country }) });
    slots.set(key, answer);
    return answer;
  };

  return {
    /** Plans, pauses and caps of these queues, in their order. */
    ofQueues: queueReader(policies, createSpendRooms(deps)),
    plans: policies.plans,
    limitsOf: limitReader(deps, rates, aheadMs),
    /** Slots that a call of this queue to this country may use; null where the configuration is unknown. */
    async slotsFor({ queue, plan }: QueueInputs, country: string | null): Promise<SlotAvailability | null> {
      const c = plan?.configuration;
      if (!plan || !c) return null;
      const [all, home] = await Promise.all([
        availability(partyOf(queue, plan), null),
        c.enable_international_call || country === null ? null : availability(partyOf(queue, plan), country),
      ]);
      return { ...all, home };
    },
    /** The callee's country: DEFAULT_COUNTRY where its number belongs to none. */
    countryOf: (phone_number: string | null): string | null =>
      phone_number === null ? null : (countryOf(phone_number) ?? deps.env.DEFAULT_COUNTRY ?? null),
    /** Which numbers the deployment calls. */
    destinations: deploymentDestinations(deps.env.CALL_COUNTRIES, deps.env.CALL_SPECIAL_NUMBERS),
    invalidateTemplate: policies.invalidateTemplate,
    invalidatePauses: policies.invalidatePauses,
    invalidateSlots: slots.clear,
  };
}

/** What reads the inputs of the gates. */
export type AdmissionInputs = ReturnType<typeof createAdmissionInputs>;

/** What counts for a merchant's cap on calls per callee, afresh; null: there is no cap, or no dialer answers. */
async function calleeCalls(
  bus: ServiceDeps["bus"],
  cap: CalleeCap | null,
  callee: { reseller_id: string; merchant_id: string | null; to: string },
): Promise<CapJudgement | null> {
  if (cap === null) return null;
  const asked = bus.call("dialer.calleeCalls", { callees: [{ ...callee, max_calls_per_callee: cap }] });
  const [judged] = (await asked.catch(() => null))?.callees ?? [];
  return judged ? { ...judged, free_at: judged.free_at === null ? null : new Date(judged.free_at) } : null;
}

/** The room that spend ceilings leave for a call to this number, or for a session, afresh; null: there is no ceiling, or no dialer answers. */
async function spendOf(
  bus: ServiceDeps["bus"],
  { ceilings, plan }: QueueInputs,
  callee: { reseller_id: string; merchant_id: string | null; to: string | null; unpaid: boolean },
): Promise<SpendRoom | null> {
  if (ceilings === undefined || !plan || (callee.to === null && !callee.unpaid)) return null;
  const { max_call_seconds } = plan;
  const asked = bus.call("dialer.spendRoom", { calls: [{ ...callee, spend_ceilings: ceilings, max_call_seconds }] });
  return (await asked.catch(() => null))?.calls[0] ?? null;
}

/** All inputs of one lead for an instant, read afresh: what a pass collects for many, for explain. */
export async function gateInputsOf(
  { bus }: Pick<ServiceDeps, "bus">,
  inputs: AdmissionInputs,
  lead: WaitingLead,
  at: Date,
): Promise<GateInputs> {
  const { lead_id, phone_number, template_id, reseller_id, merchant_id, configurations_override } = lead;
  const queue = { queue: lead_id, template_id, reseller_id, merchant_id, configurations_override };
  const none: QueueInputs = { queue, plan: null, pauses: { deployment: null, merchant: null } };
  const [of = none] = await inputs.ofQueues([queue]);
  if (of.failed !== undefined) throw of.failed;
  const country = inputs.countryOf(phone_number);
  const callee = DIALLED_MODES.includes(lead.execution_mode) ? phone_number : null;
  const [[limits = { rate: null, carrier: null }], slots, checked, callee_calls, spend] = await Promise.all([
    inputs.limitsOf([of]),
    callee === null ? null : inputs.slotsFor(of, country),
    phone_number === null ? null : bus.call("blacklist.check", { pairs: [{ reseller_id, merchant_id, phone_number }] }),
    callee === null ? null : calleeCalls(bus, of.cap ?? null, { reseller_id, merchant_id, to: callee }),
    spendOf(bus, of, { reseller_id, merchant_id, to: callee, unpaid: isSessionMode(lead.execution_mode) }),
  ]);
  return {
    at,
    lead: { ...lead, masked: phone_number === null ? null : maskPhone(phone_number) },
    plan: of.plan,
    pauses: of.pauses,
    blacklisted: checked?.listed[0] ?? null,
    country,
    destinations: inputs.destinations,
    slots,
    callee_cap: of.cap ?? null,
    callee_calls,
    ceilings: of.ceilings ?? null,
    spend,
    ...limits,
  };
}
