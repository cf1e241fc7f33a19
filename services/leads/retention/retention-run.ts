import type { Bus, ParamsOf, ResultOf, ServiceDeps } from "../../../shared/bus/bus.ts";
import {
  ENDED_KINDS,
  LEADS_PER_END,
  RETENTION_KINDS,
  type EndedCounts,
  type RetentionKind,
} from "../../../shared/contracts/requests/retention.ts";
import { errorForLog } from "../../../shared/process/log.ts";
import { plusMs, plusSeconds } from "../../../shared/time/clock.ts";
import type { LeadsRepository } from "../leads.repository.ts";
import type { Erasures } from "../erasure/erasures.repository.ts";
import type { LegalHolds } from "../holds/legal-holds.repository.ts";
import { endRecording, endTranscript } from "../rules/lead-retention.ts";
import type { LeadCounters } from "./lead-counters.repository.ts";
import { foldOf } from "./lead-fold.ts";
import { owesNothing, type AgedLead, type AgedLeads } from "./aged-leads.ts";
import { archiveOrder, archiveOwn } from "./lead-archive.ts";
import { daysOf, type LeadFold, type RetentionDoc, type RetentionRun } from "./retentions.model.ts";
import type { Retentions } from "./retentions.repository.ts";

/** A process that does not say how far it is within this counts as gone. */
const TURN_MS = 120_000;
/** From one run of a reseller to the next. */
const RUN_EVERY_SECONDS = 86_400;
/** Leads of a batch that is archived: up to five files each, and their recordings, within the time that lead-archive.ts gives a batch. */
const LEADS_PER_ARCHIVED_END = 10;
/** Batches of one turn: then the other resellers' runs have theirs. */
const BATCHES_PER_TURN = 40;
const SECONDS_PER_DAY = 86_400;

/** Before every lead; the index has no others. */
export const BEGINNING = new Date(0);

/** What belongs to leads that ended before then is older than so many days. */
export const beforeWhen = (now: Date, days: number): Date => plusSeconds(now, -days * SECONDS_PER_DAY);

/** What a run needs. */
export interface RetentionDeps extends Pick<ServiceDeps, "bus" | "clock" | "log" | "metrics"> {
  leads: Pick<LeadsRepository, "transitionMany">;
  retentions: Retentions;
  aged: AgedLeads;
  counters: Pick<LeadCounters, "add">;
  holds: Pick<LegalHolds, "among">;
  erasures: Pick<Erasures, "underWay">;
}

type Order = ParamsOf<"dialer.endRecords">;
type Answer = ResultOf<"dialer.endRecords">;

const DIALER = (bus: Bus, order: Order): Promise<Answer> => bus.call("dialer.endRecords", order);
const WEBHOOK = (bus: Bus, order: Order): Promise<Answer> => bus.call("webhook.endRecords", order);
const CONVERSATION = (bus: Bus, order: Order): Promise<Answer> => bus.call("conversation.endRecords", order);
/** The services beside this one that keep something of a kind, in the order in which they are asked. */
const HOLDERS: Record<RetentionKind, readonly ((bus: Bus, order: Order) => Promise<Answer>)[]> = {
  recordings: [DIALER],
  transcripts: [WEBHOOK, CONVERSATION],
  deliveries: [WEBHOOK],
  leads: [DIALER, WEBHOOK, CONVERSATION],
};

const plus = (a: EndedCounts, b: EndedCounts): EndedCounts => {
  const sum: EndedCounts = { ...a };
  for (const kind of ENDED_KINDS) if (b[kind]) sum[kind] = (sum[kind] ?? 0) + b[kind];
  return sum;
};

/** Does what a fold says: counts its leads, and deletes them. It may be done in part already; how many leads there still were. */
async function settleFold({ aged, counters }: RetentionDeps, reseller_id: string, fold: LeadFold): Promise<number> {
  await counters.add(reseller_id, fold);
  return aged.remove(fold.lead_ids);
}

/** Folds those of these leads that are over; null: another process has the run. */
async function endLeads(deps: RetentionDeps, taken: RetentionDoc, ids: string[]): Promise<EndedCounts | null> {
  const { aged, clock, retentions } = deps;
  const leads = await aged.foldable(ids);
  if (leads.length === 0) return {};
  const fold = foldOf((taken.folds ?? 0) + 1, leads);
  if (!(await retentions.progress({ ...taken, fold, folds: fold.no }, plusMs(clock.now(), TURN_MS)))) return null;
  taken.folds = fold.no; // that it is done is written with the next progress
  return { leads: await settleFold(deps, taken._id, fold) };
}

/** What this service itself has of the kind; null: another process has the run. */
async function endOwn(
  deps: RetentionDeps,
  taken: RetentionDoc,
  kind: RetentionKind,
  ids: string[],
): Promise<EndedCounts | null> {
  if (kind === "deliveries") return {};
  if (kind === "leads") return endLeads(deps, taken, ids);
  const { clock, leads } = deps;
  const now = clock.now();
  const transition = (id: string) => (kind === "recordings" ? endRecording(id) : endTranscript(id, now));
  const made = await leads.transitionMany(ids.map(transition));
  return kind === "recordings" ? {} : { transcripts: made.filter((lead) => lead !== null).length };
}

/** Those of a batch that may end now: they owe nothing, no legal hold covers them, and where they would be archived, nobody has their number erased. */
async function endable({ erasures, holds }: RetentionDeps, taken: RetentionDoc, batch: AgedLead[]) {
  const isHeld = await holds.among(
    taken._id,
    batch.map((lead) => lead.phone_number),
  );
  const free = batch.filter((lead) => owesNothing(lead) && !isHeld(lead.phone_number));
  if (taken.archive !== true) return free;
  const numbers = free.flatMap(({ phone_number }) => (phone_number === null ? [] : [phone_number]));
  const erased = await erasures.underWay(numbers);
  return free.filter(({ phone_number }) => phone_number === null || !erased.has(phone_number));
}

/** Ends what the next leads have of the run's kind; null: there are no more; "lost": another process has the run. Those of which something is under way, and those under a legal hold, stay as they are. */
async function endBatch(
  deps: RetentionDeps,
  taken: RetentionDoc,
  run: RetentionRun,
  before: Date,
): Promise<RetentionRun | "lost" | null> {
  const batch = await deps.aged.next(
    taken._id,
    run.after,
    before,
    taken.archive === true ? LEADS_PER_ARCHIVED_END : LEADS_PER_END,
  );
  const last = batch.at(-1);
  if (last === undefined) return null;
  const { bus, clock } = deps;
  const asked = clock.now();
  const free = await endable(deps, taken, batch);
  const archive = taken.archive && free.length > 0 ? await archiveOrder(bus, asked, taken._id, free) : undefined;
  let lead_ids = free.map((lead) => lead._id);
  let ended: EndedCounts = {};
  for (const holder of HOLDERS[run.kind]) {
    if (lead_ids.length === 0) break;
    const answer = await holder(bus, { kind: run.kind, lead_ids, ...(archive && { archive }) });
    const waiting = new Set(answer.waiting);
    lead_ids = lead_ids.filter((id) => !waiting.has(id));
    ended = plus(ended, answer.ended);
  }
  if (archive) {
    const kept = await archiveOwn(bus, deps.aged, run.kind, lead_ids, archive);
    lead_ids = kept.lead_ids;
    ended = plus(ended, { archived: kept.written });
  }
  const own = await endOwn(deps, taken, run.kind, lead_ids);
  if (own === null) return "lost";
  ended = plus(ended, own);
  for (const kind of ENDED_KINDS) deps.metrics.count("callagent_retention_ended_total", { kind }, ended[kind] ?? 0);
  const ready = new Set(lead_ids);
  const waiting = batch.filter((lead) => !ready.has(lead._id));
  const waits_from = run.waits_from ?? waiting[0]?.finished_at;
  return {
    ...run,
    after: { finished_at: last.finished_at, lead_id: last._id },
    ended: plus(run.ended, ended),
    waiting: run.waiting + waiting.length,
    ...(waits_from === undefined ? {} : { waits_from }),
  };
}

const beginning = (kind: RetentionKind, { done_to }: RetentionDoc) => ({
  kind,
  after: { finished_at: done_to[kind] ?? BEGINNING, lead_id: "" },
});

/** The run that goes on, or a new one. */
function runOf(taken: RetentionDoc, now: Date): RetentionRun {
  if (taken.run && taken.run.finished_at === null) return taken.run;
  const first = beginning(RETENTION_KINDS[0], taken);
  return { started_at: now, finished_at: null, ...first, waiting: 0, ended: {} };
}

/** The kind is done: the next one, or the end of the run. Where its next run begins is kept. */
function afterKind(taken: RetentionDoc, { waits_from, ...run }: RetentionRun, before: Date | null, now: Date): void {
  if (before !== null && run.kind !== "leads") taken.done_to[run.kind] = waits_from ?? before;
  const next = RETENTION_KINDS[RETENTION_KINDS.indexOf(run.kind) + 1];
  taken.run = next === undefined ? { ...run, finished_at: now } : { ...run, ...beginning(next, taken) };
}

/** Says what a run ended, where it did: in the log and in the audit log, in the name of who set the periods. */
async function tell({ bus, log }: RetentionDeps, { _id: reseller_id, days, set_by }: RetentionDoc, run: RetentionRun) {
  const { ended, waiting } = run;
  log.info({ event: "retention.done", reseller_id, ended, waiting }, "what was older than it is kept has ended");
  if (Object.keys(ended).length === 0) return;
  const details = { ...ended, waiting, ...days };
  await bus
    .call("auth.recordRun", { actor: set_by, action: "retention.ended", subject: reseller_id, reseller_id, details })
    .catch((error: unknown) =>
      log.error(
        { event: "audit.lost", action: "retention.ended", subject: reseller_id, ...errorForLog(error) },
        "an entry of the audit log could not be written; the action itself took effect",
      ),
    );
}

/** Goes on with a run for a turn. */
async function advance(deps: RetentionDeps, taken: RetentionDoc): Promise<void> {
  const { clock, retentions } = deps;
  if (taken.fold) {
    await settleFold(deps, taken._id, taken.fold);
    taken.fold = null;
  }
  if (RETENTION_KINDS.every((kind) => daysOf(taken.days, kind) === null)) return retentions.rest(taken);
  taken.run = runOf(taken, clock.now());
  for (let batches = 0; batches < BATCHES_PER_TURN;) {
    const run: RetentionRun = taken.run;
    const days = daysOf(taken.days, run.kind);
    const before: Date | null = days === null ? null : beforeWhen(run.started_at, days);
    const further = before === null ? null : await endBatch(deps, taken, run, before);
    if (further === "lost") return;
    if (further === null) afterKind(taken, run, before, clock.now());
    else taken.run = further;
    const { finished_at } = taken.run;
    const due_at = finished_at === null ? plusMs(clock.now(), TURN_MS) : plusSeconds(run.started_at, RUN_EVERY_SECONDS);
    if (!(await retentions.progress(taken, due_at))) return;
    if (finished_at !== null) return tell(deps, taken, taken.run);
    if (further !== null) batches++;
  }
  await retentions.progress(taken, clock.now());
}

/** One pass: the run that has been due for longest, for a turn. True when there was one. A service out of reach holds it up: it goes on when its turn is over. */
export async function endAged(deps: RetentionDeps): Promise<boolean> {
  const now = deps.clock.now();
  const taken = await deps.retentions.takeDue(now, plusMs(now, TURN_MS));
  if (!taken) return false;
  await advance(deps, taken);
  return true;
}
