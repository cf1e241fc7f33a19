import pLimit from "p-limit";
import type { ParamsOf, ServiceDeps } from "../../../shared/bus/bus.ts";
import { codeOf, isFailure } from "../../../shared/errors.ts";
import { zonesOf } from "../../../shared/numbering/callee-zones.ts";
import { errorForLog } from "../../../shared/process/log.ts";
import { plusMs } from "../../../shared/time/clock.ts";
import { ringableState } from "../admission/window-gate.ts";
import { failedQueues, together, type ClaimedAttempt, type Deferred, type StageResult } from "../dispositions.ts";
import { rateLimitOf } from "../limits/rules/rate-limits.ts";
import type { WonLead } from "./claim.ts";

/** What the stage needs. */
export type HandOverDeps = Pick<ServiceDeps, "bus" | "clock" | "log" | "storeClock">;

/** The result, with the number of orders that the dialer took of each offer. */
export interface HandedOver extends StageResult<WonLead> {
  offers: { offered: number; taken: number }[];
}

type Order = ParamsOf<"dialer.dialMany">["orders"][number];

/** Orders of a refused offer that are offered alone, side by side. */
const OFFERS_AT_ONCE = 4;
/** A lead is due again after this long when the dialer has no room, or can't take it at all. */
const NO_ROOM_MS = 500;
const REFUSED_MS = 5000;

/** The dialer's order for a claimed lead. `ahead_ms`: so far the database's clock is ahead, while that is held off; the window closes by whichever time is later. */
export function orderOf(
  { claimed, slot, admitted: { open, plan, configuration, lead } }: WonLead,
  now: Date,
  ahead_ms = 0,
): Order {
  const window = ringableState(configuration, zonesOf(claimed.phone_number), now);
  const closes_at = window.open && window.closes_at ? plusMs(window.closes_at, -Math.max(0, ahead_ms)) : null;
  return {
    lead_id: claimed.lead_id,
    claim_no: claimed.claim_no,
    reseller_id: claimed.reseller_id,
    merchant_id: claimed.merchant_id,
    template_id: claimed.template_id,
    template_version: plan.version,
    execution_mode: claimed.execution_mode,
    to: claimed.phone_number,
    from: slot.phone_number,
    number_id: slot.id,
    provider: slot.provider,
    payload: claimed.payload,
    // a window that closed since the lead was admitted: the dialer releases it
    dial_until: window.open ? (closes_at?.toISOString() ?? null) : now.toISOString(),
    record: configuration.record_calls,
    ...(configuration.engine === null ? {} : { engine: configuration.engine }),
    voicemail_action: configuration.voicemail_action,
    enforce_blacklist: configuration.enforce_blacklist,
    ...(configuration.enable_international_call ? {} : { enable_international_call: false }),
    ...(configuration.transfer_numbers?.length ? { transfer_numbers: configuration.transfer_numbers } : {}),
    max_call_seconds: plan.max_call_seconds,
    rate_limit: rateLimitOf(configuration, claimed.phone_number),
    ...(open.inputs.cap ? { max_calls_per_callee: open.inputs.cap } : {}),
    ...(open.inputs.ceilings ? { spend_ceilings: open.inputs.ceilings } : {}),
    due_at: lead.due_at,
    pre_checks: configuration.pre_checks,
    pre_check_defers: claimed.pre_check_defers,
    ...(claimed.trace === undefined ? {} : { trace: claimed.trace }),
  };
}

const attemptOf = ({ claimed: { lead_id, claim_no }, holder }: WonLead): ClaimedAttempt => ({
  lead_id,
  claim_no,
  holder,
});

/** Leads that the dialer certainly did not take. `fault`: because of a technical fault with this code. */
const release = (leads: readonly WonLead[], after_ms: number, reason: string, fault?: string): Deferred[] =>
  leads.length === 0
    ? []
    : [
        {
          kind: "attempts",
          attempts: leads.map(attemptOf),
          after_ms,
          reason,
          ...(fault === undefined ? {} : { fault }),
        },
      ];

/** The dialer disconnected during the offer: it may have taken the orders and may still run behind a broken bus. */
const mayBeTaken = (error: unknown): boolean =>
  error instanceof Error && "type" in error && error.type === "REQUEST_REJECTED";

/** An offer without an answer. Where it is unknown whether the dialer took the leads, their leases decide. */
function unanswered(leads: readonly WonLead[], error: unknown): HandedOver {
  const deferred = failedQueues(
    leads.map((l) => l.admitted.open.inputs.queue),
    error,
  );
  const untaken = !mayBeTaken(error) && (isFailure(error, "BUSY") || isFailure(error, "DEPENDENCY_DOWN"));
  if (untaken) deferred.push(...release(leads, REFUSED_MS, "dialler_refused"));
  return { ok: [], deferred, dropped: [], offers: [{ offered: leads.length, taken: 0 }] };
}

/** Offers claimed leads to a dialer in one request. What it certainly did not take is released. */
export async function handOver(leads: readonly WonLead[], deps: HandOverDeps): Promise<HandedOver> {
  try {
    const orders = leads.map((l) => orderOf(l, deps.clock.now(), deps.storeClock.held()?.ahead_ms));
    const { taken } = await deps.bus.call("dialer.dialMany", { orders });
    const ok = leads.filter((_, i) => taken[i] === true);
    const left = leads.filter((_, i) => taken[i] !== true);
    const offers = [{ offered: leads.length, taken: ok.length }];
    return { ok, deferred: release(left, NO_ROOM_MS, "dialler_busy"), dropped: [], offers };
  } catch (error) {
    deps.log.warn({ event: "dial.refused", leads: leads.length, ...errorForLog(error) }, "the dialler took no leads");
    if (!isFailure(error, "VALIDATION_FAILED") && !isFailure(error, "MESSAGE_TOO_LARGE"))
      return unanswered(leads, error);
    // one of the orders is invalid, or too large; the others must not wait for it
    if (leads.length > 1) {
      const results = await pLimit(OFFERS_AT_ONCE).map(leads, (lead) => handOver([lead], deps));
      return { ...together(results), offers: results.flatMap((r) => r.offers) };
    }
    const [lead_id] = leads.map((lead) => lead.claimed.lead_id);
    const fields = { event: "order.invalid", lead_id, ...errorForLog(error) };
    deps.log.error(fields, "a lead can't be offered to the dialler as it is; it is tried again ever more seldom");
    const deferred = release(leads, REFUSED_MS, "order_invalid", codeOf(error));
    return { ok: [], deferred, dropped: [], offers: [] };
  }
}
