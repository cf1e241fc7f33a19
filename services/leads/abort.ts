import { recordAudit } from "../../shared/audit.ts";
import type { Bus, ParamsOf, ResultOf, ServiceDeps } from "../../shared/bus.ts";
import { scopeOf, type By } from "../../shared/contracts/identity.ts";
import type { LeadStatus } from "../../shared/contracts/lead.ts";
import { isUuid } from "../../shared/ids.ts";
import { errorForLog } from "../../shared/log.ts";
import { abort as abortMove } from "./rules/lead-state-machine.ts";
import type { FinishedDoc } from "./lists/lead-views.ts";
import type { BriefDoc, LeadsRepository } from "./leads.repository.ts";

type Item = ParamsOf<"leads.abort">["leads"][number];
type Answer = ResultOf<"leads.abort">["leads"][number];

/** Leads aborted in one write. */
const BATCH = 250;

const MESSAGES: Record<LeadStatus, Pick<Answer, "status" | "message">> = {
  PROCESSING: { status: "processing", message: "the call is being dialled or in conversation and can't be aborted" },
  FINISHED: { status: "already_aborted", message: "the lead had already finished" },
  BACKLOG: { status: "error", message: "the lead changed while it was being aborted; try again" },
  RETRY: { status: "error", message: "the lead changed while it was being aborted; try again" },
};
const DONE: Pick<Answer, "status" | "message"> = {
  status: "success",
  message: "the lead is aborted; no call will be placed for it",
};
const UNKNOWN: Pick<Answer, "status" | "message"> = { status: "error", message: "no lead with this id was found" };
const FAILED: Pick<Answer, "status" | "message"> = {
  status: "error",
  message: "the database did not take the request; try again",
};

const idOf = ({ lead_id }: Item): string => (isUuid(lead_id) ? lead_id.toLowerCase() : "");

/** Leads of one write: each waiting lead is moved by its own guard, so that of an abort and a claim one loses; the losers are looked up together. */
async function abortBatch(
  deps: ServiceDeps,
  leads: LeadsRepository,
  by: By,
  items: readonly Item[],
  onFinished: (lead: FinishedDoc) => void,
): Promise<Pick<Answer, "status" | "message">[]> {
  const known = async (some: readonly Item[]): Promise<Map<string, BriefDoc>> =>
    new Map(
      (some.length === 0 ? [] : await leads.briefs(scopeOf(by), [...new Set(some.map(idOf))])).map((d) => [d._id, d]),
    );
  try {
    const before = await known(items);
    const waiting = items.filter((item) => ["BACKLOG", "RETRY"].includes(before.get(idOf(item))?.status ?? ""));
    const now = deps.clock.now();
    const moves = waiting.flatMap((item) => {
      const lead = before.get(idOf(item));
      return lead
        ? [abortMove(lead, { reason: item.cancellation_reason, by: `${by.kind}:${by.id}`, at: now }, now)]
        : [];
    });
    const moved = await leads.transitionMany(moves);
    for (const lead of moved) if (lead) onFinished(lead);
    const done = new Set(waiting.filter((_, i) => moved[i] !== null));
    const after = new Map([...before, ...(await known(waiting.filter((item) => !done.has(item))))]);
    return items.map((item) => {
      if (done.has(item)) return DONE;
      const lead = after.get(idOf(item));
      return lead ? MESSAGES[lead.status] : UNKNOWN;
    });
  } catch (error) {
    deps.log.error({ event: "lead.abort_failed", leads: items.length, ...errorForLog(error) }, "aborts failed");
    return items.map(() => FAILED);
  }
}

/** Lead ids named in an audit entry; the counts are of all. */
const AUDITED_IDS = 1000;

/** One entry of the audit log for each reseller whose leads were aborted: all of them but for admins are of one. */
async function audit(
  deps: ServiceDeps,
  bus: Bus,
  by: By,
  aborted: readonly FinishedDoc[],
  answers: readonly Answer[],
): Promise<void> {
  const statuses = Object.fromEntries(
    [...Map.groupBy(answers, (a) => a.status)].map(([status, of]) => [status, of.length]),
  );
  for (const [reseller_id, of] of Map.groupBy(aborted, (lead) => lead.reseller_id)) {
    const merchants = new Set(of.map((lead) => lead.merchant_id));
    const [merchant_id = null] = merchants.size === 1 ? merchants : [];
    const ids = of.map((lead) => lead._id);
    await recordAudit(deps, bus, {
      by,
      action: "lead.aborted",
      subject: ids.length === 1 ? (ids[0] ?? "") : `leads:${ids.length}`,
      reseller_id,
      merchant_id,
      details: { lead_ids: ids.slice(0, AUDITED_IDS), aborted: ids.length, requested: answers.length, statuses },
    });
  }
}

/** POST /lead/abort: every lead for itself, answers in the order asked. `success` means that no phone rings for it afterwards. */
export async function abortLeads(
  deps: ServiceDeps,
  leads: LeadsRepository,
  bus: Bus,
  params: ParamsOf<"leads.abort">,
  onFinished: (lead: FinishedDoc) => void,
): Promise<ResultOf<"leads.abort">> {
  const aborted: FinishedDoc[] = [];
  const onAborted = (lead: FinishedDoc): void => {
    aborted.push(lead);
    onFinished(lead);
  };
  const answers: Answer[] = [];
  for (let i = 0; i < params.leads.length; i += BATCH) {
    const some = params.leads.slice(i, i + BATCH);
    const told = await abortBatch(deps, leads, params.by, some, onAborted);
    some.forEach((item, k) => answers.push({ id: item.lead_id, ...(told[k] ?? FAILED) }));
  }
  await audit(deps, bus, params.by, aborted, answers);
  return { leads: answers };
}
