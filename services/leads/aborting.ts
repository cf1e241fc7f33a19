import { recordAudit } from "../../shared/audit.ts";
import type { Bus, ParamsOf, ResultOf, ServiceGround } from "../../shared/bus.ts";
import { scopeOf, type By } from "../../shared/contracts/identity.ts";
import { isUuid } from "../../shared/ids.ts";
import { inSlices } from "../../shared/in-slices.ts";
import { abort as abortMove } from "./lead-machine.ts";
import type { LeadDoc } from "./leads.model.ts";
import type { LeadsRepository } from "./leads.repository.ts";

type Item = ParamsOf<"leads.abort">["leads"][number];
type Answer = ResultOf<"leads.abort">["leads"][number];

/** Leads aborted side by side in one request. */
const PARALLEL = 25;

const NOT_FOUND = "no lead with this id was found";

async function abortOne(ground: ServiceGround, leads: LeadsRepository, by: By, item: Item, onFinished: (lead: LeadDoc) => void): Promise<Answer> {
  const id = item.lead_id;
  try {
    const lead = isUuid(id) ? await leads.byId(scopeOf(by), id.toLowerCase()) : null;
    if (!lead) return { id, status: "error", message: NOT_FOUND };
    const now = ground.clock.now();
    const aborted = await leads.move(abortMove(lead, { reason: item.cancellation_reason, by: `${by.kind}:${by.id}`, at: now }, now));
    if (aborted) {
      onFinished(aborted);
      return { id, status: "success", message: "the lead is aborted; no call will be placed for it" };
    }
    const current = await leads.byId(scopeOf(by), lead._id);
    if (current?.status === "PROCESSING") return { id, status: "processing", message: "the call is being dialled or in conversation and can't be aborted" };
    if (current?.status === "FINISHED") return { id, status: "already_aborted", message: "the lead had already finished" };
    return { id, status: "error", message: "the lead changed while it was being aborted; try again" };
  } catch (error) {
    ground.log.error({ event: "lead.abort_failed", lead_id: id, name: error instanceof Error ? error.name : "unknown" }, "abort failed");
    return { id, status: "error", message: "the database did not take the request; try again" };
  }
}

/** Lead ids named in an audit entry; the counts are of all. */
const AUDITED_IDS = 1000;

/** One entry of the audit log for each reseller whose leads were aborted: all of them but for admins are of one. */
async function audit(ground: ServiceGround, bus: Bus, by: By, aborted: readonly LeadDoc[], answers: readonly Answer[]): Promise<void> {
  const statuses = Object.fromEntries([...Map.groupBy(answers, (a) => a.status)].map(([status, of]) => [status, of.length]));
  for (const [reseller_id, of] of Map.groupBy(aborted, (lead) => lead.reseller_id)) {
    const merchants = new Set(of.map((lead) => lead.merchant_id));
    const [merchant_id = null] = merchants.size === 1 ? merchants : [];
    const ids = of.map((lead) => lead._id);
    await recordAudit(ground, bus, {
      by, action: "lead.aborted", subject: ids.length === 1 ? ids[0] ?? "" : `leads:${ids.length}`, reseller_id, merchant_id,
      details: { lead_ids: ids.slice(0, AUDITED_IDS), aborted: ids.length, requested: answers.length, statuses },
    });
  }
}

/** POST /lead/abort: every lead for itself, answers in the order asked. `success` means that no phone rings for it afterwards. */
export async function abort(ground: ServiceGround, leads: LeadsRepository, bus: Bus, params: ParamsOf<"leads.abort">, onFinished: (lead: LeadDoc) => void): Promise<ResultOf<"leads.abort">> {
  const aborted: LeadDoc[] = [];
  const onAborted = (lead: LeadDoc): void => { aborted.push(lead); onFinished(lead); };
  const answers = await inSlices(params.leads, PARALLEL, (item) => abortOne(ground, leads, params.by, item, onAborted));
  await audit(ground, bus, params.by, aborted, answers);
  return { leads: answers };
}
