import { recordAudit } from "../../shared/audit.ts";
import type { Bus, ParamsOf, ResultOf } from "../../shared/bus/bus.ts";
import { scopeOf, type Scope } from "../../shared/contracts/records/identity.ts";
import { fail } from "../../shared/errors.ts";
import { isUuid } from "../../shared/ids.ts";
import type { LeadDeps } from "./deps.ts";
import type { LeadState } from "./leads.model.ts";
import { announceQueues } from "./queues/queue-notice.ts";
import { resume } from "./rules/lead-state-machine.ts";

const EVERYBODY: Scope = { reseller_id: null, merchant_id: null };
/** Leads resumed in one write, and in one request. */
const BATCH = 500;
const MAX_RESUMED = 10_000;
/** Lead ids named in an audit entry; the count is of all. */
const AUDITED_IDS = 1000;

/** What waking needs. */
type WakeDeps = Pick<LeadDeps, "bus" | "clock" | "leads" | "log">;

/** One entry of the audit log for each reseller whose leads were resumed. */
async function audit(
  deps: LeadDeps,
  bus: Bus,
  { by, template_id }: ParamsOf<"leads.resume">,
  resumed: readonly LeadState[],
): Promise<void> {
  for (const [reseller_id, of] of Map.groupBy(resumed, (lead) => lead.reseller_id)) {
    const [merchant_id = null, another] = [...new Set(of.map((lead) => lead.merchant_id))];
    const ids = of.map((lead) => lead._id);
    await recordAudit(deps, bus, {
      by,
      action: "lead.resumed",
      subject: ids.length === 1 ? (ids[0] ?? "") : `leads:${ids.length}`,
      reseller_id,
      merchant_id: another === undefined ? merchant_id : null,
      details: { lead_ids: ids.slice(0, AUDITED_IDS), resumed: ids.length, template_id: template_id ?? null },
    });
  }
}

async function wake(deps: WakeDeps, code: string): Promise<void> {
  const now = deps.clock.now();
  const found = await deps.leads.resting(EVERYBODY, { code }, now, BATCH);
  if (found.length === 0) return;
  const woken = await deps.leads.transitionMany(found.map((lead) => resume(lead, "leads", now)));
  const made = woken.filter((lead) => lead !== null);
  announceQueues(deps, made);
  deps.log.info(
    { event: "leads.resumed", leads: made.length, code },
    "an attempt passed: parked leads are tried again",
  );
}

/**
 * One pass over faults that an attempt met no more: leads that are parked for them are tried now, a batch at a time; the first that pass wake the next. Where the cause is another one, they stay
 * parked. False: nothing is left to do at once.
 */
export async function wakeParked(deps: WakeDeps, over: Set<string>): Promise<boolean> {
  for (const code of over) {
    await wake(deps, code);
    over.delete(code);
  }
  return false;
}

/** POST /leads/resume: parked leads are due now. They stay parked, and don't age, until an attempt passes. */
export async function resumeParked(
  deps: LeadDeps,
  bus: Bus,
  params: ParamsOf<"leads.resume">,
): Promise<ResultOf<"leads.resume">> {
  const { by, lead_ids, template_id } = params;
  if (lead_ids === undefined && template_id === undefined)
    fail("VALIDATION_FAILED", "The body names neither lead_ids nor a template_id.", {
      errors: [{ path: "lead_ids", message: "is needed, or a template_id" }],
    });
  const { clock, leads, log } = deps;
  const which = {
    ...(lead_ids === undefined ? {} : { lead_ids: lead_ids.filter(isUuid).map((id) => id.toLowerCase()) }),
    ...(template_id === undefined ? {} : { template_id }),
  };
  const resumed: LeadState[] = [];
  let more = true;
  while (more && resumed.length < MAX_RESUMED) {
    const now = clock.now();
    const found = await leads.resting(scopeOf(by), which, now, BATCH);
    const done = await leads.transitionMany(found.map((lead) => resume(lead, `${by.kind}:${by.id}`, now)));
    const made = done.filter((lead) => lead !== null);
    announceQueues(deps, made);
    resumed.push(...made);
    // leads that others move all the time are left to the next request
    more = found.length === BATCH && made.length > 0;
  }
  log.info({ event: "leads.resumed", leads: resumed.length, template_id }, "parked leads were resumed");
  await audit(deps, bus, params, resumed);
  return { resumed: resumed.length, more };
}
