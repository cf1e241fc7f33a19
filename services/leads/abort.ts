import { recordAudit } from "../../shared/audit.ts";
import { chunks } from "../../shared/batching.ts";
import type { Bus, ParamsOf, ResultOf } from "../../shared/bus/bus.ts";
import { scopeOf, type By } from "../../shared/contracts/records/identity.ts";
import type { LeadStatus } from "../../shared/contracts/records/lead.ts";
import { isUuid } from "../../shared/ids.ts";
import { errorForLog } from "../../shared/process/log.ts";
import { abort, refuseAbort } from "./rules/lead-state-machine.ts";
import type { FinishedDoc } from "./lists/lead-views.ts";
import type { LeadDeps } from "./deps.ts";
import type { BriefDoc } from "./leads.repository.ts";

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

/** Keeps who wanted leads aborted that a claim took meanwhile, and why; best effort. */
async function noteRefused(
  { clock, leads, log }: Pick<LeadDeps, "clock" | "leads" | "log">,
  by: string,
  lost: readonly { lead: BriefDoc; reason: string }[],
): Promise<void> {
  if (lost.length === 0) return;
  const now = clock.now();
  await leads
    .transitionMany(lost.map(({ lead, reason }) => refuseAbort(lead, { reason, by }, now)))
    .catch((error: unknown) =>
      log.warn({ event: "lead.note_lost", leads: lost.length, ...errorForLog(error) }, "refused aborts were not noted"),
    );
}

/** Aborts in one write: each waiting lead by its own guard, so that of an abort and a claim one loses; the losers are read again together. */
async function abortBatch(
  deps: LeadDeps,
  by: By,
  items: readonly Item[],
): Promise<Pick<Answer, "status" | "message">[]> {
  const { clock, leads, log, onFinished } = deps;
  const who = `${by.kind}:${by.id}`;
  const known = async (some: readonly Item[]): Promise<Map<string, BriefDoc>> =>
    new Map(
      (some.length === 0 ? [] : await leads.briefs(scopeOf(by), [...new Set(some.map(idOf))])).map((d) => [d._id, d]),
    );
  try {
    const before = await known(items);
    const waiting = items.filter((item) => ["BACKLOG", "RETRY"].includes(before.get(idOf(item))?.status ?? ""));
    const now = clock.now();
    const aborts = waiting.flatMap((item) => {
      const lead = before.get(idOf(item));
      return lead ? [abort(lead, { reason: item.cancellation_reason, by: who, at: now }, now)] : [];
    });
    const aborted = await leads.transitionMany(aborts);
    for (const lead of aborted) if (lead) onFinished(lead);
    const done = new Set(waiting.filter((_, i) => aborted[i] !== null));
    const after = new Map([...before, ...(await known(waiting.filter((item) => !done.has(item))))]);
    const lost = waiting.flatMap((item) => {
      const lead = after.get(idOf(item));
      return lead?.status === "PROCESSING" ? [{ lead, reason: item.cancellation_reason }] : [];
    });
    await noteRefused(deps, who, lost);
    return items.map((item) => {
      if (done.has(item)) return DONE;
      const lead = after.get(idOf(item));
      return lead ? MESSAGES[lead.status] : UNKNOWN;
    });
  } catch (error) {
    log.error({ event: "lead.abort_failed", leads: items.length, ...errorForLog(error) }, "aborts failed");
    return items.map(() => FAILED);
  }
}

/** Lead ids named in an audit entry; the counts are of all. */
const AUDITED_IDS = 1000;

/** One entry of the audit log for each reseller whose leads were aborted: all of them but for admins are of one. */
async function audit(
  deps: LeadDeps,
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

/** POST /lead/abort: each lead independently, answers in the order of the request. `success` means that no phone rings for the lead afterwards. */
export async function abortLeads(
  deps: LeadDeps,
  bus: Bus,
  params: ParamsOf<"leads.abort">,
): Promise<ResultOf<"leads.abort">> {
  const aborted: FinishedDoc[] = [];
  const onFinished = (lead: FinishedDoc): void => {
    aborted.push(lead);
    deps.onFinished(lead);
  };
  const answers: Answer[] = [];
  for (const items of chunks(params.leads, { maxItems: BATCH })) {
    const found = await abortBatch({ ...deps, onFinished }, params.by, items);
    items.forEach((item, i) => answers.push({ id: item.lead_id, ...(found[i] ?? FAILED) }));
  }
  await audit(deps, bus, params.by, aborted, answers);
  return { leads: answers };
}
