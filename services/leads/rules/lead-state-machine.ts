import type { AttemptFacts, Evaluation } from "../../../shared/contracts/attempt.ts";
import type { AttemptSnapshot, HistoryEntry, LeadDoc } from "../leads.model.ts";
import { queueOf, type Queued } from "./queue-names.ts";

/** What a move adds to the lead's history. */
interface HistoryPush {
  history: { $each: HistoryEntry[]; $slice: number };
}

/** One legal move as a guarded write: it happens whole or, when the guard no longer holds, not at all. */
export interface LeadTransition {
  filter: Record<string, unknown>;
  update: {
    $set: Record<string, unknown>;
    $unset?: Record<string, 1>;
    $inc?: Record<string, number>;
    $push?: HistoryPush;
  };
}

/** Moves of one lead that are remembered; the oldest go first. */
const HISTORY_KEPT = 200;
const historyEntry = (event: string, at: Date, details: Record<string, unknown>): { $push: HistoryPush } => ({
  $push: { history: { $each: [{ event, at, details }], $slice: -HISTORY_KEPT } },
});

/** A lead as the mover saw it. */
export interface SeenLead {
  lead_id: string;
  due_at: Date;
}

/** The lease: whoever writes out of PROCESSING must name it. */
export interface Lease {
  lead_id: string;
  claim_no: number;
}

const WAITING = { $in: ["BACKLOG", "RETRY"] };
const leasedBy = (b: Lease) => ({ _id: b.lead_id, status: "PROCESSING", claim_no: b.claim_no });

/** FINISHED and owing its report in one write; leads without a webhook owe none. */
const finishedFields = (lead: Pick<LeadDoc, "payload">, outcome: string, now: Date): Record<string, unknown> => ({
  status: "FINISHED",
  outcome,
  finished_at: now,
  updated_at: now,
  held: null,
  ...(typeof lead.payload["reporting_webhook_url"] === "string" ? { report_due_at: now } : {}),
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

/** Where a lead of somebody who called us begins: in its only claim. */
export const INBOUND_STATE = { ...QUEUED_STATE, status: "PROCESSING", attempt_count: 1, claim_no: 1 } as const;

/** What the history of a lead begins with. */
export const queuedHistory = (now: Date, due_at: Date | null, execution_mode: string): HistoryEntry => ({
  event: "queued",
  at: now,
  details: { due_at: due_at?.toISOString() ?? null, execution_mode },
});

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
});

/** PROCESSING -> same, the lease prolonged. */
export const renewLease = (lease: Lease, lease_until: Date): LeadTransition => ({
  filter: leasedBy(lease),
  update: { $set: { lease_until } },
});

/** PROCESSING -> same: the sweep takes an expired lease over, so that two sweeps never work on one lead. */
export const takeOver = (lease: Lease, expired: Date, lease_until: Date, now: Date): LeadTransition => ({
  filter: { ...leasedBy(lease), lease_until: expired },
  update: {
    $set: { lease_until },
    ...historyEntry("holder_silent", now, { claim_no: lease.claim_no, since: expired.toISOString() }),
  },
});

/** Results of pre-checks that one entry of the history keeps: a configuration has no more of them. */
const CHECKS_KEPT = 10;
/** The results as the history keeps them: of the variables they gave, the names. */
export const preCheckHistory = (results: readonly Record<string, unknown>[]): Record<string, unknown> =>
  results.length === 0
    ? {}
    : {
        pre_check_results: results.slice(0, CHECKS_KEPT).map(({ exported, ...rest }) => ({
          ...rest,
          ...(typeof exported === "object" && exported !== null ? { exported: Object.keys(exported) } : {}),
        })),
      };

/** PROCESSING -> where it came from, the attempt given back. Only for attempts that provably rang nowhere. */
export const release = (
  lease: Lease,
  lead: Queued & Pick<LeadDoc, "attempt_count">,
  due_at: Date,
  why: string,
  now: Date,
  recovered: boolean,
): LeadTransition => ({
  filter: { ...leasedBy(lease), attempt_count: lead.attempt_count },
  update: {
    $set: {
      status: lead.attempt_count > 1 ? "RETRY" : "BACKLOG",
      queue: queueOf(lead),
      due_at,
      held: { why, until: due_at, since: now },
      updated_at: now,
    },
    $inc: { attempt_count: -1, ...(recovered ? { recoveries: 1 } : {}) },
    $unset: { lease_until: 1 },
    ...historyEntry("given_back", now, { claim_no: lease.claim_no, why, until: due_at.toISOString() }),
  },
});

/** The same, because a pre-check put the lead off: counted under its name, what the pre-checks found out is kept. Names are anybody's words: never part of a path. */
export function releaseForPreCheck(
  lease: Lease,
  lead: Queued & Pick<LeadDoc, "attempt_count" | "pre_check_defers">,
  due_at: Date,
  by: { name: string; results: readonly Record<string, unknown>[] },
  now: Date,
): LeadTransition {
  const { filter, update } = release(lease, lead, due_at, `pre_check:${by.name}`, now, false);
  const defers = lead.pre_check_defers ?? {};
  const times = Object.hasOwn(defers, by.name) ? (defers[by.name] ?? 0) : 0;
  return {
    filter,
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

/** Where a model's judgement of a talk is kept. */
export const evaluationFields = ({ trace_scores, summary, errors }: Evaluation): Record<string, unknown> => ({
  trace_scores,
  ...(summary === null ? {} : { "meta.summary": summary }),
  ...(errors.length === 0 ? {} : { "meta.evaluation_errors": errors }),
});

/** What the history keeps of it: no word of the summary. */
export const evaluationHistory = ({ trace_scores, summary, errors }: Evaluation): Record<string, unknown> => ({
  trace_scores,
  summary: summary !== null,
  ...(errors.length === 0 ? {} : { evaluation_errors: errors.length }),
});

/** A new talk takes the place of the one before, and so does its judgement: the old one's is not told beside it. */
const outdatedFields = ({ talk, evaluation }: AttemptFacts): Record<string, 1> =>
  talk === null
    ? {}
    : {
        ...((evaluation?.summary ?? null) === null ? { "meta.summary": 1 as const } : {}),
        ...((evaluation?.errors ?? []).length === 0 ? { "meta.evaluation_errors": 1 as const } : {}),
      };

/** What an attempt leaves on the lead, whether it is the last one or not. Only what it knows is written: facts that came early or late stay. */
export function attemptFields(facts: AttemptFacts): Record<string, unknown> {
  const { talk } = facts;
  return {
    "meta.errors": [...(talk?.errors ?? []), ...(facts.error ? [facts.error] : [])],
    ...(talk
      ? {
          "meta.transcription": talk.transcription,
          "meta.call_ended_by": talk.ended_by,
          "meta.node_traversal": talk.node_traversal,
          "meta.variables": talk.variables,
          trace_scores: {},
        }
      : {}),
    ...(facts.evaluation ? evaluationFields(facts.evaluation) : {}),
    ...(facts.pre_check_results.length > 0 ? { "meta.pre_check_results": facts.pre_check_results } : {}),
    ...(facts.call_id === null ? {} : { call_id: facts.call_id }),
    ...(facts.started_at === null ? {} : { call_initiated_time: new Date(facts.started_at) }),
    ...(facts.ended_at === null ? {} : { call_end_time: new Date(facts.ended_at) }),
  };
}

/** True when a person, not a machine, took the call. */
const answeredByPerson = (facts: AttemptFacts): boolean =>
  facts.answered_at !== null && !facts.machine && facts.talk?.machine !== true;

const secondsBetween = (from: string | null, to: string | null): number =>
  from && to ? Math.max(0, (Date.parse(to) - Date.parse(from)) / 1000) : 0;

/** What an attempt adds to the lead's counts. `attempt_count` counts real dials only: an attempt that asked no carrier is given back. */
function countIncrements(facts: AttemptFacts): { $inc?: Record<string, number> } {
  if (facts.ended === "not_dialled") return { $inc: { attempt_count: -1 } };
  return answeredByPerson(facts)
    ? { $inc: { answered_count: 1, talk_seconds: secondsBetween(facts.answered_at, facts.ended_at) } }
    : {};
}

/** What the history keeps of an attempt's end; no word of the talk. */
const attemptHistory = (lease: Lease, facts: AttemptFacts, outcome: string): Record<string, unknown> => ({
  claim_no: lease.claim_no,
  outcome,
  ended: facts.ended,
  call_id: facts.call_id,
  answered_at: facts.answered_at,
  ended_at: facts.ended_at,
  ...preCheckHistory(facts.pre_check_results),
  ...(facts.evaluation ? { evaluation: evaluationHistory(facts.evaluation) } : {}),
  talk: facts.talk && {
    turns: facts.talk.transcription.length,
    user_turns: facts.talk.user_turns,
    ended_by: facts.talk.ended_by,
  },
});

/** PROCESSING -> RETRY. */
export const retry = (
  lease: Lease,
  lead: LeadDoc,
  facts: AttemptFacts,
  next: { outcome: string; due_at: Date },
  now: Date,
): LeadTransition => ({
  filter: leasedBy(lease),
  update: {
    $set: {
      ...attemptFields(facts),
      status: "RETRY",
      queue: queueOf(lead),
      due_at: next.due_at,
      held: null,
      updated_at: now,
    },
    $unset: { lease_until: 1, ...outdatedFields(facts) },
    ...countIncrements(facts),
    ...historyEntry("retry", now, { ...attemptHistory(lease, facts, next.outcome), due_at: next.due_at.toISOString() }),
  },
});

/** PROCESSING -> FINISHED. */
export const finish = (
  lease: Lease,
  lead: LeadDoc,
  facts: AttemptFacts,
  outcome: string,
  now: Date,
): LeadTransition => ({
  filter: leasedBy(lease),
  update: {
    $set: { ...attemptFields(facts), ...finishedFields(lead, outcome, now) },
    $unset: { lease_until: 1, ...outdatedFields(facts) },
    ...countIncrements(facts),
    ...historyEntry("finished", now, attemptHistory(lease, facts, outcome)),
  },
});

/** BACKLOG|RETRY -> FINISHED, because it must not be dialled; `due_at` null: it has none. */
export const drop = (
  seen: { lead_id: string; due_at: Date | null },
  lead: Pick<LeadDoc, "payload">,
  outcome: string,
  reason: string,
  now: Date,
): LeadTransition => ({
  filter: { _id: seen.lead_id, status: WAITING, due_at: seen.due_at },
  update: {
    $set: { ...finishedFields(lead, outcome, now), "meta.drop_reason": reason },
    $unset: { due_at: 1 },
    ...historyEntry("dropped", now, { outcome, reason }),
  },
});

/** BACKLOG|RETRY -> FINISHED by a person. Claim and abort are writes on one document: one of them loses. */
export const abort = (
  lead: Pick<LeadDoc, "_id" | "payload">,
  cancellation: { reason: string; by: string; at: Date },
  now: Date,
): LeadTransition => ({
  filter: { _id: lead._id, status: WAITING },
  update: {
    $set: { ...finishedFields(lead, "ABORTED", now), "meta.cancellation": cancellation },
    $unset: { due_at: 1 },
    ...historyEntry("aborted", now, { reason: cancellation.reason, by: cancellation.by }),
  },
});

/** Facts that arrive early or late; status is never touched. `told` is what the history keeps of them. `later`: only where another attempt has begun since. */
export const annotate = (
  lease: Lease,
  facts: Record<string, unknown>,
  told: Record<string, unknown>,
  now: Date,
  later = false,
): LeadTransition => ({
  filter: { _id: lease.lead_id, claim_no: later ? { $gt: lease.claim_no } : lease.claim_no },
  update: { $set: { ...facts, updated_at: now }, ...historyEntry("noted", now, { claim_no: lease.claim_no, ...told }) },
});
