import type { AttemptFacts } from "../../../shared/contracts/records/attempt.ts";
import type { AttemptSnapshot, Faults, LeadDoc, LeadState, Owing } from "../leads.model.ts";
import { attemptFields, attemptHistory, countIncrements, outdatedFields, preCheckHistory } from "./attempt-record.ts";
import { NO_NEWS, type CallNews } from "./call-news.ts";
import { NEVER_AGES, notParked, withoutFaults, type Aged } from "./faults.ts";
import * as event from "./lead-events.ts";
import {
  endedBy,
  historyEntry,
  leasedBy,
  owedEnd,
  restored,
  WAITING,
  type AttemptEnd,
  type Lease,
  type LeadTransition,
  type SeenLead,
} from "./lead-transition.ts";
import { queueOf, type Queued } from "./queue-names.ts";

export { answer, refuseAbort, renewLease, resume, takeOver } from "./lead-transition.ts";

/** FINISHED and owing its webhook event in one write; leads without a webhook owe none. */
const finishedFields = (lead: Owing, outcome: string, now: Date): Record<string, unknown> => ({
  status: "FINISHED",
  outcome,
  finished_at: now,
  updated_at: now,
  held: null,
  ...(typeof lead.payload?.reporting_webhook_url === "string" ? { report_due_at: now } : {}),
});

/** Where every lead begins. `due_at` is the pusher's; a lead that can't be dialled has none. */
export const QUEUED_STATE = {
  status: "BACKLOG",
  outcome: null,
  attempt_count: 0,
  claim_no: 0,
  recoveries: 0,
  answered_count: 0,
  talk_seconds: 0,
} as const;

/** Where an inbound lead begins: in its only claim. */
export const INBOUND_STATE = { ...QUEUED_STATE, status: "PROCESSING", attempt_count: 1, claim_no: 1 } as const;

/** BACKLOG|RETRY -> PROCESSING. The claim number is the fence: it only ever rises. */
export const claim = (
  seen: SeenLead & { claim_no: number },
  attempt: AttemptSnapshot,
  lease_until: Date,
  now: Date,
): LeadTransition => ({
  filter: { _id: seen.lead_id, status: WAITING, claim_no: seen.claim_no, due_at: { $eq: seen.due_at, $lte: now } },
  update: {
    $set: {
      status: "PROCESSING",
      lease_until,
      attempt,
      outbound_number_id: attempt.number_id,
      held: null,
      updated_at: now,
    },
    $inc: { attempt_count: 1, claim_no: 1 },
    $unset: { due_at: 1 },
    ...historyEntry("claimed", now, {
      claim_no: seen.claim_no + 1,
      provider: attempt.provider,
      number_id: attempt.number_id,
      template_version: attempt.template_version,
    }),
  },
  events: [event.claimed(now, seen.claim_no + 1, attempt)],
});

/** BACKLOG -> PROCESSING, for a session: a client is about to join, in the tab of `link_holder` or by a token, so that a tab of before has it no more. A session lead is never due, so that no scheduler claims it. */
export const join = (
  seen: Pick<LeadDoc, "_id" | "claim_no">,
  attempt: AttemptSnapshot,
  lease_until: Date,
  now: Date,
  link_holder?: string,
): LeadTransition => ({
  filter: { _id: seen._id, status: "BACKLOG", claim_no: seen.claim_no, due_at: null, join_by: { $gt: now } },
  update: {
    $set: {
      status: "PROCESSING",
      lease_until,
      attempt,
      held: null,
      updated_at: now,
      ...(link_holder === undefined ? {} : { link_holder }),
    },
    ...(link_holder === undefined ? { $unset: { link_holder: 1 } } : {}),
    $inc: { attempt_count: 1, claim_no: 1 },
    ...historyEntry("claimed", now, { claim_no: seen.claim_no + 1, template_version: attempt.template_version }),
  },
  events: [event.claimed(now, seen.claim_no + 1, attempt)],
});

/** A lead in an attempt, as far as its release is concerned. */
type Released = Queued & Aged & Pick<LeadDoc, "attempt_count" | "join_by">;

/** When a released lead is due; null: a session waits for the next client. */
const dueOf = ({ join_by }: Released, due_at: Date): Date | null => (join_by === undefined ? due_at : null);

/** PROCESSING -> where it came from, its faults in a row as they are. */
const returned = (
  lease: Lease,
  lead: Released,
  due_at: Date,
  why: string,
  now: Date,
  details: Record<string, unknown> = {},
): LeadTransition => ({
  filter: { ...leasedBy(lease), attempt_count: lead.attempt_count },
  update: {
    $set: {
      status: lead.attempt_count > 1 ? "RETRY" : "BACKLOG",
      queue: queueOf(lead),
      // a session waits for the next client, and is never due
      ...(lead.join_by === undefined ? { due_at, held: { why, until: due_at, since: now } } : { held: null }),
      updated_at: now,
    },
    $inc: { attempt_count: -1 },
    $unset: { lease_until: 1 },
    ...historyEntry("given_back", now, { claim_no: lease.claim_no, why, until: due_at.toISOString(), ...details }),
  },
  events: [event.queued(now, "released", dueOf(lead, due_at), why)],
});

/**
 * PROCESSING -> where it came from, the attempt released. Only for attempts that provably rang no phone. Its technical faults stay counted: that it waits
 * for another reason in between says nothing of their end.
 */
export function release(lease: Lease, lead: Released, due_at: Date, why: string, now: Date): LeadTransition {
  const { update, ...rest } = returned(lease, lead, due_at, why, now);
  return { ...rest, update: { ...update, $set: { ...update.$set, ...notParked(lead, now) } } };
}

/** The same, because a technical fault stopped the attempt. `recovered`: its lease was lost. */
export function releaseForFault(
  lease: Lease,
  lead: Released,
  faults: Faults,
  due_at: Date,
  why: string,
  now: Date,
  recovered = false,
): LeadTransition {
  const { count, code, parked_at } = faults;
  const details = { fault: code, faults: count, ...(parked_at === undefined ? {} : { parked: true }) };
  const { filter, update, events } = returned(lease, lead, due_at, why, now, details);
  const $set = { ...update.$set, faults, ...(parked_at === undefined ? {} : { expiry_from: NEVER_AGES }) };
  const isNew = parked_at !== undefined && lead.faults?.parked_at === undefined;
  return {
    filter,
    update: { ...update, $set, $inc: { attempt_count: -1, ...(recovered ? { recoveries: 1 } : {}) } },
    events: isNew ? [...events, event.parked(now, faults, dueOf(lead, due_at))] : events,
  };
}

/** The same, because the lease was lost: that alone says nothing of a fault, and nothing of the end of one. */
export function recover(lease: Lease, lead: Released, due_at: Date, why: string, now: Date): LeadTransition {
  const { update, ...rest } = returned(lease, lead, due_at, why, now);
  return { ...rest, update: { ...update, $inc: { attempt_count: -1, recoveries: 1 } } };
}

/** The same, because a pre-check deferred the lead: counted under its name, with the results of the pre-checks. Names come from clients and are never part of a path. */
export function releaseForPreCheck(
  lease: Lease,
  lead: Released & Pick<LeadDoc, "pre_check_defers">,
  due_at: Date,
  by: { name: string; results: readonly Record<string, unknown>[] },
  now: Date,
): LeadTransition {
  const { update, ...rest } = release(lease, lead, due_at, `pre_check:${by.name}`, now);
  const defers = lead.pre_check_defers ?? {};
  const times = Object.hasOwn(defers, by.name) ? (defers[by.name] ?? 0) : 0;
  return {
    ...rest,
    update: {
      ...update,
      $set: {
        ...update.$set,
        pre_check_defers: { ...defers, [by.name]: times + 1 },
        ...(by.results.length > 0 ? { "meta.pre_check_results": by.results } : {}),
      },
      ...historyEntry("given_back", now, {
        claim_no: lease.claim_no,
        why: `pre_check:${by.name}`,
        until: due_at.toISOString(),
        ...preCheckHistory(by.results),
      }),
    },
  };
}

/** What the end of an attempt leaves in the lead. Where its evaluation came with the end, none that comes later is told as the first. */
const endFields = (facts: AttemptFacts, { fields }: CallNews, now: Date): Record<string, unknown> => ({
  ...fields,
  ...attemptFields(facts),
  ...(facts.evaluation ? { "attempt.evaluated_at": now } : {}),
});

/** PROCESSING -> RETRY. */
export const retry = (
  lease: Lease,
  lead: LeadState,
  facts: AttemptFacts,
  next: { outcome: string; due_at: Date },
  now: Date,
  { end_call = false, news = NO_NEWS }: AttemptEnd = {},
): LeadTransition => ({
  filter: endedBy(lease, lead, facts, news),
  update: {
    $set: {
      ...endFields(facts, news, now),
      ...withoutFaults(lead, now).$set,
      status: "RETRY",
      queue: queueOf(lead),
      due_at: next.due_at,
      held: null,
      updated_at: now,
      ...owedEnd(lease, end_call, now),
    },
    $unset: { lease_until: 1, ...withoutFaults(lead, now).$unset, ...outdatedFields(facts) },
    ...countIncrements(facts),
    ...historyEntry("retry", now, {
      ...attemptHistory(lease.claim_no, facts, next.outcome),
      due_at: next.due_at.toISOString(),
    }),
  },
  events: [
    ...news.events,
    ...event.ended(now, lease.claim_no, facts, next.outcome, next.due_at, lead.attempt?.turns ?? 0),
  ],
});

/** PROCESSING -> FINISHED. */
export const finish = (
  lease: Lease,
  lead: LeadState,
  facts: AttemptFacts,
  outcome: string,
  now: Date,
  { end_call = false, news = NO_NEWS }: AttemptEnd = {},
): LeadTransition => ({
  filter: endedBy(lease, lead, facts, news),
  update: {
    $set: {
      ...endFields(facts, news, now),
      ...finishedFields(lead, outcome, now),
      ...owedEnd(lease, end_call, now),
    },
    $unset: { lease_until: 1, join_by: 1, ...withoutFaults(lead, now).$unset, ...outdatedFields(facts) },
    ...countIncrements(facts),
    ...historyEntry("finished", now, attemptHistory(lease.claim_no, facts, outcome)),
  },
  events: [...news.events, ...event.ended(now, lease.claim_no, facts, outcome, null, lead.attempt?.turns ?? 0)],
});

/** BACKLOG|RETRY -> FINISHED, because it must not be dialled; `due_at` null: it has none. */
export const drop = (
  seen: { lead_id: string; due_at: Date | null },
  lead: Owing,
  outcome: string,
  reason: string,
  now: Date,
): LeadTransition => ({
  filter: { _id: seen.lead_id, status: WAITING, due_at: seen.due_at },
  update: {
    $set: { ...finishedFields(lead, outcome, now), "meta.drop_reason": reason },
    $unset: { due_at: 1, join_by: 1, faults: 1 },
    ...historyEntry("dropped", now, { outcome, reason }),
  },
  events: [event.finished(now, outcome)],
});

/** BACKLOG|RETRY -> FINISHED by a person. Claim and abort are writes on one document: one of them loses. */
export const abort = (
  lead: Pick<LeadDoc, "_id"> & Owing,
  cancellation: { reason: string; by: string; at: Date },
  now: Date,
): LeadTransition => ({
  filter: { _id: lead._id, status: WAITING },
  update: {
    $set: { ...finishedFields(lead, "ABORTED", now), "meta.cancellation": cancellation },
    $unset: { due_at: 1, join_by: 1, faults: 1 },
    ...historyEntry("aborted", now, { reason: cancellation.reason, by: cancellation.by }),
  },
  events: event.aborted(now, cancellation.by),
});

/** BACKLOG|RETRY|PROCESSING -> BACKLOG|RETRY, parked until somebody resumes it: the database was restored. An attempt under way counts, for it may have rung. */
export function parkRestored(lead: LeadState, now: Date): LeadTransition {
  const { filter, update, events } = restored(lead, now);
  const status = lead.attempt_count > 0 ? "RETRY" : "BACKLOG";
  return { filter, update: { ...update, $set: { ...update.$set, status } }, events };
}
