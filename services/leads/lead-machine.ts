import type { AttemptFacts } from "../../shared/contracts/attempt.ts";
import type { AttemptSnapshot, LeadDoc } from "./leads.model.ts";

/** One legal move as a guarded write: it happens whole or, when the guard no longer holds, not at all. */
export interface Move { filter: Record<string, unknown>; update: { $set: Record<string, unknown>; $unset?: Record<string, 1>; $inc?: Record<string, number> } }

/** A lead as the mover saw it. */
export interface Seen { lead_id: string; due_at: Date }

/** The baton: whoever writes out of PROCESSING must name it. */
export interface Baton { lead_id: string; claim_no: number }

const WAITING = { $in: ["BACKLOG", "RETRY"] };
const held = (b: Baton) => ({ _id: b.lead_id, status: "PROCESSING", claim_no: b.claim_no });

/** FINISHED and owing its report in one write; leads without a webhook owe none. */
const finishing = (lead: Pick<LeadDoc, "payload">, outcome: string, now: Date): Record<string, unknown> => ({
  status: "FINISHED", outcome, finished_at: now, updated_at: now, held: null,
  ...(typeof lead.payload["reporting_webhook_url"] === "string" ? { report_due_at: now } : {}),
});

/** Where every lead begins. `due_at` is the pusher's; a lead that can't be dialled has none. */
export const QUEUED = { status: "BACKLOG", outcome: null, attempt_count: 0, claim_no: 0, recoveries: 0 } as const;

/** BACKLOG|RETRY -> same, later. No attempt is spent. */
export const defer = (seen: Seen, until: Date, why: string, now: Date): Move => ({
  filter: { _id: seen.lead_id, status: WAITING, due_at: seen.due_at },
  update: { $set: { due_at: until, held: { why, until }, updated_at: now } },
});

/** BACKLOG|RETRY -> PROCESSING. The claim number is the fence: it only ever rises. */
export const claim = (seen: Seen & { claim_no: number }, attempt: AttemptSnapshot, lease_until: Date, now: Date): Move => ({
  filter: { _id: seen.lead_id, status: WAITING, claim_no: seen.claim_no, due_at: { $eq: seen.due_at, $lte: now } },
  update: {
    $set: { status: "PROCESSING", lease_until, attempt, outbound_number_id: attempt.number_id, held: null, updated_at: now },
    $inc: { attempt_count: 1, claim_no: 1 }, $unset: { due_at: 1 },
  },
});

/** PROCESSING -> same, the lease prolonged. */
export const extend = (baton: Baton, lease_until: Date): Move => ({ filter: held(baton), update: { $set: { lease_until } } });

/** PROCESSING -> same: the sweep takes an expired lease over, so that two sweeps never work on one lead. */
export const takeOver = (baton: Baton, expired: Date, lease_until: Date): Move =>
  ({ filter: { ...held(baton), lease_until: expired }, update: { $set: { lease_until } } });

/** PROCESSING -> where it came from, the attempt given back. Only for attempts that provably rang nowhere. */
export const release = (baton: Baton, lead: Pick<LeadDoc, "attempt_count">, due_at: Date, why: string, now: Date, recovered: boolean): Move => ({
  filter: { ...held(baton), attempt_count: lead.attempt_count },
  update: {
    $set: { status: lead.attempt_count > 1 ? "RETRY" : "BACKLOG", due_at, held: { why, until: due_at }, updated_at: now },
    $inc: { attempt_count: -1, ...(recovered ? { recoveries: 1 } : {}) }, $unset: { lease_until: 1 },
  },
});

/** What an attempt leaves on the lead, whether it is the last one or not. */
export function attemptFields(facts: AttemptFacts, lead: Pick<LeadDoc, "meta" | "call_id" | "call_initiated_time" | "call_end_time">): Record<string, unknown> {
  const { talk } = facts;
  const errors = [...(talk?.errors ?? []), ...(facts.error ? [facts.error] : [])];
  const meta = {
    ...lead.meta, errors,
    ...(talk ? { transcription: talk.transcription, call_ended_by: talk.ended_by, node_traversal: talk.node_traversal, variables: talk.variables } : {}),
    ...(facts.pre_check_results.length > 0 ? { pre_check_results: facts.pre_check_results } : {}),
  };
  return {
    meta, call_id: facts.call_id ?? lead.call_id,
    call_initiated_time: facts.started_at ? new Date(facts.started_at) : lead.call_initiated_time,
    call_end_time: facts.ended_at ? new Date(facts.ended_at) : lead.call_end_time,
  };
}

/** `attempt_count` counts real dials only: an attempt that asked no carrier is given back. */
const unspent = (facts: AttemptFacts): { $inc?: Record<string, number> } => (facts.ended === "not_dialled" ? { $inc: { attempt_count: -1 } } : {});

/** PROCESSING -> RETRY. */
export const retry = (baton: Baton, lead: LeadDoc, facts: AttemptFacts, due_at: Date, now: Date): Move => ({
  filter: held(baton),
  update: { $set: { ...attemptFields(facts, lead), status: "RETRY", due_at, held: null, updated_at: now }, $unset: { lease_until: 1 }, ...unspent(facts) },
});

/** PROCESSING -> FINISHED. */
export const finish = (baton: Baton, lead: LeadDoc, facts: AttemptFacts, outcome: string, now: Date): Move => ({
  filter: held(baton),
  update: { $set: { ...attemptFields(facts, lead), ...finishing(lead, outcome, now) }, $unset: { lease_until: 1 }, ...unspent(facts) },
});

/** BACKLOG|RETRY -> FINISHED, because it must not be dialled. */
export const drop = (seen: Seen, lead: Pick<LeadDoc, "payload">, outcome: string, reason: string, now: Date): Move => ({
  filter: { _id: seen.lead_id, status: WAITING, due_at: seen.due_at },
  update: { $set: { ...finishing(lead, outcome, now), "meta.drop_reason": reason }, $unset: { due_at: 1 } },
});

/** BACKLOG|RETRY -> FINISHED by a person. Claim and abort are writes on one document: one of them loses. */
export const abort = (lead: Pick<LeadDoc, "_id" | "payload">, cancellation: { reason: string; by: string; at: Date }, now: Date): Move => ({
  filter: { _id: lead._id, status: WAITING },
  update: { $set: { ...finishing(lead, "ABORTED", now), "meta.cancellation": cancellation }, $unset: { due_at: 1 } },
});

/** Facts that arrive early or late; status is never touched. */
export const annotate = (baton: Baton, facts: Record<string, unknown>): Move => ({ filter: { _id: baton.lead_id, claim_no: baton.claim_no }, update: { $set: facts } });
