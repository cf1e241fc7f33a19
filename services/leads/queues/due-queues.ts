import pLimit from "p-limit";
import { chunks, fitting } from "../../../shared/batching.ts";
import type { ParamsOf, ResultOf } from "../../../shared/bus/bus.ts";
import type { DueLead, QueueHead } from "../../../shared/contracts/records/lead.ts";
import { expiryFrom } from "../rules/faults.ts";
import { drop } from "../rules/lead-state-machine.ts";
import { shownOverride, toDue } from "../lists/lead-views.ts";
import type { LeadDeps } from "../deps.ts";
import { announceQueues } from "./queue-notice.ts";
import { partsOf, queueOf, rightQueue } from "../rules/queue-names.ts";
import type { HeadDoc, Overrides, QueuesRepository } from "./queues.repository.ts";

const toHead = (d: HeadDoc): QueueHead => ({
  queue: d.queue,
  template_id: d.template_id,
  reseller_id: d.reseller_id,
  merchant_id: d.merchant_id,
  due_at: d.due_at.toISOString(),
  ...shownOverride(d, d.queue),
});

const overridesOf = (by_reference = false): Overrides => (by_reference ? "without" : "with");

type Heads = ResultOf<"leads.heads">;

/** The first due lead of each queue, in the order of the queues' names: one step of the index for each queue, the parts walked side by side. */
export async function dueQueues(
  repository: QueuesRepository,
  { until, own, after, limit, by_reference }: ParamsOf<"leads.heads">,
): Promise<Heads> {
  const by = new Date(until);
  const parts = partsOf(own).filter((part) => after === null || after < part.to);
  const found: HeadDoc[][] = parts.map(() => []);
  // A part may stop as soon as it and those before it fill the answer.
  const filled = (part: number): boolean => found.slice(0, part + 1).reduce((n, of) => n + of.length, 0) >= limit;
  await Promise.all(
    parts.map(async ({ from, to }, i) => {
      let last = after !== null && after >= from ? { $gt: after } : { $gte: from };
      while (!filled(i)) {
        const head = await repository.head({ ...last, $lt: to }, by, overridesOf(by_reference));
        if (!head) return;
        found[i]?.push(head);
        last = { $gt: head.queue };
      }
    }),
  );
  const all = found.flat().slice(0, limit).map(toHead);
  const heads = fitting(all);
  const more = all.length === limit || heads.length < all.length;
  return { heads, next: more ? (heads.at(-1)?.queue ?? null) : null };
}

/** Queues read side by side. */
const PARALLEL = 25;

/** The first due leads of each of the queues; with references in place of overrides only of the first queues, as many as fit into a message. */
export async function dueLeads(
  repository: QueuesRepository,
  { queues, until, by_reference }: ParamsOf<"leads.dueOf">,
): Promise<ResultOf<"leads.dueOf">> {
  const by = new Date(until);
  const leadsOf = async ({ queue, limit }: (typeof queues)[number]): Promise<DueLead[]> => {
    const found = await repository.dueOf(queue, by, limit, overridesOf(by_reference));
    return found.map(toDue).filter((d): d is DueLead => d !== null);
  };
  if (by_reference !== true) return { leads: (await pLimit(PARALLEL).map(queues, leadsOf)).flat() };

  let of: DueLead[][] = [];
  for (const some of chunks(queues, { maxItems: PARALLEL })) {
    const read = [...of, ...(await Promise.all(some.map(leadsOf)))];
    of = fitting(read);
    if (of.length < read.length) break;
  }
  return { leads: of.flat(), read: of.length };
}

/** Templates whose leads in flight are told apart: those with the most. */
const MAX_TEMPLATES = 5000;

/** Leads in PROCESSING, in all and by template. */
export async function inFlight(queues: QueuesRepository): Promise<ResultOf<"leads.inFlight">> {
  const templates = (await queues.inFlight()).sort((a, b) => b.count - a.count);
  return { total: templates.reduce((sum, { count }) => sum + count, 0), templates: templates.slice(0, MAX_TEMPLATES) };
}

/** Leads of a template that have waited too long end EXPIRED, each guarded by what was seen of it; how many did. */
export async function expireLeads(
  { clock, leads, onFinished }: LeadDeps,
  queues: QueuesRepository,
  p: ParamsOf<"leads.expire">,
): Promise<ResultOf<"leads.expire">> {
  const old = await queues.waitingSince(p.template_id, new Date(p.created_before), p.limit);
  const now = clock.now();
  if (old.length === 0) return { expired: 0 };
  const ended = await leads.transitionMany(
    old.map((lead) => drop({ lead_id: lead._id, due_at: lead.due_at ?? null }, lead, "EXPIRED", p.reason, now)),
  );
  for (const lead of ended) if (lead) onFinished(lead);
  return { expired: ended.filter((lead) => lead !== null).length };
}

/** Leads given a queue, or the beginning of their age, in one go. */
const BATCH = 500;
/** Batches of leads of an older version that one request takes on. */
const BATCHES = 10;

/** Templates with unfinished leads, in the order of their ids, and from when the age of the first of them counts; one step of the index for each. */
export async function agingTemplates(
  repository: QueuesRepository,
  { after, limit }: ParamsOf<"leads.aging">,
): Promise<ResultOf<"leads.aging">> {
  const templates: ResultOf<"leads.aging">["templates"] = [];
  let last = after ?? "";
  for (let batches = 0; templates.length < limit && batches < BATCHES;) {
    const first = await repository.firstToExpire(last);
    if (!first) return { templates, next: null };
    const { template_id, expiry_from } = first;
    if (expiry_from) {
      templates.push({ template_id, expiry_from: expiry_from.toISOString() });
      last = template_id;
    } else {
      await repository.giveExpiry(template_id, expiryFrom, BATCH);
      batches++;
    }
  }
  return { templates, next: last };
}

/** One pass over leads that a version without queues wrote; they wait like all others then. True when there were as many as one pass takes. */
export const giveMissingQueues = async (queues: QueuesRepository): Promise<boolean> =>
  (await queues.giveQueues(queueOf, BATCH)) === BATCH;

/** Leads that wait among callees of other time zones go into the right queue; how many did. */
export async function requeue(
  { bus }: Pick<LeadDeps, "bus">,
  queues: QueuesRepository,
  { lead_ids }: ParamsOf<"leads.requeue">,
): Promise<ResultOf<"leads.requeue">> {
  const moved = await queues.requeue(lead_ids, rightQueue);
  announceQueues({ bus }, moved);
  return { moved: moved.length };
}
