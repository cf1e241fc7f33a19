import type { ResultOf, ServiceGround } from "../../shared/bus.ts";
import { plusMs } from "../../shared/clock.ts";
import type { Plan } from "../../shared/contracts/config.ts";
import type { ConfigurationRecord } from "../../shared/contracts/configuration.ts";
import type { ClaimedLead, DueLead } from "../../shared/contracts/lead.ts";
import { isFailure } from "../../shared/errors.ts";
import { callRef, sha256 } from "../../shared/ids.ts";
import { inSlices } from "../../shared/in-slices.ts";
import { errorForLog } from "../../shared/log.ts";
import { countryOf } from "../../shared/phone.ts";
import { admit, type Admission, type HoldReason } from "./admission.ts";
import { inFairOrder } from "./fair-share.ts";
import type { RateWindows } from "./rate-windows.repository.ts";

type Admitted = Extract<Admission, { verdict: "admit" }>;
type Held = { lead: DueLead; until: Date; why: HoldReason };
type Line = NonNullable<ResultOf<"numbers.reserve">>;

/** Leads claimed and handed to the dialler side by side in one pass. */
const PARALLEL = 20;
/** A line is kept this much longer than ring and call may last. */
const LINE_MARGIN_SECONDS = 300;
const NO_FREE_LINE_MS = 1000;
const NO_NUMBER_AT_ALL_MS = 30_000;
const REFUSED_BY_DIALER_MS = 2000;
const NODE_MARK_CHARS = 8;

async function plansFor(ground: ServiceGround, due: DueLead[]): Promise<Map<string, Plan>> {
  const { plans } = await ground.bus.call("config.plans", { template_ids: [...new Set(due.map((d) => d.template_id))] });
  return new Map(plans.map((p) => [p.template_id, p]));
}

/** The plan of one lead: a playground lead's own configuration is merged by its owner, the config service. */
async function planOf(ground: ServiceGround, lead: DueLead, plans: Map<string, Plan>): Promise<Plan | null> {
  const plan = plans.get(lead.template_id) ?? null;
  if (!plan?.configuration || !lead.configurations_override) return plan;
  const { configuration } = await ground.bus.call("config.overridden", { template_id: lead.template_id, override: lead.configurations_override });
  return { ...plan, configuration };
}

async function takeToken(rates: RateWindows, configuration: ConfigurationRecord, to: string): Promise<Date | null> {
  const { rate_limit_enabled, rate_limit_max_calls, rate_limit_window_seconds, rate_limit_whitelist } = configuration;
  if (!rate_limit_enabled || rate_limit_max_calls === null || rate_limit_whitelist.includes(to)) return null;
  return rates.take(`configuration:${configuration.id}`, rate_limit_max_calls, rate_limit_window_seconds * 1000);
}

const orderOf = (claimed: ClaimedLead, admitted: Admitted, line: Line) => ({
  lead_id: claimed.lead_id, claim_no: claimed.claim_no, reseller_id: claimed.reseller_id, merchant_id: claimed.merchant_id, template_id: claimed.template_id,
  template_version: admitted.plan.version, execution_mode: claimed.execution_mode, to: claimed.phone_number, from: line.phone_number, number_id: line.id, provider: line.provider,
  payload: claimed.payload, dial_until: admitted.dial_until?.toISOString() ?? null, enforce_blacklist: admitted.configuration.enforce_blacklist,
  max_call_seconds: admitted.plan.max_call_seconds, rate_limit: null, pre_checks: admitted.configuration.pre_checks, pre_check_defers: claimed.pre_check_defers,
});

/** Hands a claimed lead over. Where the dialler certainly did not take it, the lead goes back unspent; where that is unknown, the lease decides. */
async function handOver(ground: ServiceGround, claimed: ClaimedLead, admitted: Admitted, line: Line): Promise<boolean> {
  try {
    await ground.bus.call("dialer.dial", orderOf(claimed, admitted, line));
    return true;
  } catch (error) {
    ground.log.warn({ event: "dial.refused", lead_id: claimed.lead_id, ...errorForLog(error) }, "the dialler did not take a lead");
    if (!isFailure(error, "BUSY") && !isFailure(error, "DEPENDENCY_DOWN") && !isFailure(error, "VALIDATION_FAILED")) return true;
    await ground.bus.call("leads.release", {
      lead_id: claimed.lead_id, claim_no: claimed.claim_no, due_at: plusMs(ground.clock.now(), REFUSED_BY_DIALER_MS).toISOString(), reason: "dialler_busy",
    });
    return false;
  }
}

async function noLine(ground: ServiceGround, lead: DueLead, configuration: ConfigurationRecord): Promise<Held> {
  const { any } = await ground.bus.call("numbers.any", { reseller_id: lead.reseller_id, merchant_id: lead.merchant_id, provider: configuration.calling_provider });
  return { lead, until: plusMs(ground.clock.now(), any ? NO_FREE_LINE_MS : NO_NUMBER_AT_ALL_MS), why: "no_number" };
}

/** One admitted lead: line, token, claim, hand-over. Gives the hold when it could not go on; whatever was taken is given back. */
async function launch(ground: ServiceGround, rates: RateWindows, lead: DueLead, admitted: Admitted): Promise<Held | null> {
  const { configuration, plan } = admitted;
  // the node's own mark: a replica that loses the claim must not free the winner's line; releasing the call_ref frees all of them
  const holder = `${callRef(lead.lead_id, lead.claim_no + 1)}~${sha256(ground.nodeId).slice(0, NODE_MARK_CHARS)}`;
  const line = await ground.bus.call("numbers.reserve", {
    reseller_id: lead.reseller_id, merchant_id: lead.merchant_id, provider: configuration.calling_provider, to: lead.phone_number, holder,
    lease_seconds: plan.max_call_seconds + ground.env.RING_TIMEOUT_SECONDS + LINE_MARGIN_SECONDS,
  });
  if (!line) return noLine(ground, lead, configuration);
  let kept = false;
  try {
    if (!configuration.enable_international_call && countryOf(line.phone_number) !== countryOf(lead.phone_number)) {
      await ground.bus.call("leads.drop", { lead_id: lead.lead_id, due_at: lead.due_at, outcome: "INTERNATIONAL_BLOCKED", reason: "the number lies in another country than the caller's and international calls are off" });
      return null;
    }
    const frees = await takeToken(rates, configuration, lead.phone_number);
    if (frees) return { lead, until: frees, why: "rate_limit" };
    const claimed = await ground.bus.call("leads.claim", {
      lead_id: lead.lead_id, due_at: lead.due_at, claim_no: lead.claim_no, lease_seconds: ground.env.LEASE_SECONDS,
      attempt: {
        number_id: line.id, provider: line.provider, template_version: plan.version,
        policy: { max_retry: configuration.max_retry, retry_offset: configuration.retry_offset, retry_on: plan.retry_on },
      },
    });
    kept = claimed !== null && await handOver(ground, claimed, admitted, line);
    return null;
  } finally {
    if (!kept) await ground.bus.call("numbers.release", { holder });
  }
}

/** One pass: due -> admit -> reserve -> claim -> dial. True when there may be more to do at once. */
export async function tick(ground: ServiceGround, rates: RateWindows): Promise<boolean> {
  const { leads } = await ground.bus.call("leads.due", { limit: ground.env.SCHEDULER_BATCH });
  if (leads.length === 0) return false;
  const [plans, { listed }] = await Promise.all([
    plansFor(ground, leads),
    ground.bus.call("blacklist.check", { pairs: leads.map((l) => ({ reseller_id: l.reseller_id, phone_number: l.phone_number })) }),
  ]);
  const now = ground.clock.now();
  const judged = await inSlices(leads.map((lead, i) => ({ lead, blacklisted: listed[i] ?? false })), PARALLEL, async ({ lead, blacklisted }) =>
    ({ ...lead, admission: admit({ lead, plan: await planOf(ground, lead, plans), blacklisted, now }) }));

  const held: Held[] = [];
  await inSlices(inFairOrder(judged), PARALLEL, async ({ admission, ...lead }) => {
    try {
      if (admission.verdict === "defer") held.push({ lead, until: admission.until, why: admission.why });
      else if (admission.verdict === "drop") await ground.bus.call("leads.drop", { lead_id: lead.lead_id, due_at: lead.due_at, outcome: admission.outcome, reason: admission.reason });
      else { const hold = await launch(ground, rates, lead, admission); if (hold) held.push(hold); }
    } catch (error) {
      ground.log.warn({ event: "launch.failed", lead_id: lead.lead_id, ...errorForLog(error) }, "a due lead could not be launched; a later pass tries again");
    }
  });
  if (held.length > 0) {
    await ground.bus.call("leads.defer", { items: held.map((h) => ({ lead_id: h.lead.lead_id, due_at: h.lead.due_at, until: h.until.toISOString(), why: h.why })) });
  }
  return leads.length === ground.env.SCHEDULER_BATCH;
}
