import type { Faults, HistoryEntry, LeadDoc, LeadState, OutboxEntry } from "../leads.model.ts";
import { callRef } from "../../../shared/ids.ts";
import { RESTORED, type LeadStatus } from "../../../shared/contracts/records/lead.ts";
import type { AttemptFacts, TalkTurn } from "../../../shared/contracts/records/attempt.ts";
import { agedFrom, IS_PARKED, NEVER_AGES, type Aged } from "./faults.ts";
import { NO_NEWS, type CallNews } from "./call-news.ts";
import { answered, dialing, parked, queued, recorded, ringing, turned } from "./lead-events.ts";
import { queueOf } from "./queue-names.ts";

/** What a transition adds to the lead's history. */
interface HistoryPush {
  history: { $each: HistoryEntry[]; $slice: number };
}

/** One legal transition as a guarded write: it is applied whole or, when the guard no longer matches, not at all. */
export interface LeadTransition {
  filter: Record<string, unknown>;
  update: {
    $set: Record<string, unknown>;
    $unset?: Record<string, 1>;
    $inc?: Record<string, number>;
    $push?: HistoryPush;
  };
  /** The events that it makes, in their order: written with it, and numbered (services/leads/events/carried-events.ts). None is said, not left out. */
  events: readonly OutboxEntry[];
  /** When it is written, where its last event tells of something earlier. */
  at?: Date;
}

/** Transitions of one lead that its history keeps; the oldest go first. */
const HISTORY_KEPT = 200;
/** One entry more of its history. */
export const historyEntry = (event: string, at: Date, details: Record<string, unknown>): { $push: HistoryPush } => ({
  $push: { history: { $each: [{ event, at, details }], $slice: -HISTORY_KEPT } },
});

/** A lead as the writer saw it. */
export interface SeenLead {
  lead_id: string;
  due_at: Date;
}

/** The lease of a lead: every write out of PROCESSING names it. claim_no is the fencing token. */
export interface Lease {
  lead_id: string;
  claim_no: number;
}

/** What the guard of a waiting lead names. */
export const WAITING = { $in: ["BACKLOG", "RETRY"] };
const IN_ATTEMPT: LeadStatus = "PROCESSING";
/** What the guard of a lead that is over names. */
export const OVER: LeadStatus = "FINISHED";
/** The guard of a lead in this attempt. */
export const leasedBy = ({ lead_id, claim_no }: Lease) => ({ _id: lead_id, status: IN_ATTEMPT, claim_no });
/** The same at the attempt's end: where the facts name turns, no more of them were told since the lead was read, and of its call nothing that is told now. */
export const endedBy = (
  lease: Lease,
  { attempt }: Pick<LeadDoc, "attempt">,
  { talk }: AttemptFacts,
  news: CallNews,
) => ({
  ...leasedBy(lease),
  ...news.guard,
  ...(talk?.turns === undefined ? {} : { "attempt.turns": attempt?.turns ?? null }),
});
/** What comes with the end of an attempt: the end of its call is owed; what of its call was not told yet. */
export interface AttemptEnd {
  end_call?: boolean | undefined;
  news?: CallNews;
}

/** The wish to end the attempt's call, in the very write that ends the attempt. */
export const owedEnd = ({ lead_id, claim_no }: Lease, end_call: boolean, now: Date): Record<string, unknown> =>
  end_call ? { call_end: { ref: callRef(lead_id, claim_no), due_at: now } } : {};

/** The guard of an annotation that only an attempt under way may tell. */
export const UNDER_WAY = { status: IN_ATTEMPT, attempt: { $ne: null } } as const;

/** What the history of a lead begins with. */
export const queuedHistory = (now: Date, due_at: Date | null, execution_mode: string): HistoryEntry => ({
  event: "queued",
  at: now,
  details: { due_at: due_at?.toISOString() ?? null, execution_mode },
});

/** What a new lead begins its sequence of events with. */
export const firstEvent = (event: OutboxEntry): Required<Pick<LeadDoc, "event_seq" | "outbox" | "outbox_at">> => ({
  event_seq: 1,
  outbox: [event],
  outbox_at: event.at,
});

/** PROCESSING -> same, the lease renewed. */
export const renewLease = (lease: Lease, lease_until: Date): LeadTransition => ({
  filter: leasedBy(lease),
  update: { $set: { lease_until } },
  events: [],
});

/** The same by the conversation that begins: once for each attempt, behind what of its call was not told yet. */
export const answer = (lease: Lease, lease_until: Date, now: Date, news = NO_NEWS): LeadTransition => ({
  filter: { ...leasedBy(lease), ...news.guard, attempt: { $ne: null }, "attempt.answered_at": null },
  update: { $set: { ...news.fields, ...news.marks, lease_until, "attempt.answered_at": now } },
  events: [...news.events, answered(now, lease.claim_no)],
});

/**
 * PROCESSING -> same: the phone of the callee rings, told once for each attempt, and not after the answer. `first`: the lead was not told yet that the
 * carrier took this call, and that comes before it.
 */
export const ring = (lease: Lease, call_id: string, first: boolean, now: Date): LeadTransition => ({
  filter: {
    ...leasedBy(lease),
    attempt: { $ne: null },
    "attempt.dialing_at": first ? null : { $ne: null },
    "attempt.ringing_at": null,
    "attempt.answered_at": null,
  },
  update: { $set: { "attempt.ringing_at": now, ...(first ? { "attempt.dialing_at": now } : {}) } },
  events: [...(first ? [dialing(now, lease.claim_no, call_id)] : []), ringing(now, lease.claim_no)],
});

/** PROCESSING -> same: turns of the conversation are over, behind as many as were told before. */
export const talkOn = (
  lease: Lease,
  { told, turns }: { told: number; turns: readonly TalkTurn[] },
  now: Date,
): LeadTransition => ({
  filter: {
    ...leasedBy(lease),
    "attempt.answered_at": { $ne: null },
    "attempt.turns": told === 0 ? null : told,
  },
  update: { $set: { "attempt.turns": told + turns.length } },
  events: turned(now, lease.claim_no, told, turns),
});

/** PROCESSING -> same: the sweep takes an expired lease over, so that two sweeps never work on one lead. */
export const takeOver = (lease: Lease, expired: Date, lease_until: Date, now: Date): LeadTransition => ({
  filter: { ...leasedBy(lease), lease_until: expired },
  update: {
    $set: { lease_until },
    ...historyEntry("holder_silent", now, { claim_no: lease.claim_no, since: expired.toISOString() }),
  },
  events: [],
});

/** PROCESSING -> same: an abort that lost the race against the claim. Who asked and why stay in the history. */
export const refuseAbort = (
  lead: Pick<LeadDoc, "_id">,
  { reason, by }: { reason: string; by: string },
  now: Date,
): LeadTransition => ({
  filter: { _id: lead._id, status: IN_ATTEMPT },
  update: { $set: { updated_at: now }, ...historyEntry("abort_refused", now, { reason, by }) },
  events: [],
});

/**
 * BACKLOG|RETRY -> same, parked and due now. Guard: it is parked, `due_at` as seen. One that was parked for a restore is parked no longer: nothing else keeps it from
 * being called, and it is due when it was.
 */
export function resume(lead: Resting, by: string, now: Date): LeadTransition {
  const restored = lead.faults?.code === RESTORED;
  const { due_at: was = now } = (restored && lead.faults) || {};
  const due_at = was > now ? was : now;
  const aged_from = restored ? agedFrom(lead, now) : null;
  return {
    filter: { _id: lead._id, status: WAITING, due_at: lead.due_at ?? null, "faults.parked_at": IS_PARKED },
    update: {
      $set: {
        due_at,
        held: null,
        updated_at: now,
        ...(aged_from === null ? {} : { aged_from, expiry_from: aged_from }),
      },
      ...(restored ? { $unset: { faults: 1 } } : {}),
      ...historyEntry("resumed", now, { by }),
    },
    events: [queued(now, "resumed", due_at)],
  };
}

/** What of a parked lead resuming needs. */
type Resting = Pick<LeadDoc, "_id" | "due_at"> & Aged;

/** As many claims a lead may have had between the copy of the database and its restore: call references, fences and recordings of attempts that the copy knows nothing of are not used again. */
const CLAIMS_UNKNOWN = 1000;

/** Parks a lead of a restored database, in the state that lead-state-machine.ts gives it: it is not due and does not age until somebody resumes it. */
export function restored(lead: LeadState, now: Date): LeadTransition {
  const { _id, claim_no, due_at } = lead;
  const faults: Faults = { count: 1, code: RESTORED, since: now, parked_at: now, ...(due_at ? { due_at } : {}) };
  const aged_from = agedFrom(lead, now);
  return {
    filter: { _id, status: lead.status, claim_no, due_at: due_at ?? null },
    update: {
      $set: {
        queue: queueOf(lead),
        due_at: NEVER_AGES,
        faults,
        expiry_from: NEVER_AGES,
        ...(aged_from === null ? {} : { aged_from }),
        held: { why: "restored", until: NEVER_AGES, since: now },
        updated_at: now,
      },
      $inc: { claim_no: CLAIMS_UNKNOWN },
      $unset: { lease_until: 1 },
      ...historyEntry("given_back", now, { claim_no, why: "restored", until: NEVER_AGES.toISOString(), parked: true }),
    },
    events: [queued(now, "released", NEVER_AGES, "restored"), parked(now, faults, NEVER_AGES)],
  };
}

/** Facts that arrive early or late; status is never touched. `details` is what the history keeps of them. `later`: only where another attempt has begun since. */
export const annotate = (
  lease: Lease,
  facts: Record<string, unknown>,
  details: Record<string, unknown>,
  now: Date,
  later = false,
): LeadTransition => ({
  filter: { _id: lease.lead_id, claim_no: later ? { $gt: lease.claim_no } : lease.claim_no },
  update: {
    $set: { ...facts, updated_at: now },
    ...historyEntry("noted", now, { claim_no: lease.claim_no, ...details }),
  },
  events: [],
});

/** The recording of an attempt is stored: told once, also after the next attempt has begun, and of a person who is erased not at all. `later`: only where another attempt has begun, whose recording the lead's record names. */
export const noteRecording = (
  { lead_id, claim_no }: Lease,
  { call_id, recording_url }: { call_id: string | null; recording_url?: string | undefined },
  later: boolean,
  now: Date,
): LeadTransition => ({
  filter: {
    _id: lead_id,
    claim_no: later ? { $gt: claim_no } : claim_no,
    [`recorded_at.${claim_no}`]: null,
    "meta.erased_at": null,
  },
  update: {
    $set: {
      [`recorded_at.${claim_no}`]: now,
      updated_at: now,
      ...(later || recording_url === undefined ? {} : { recording_url }),
    },
    ...historyEntry("noted", now, { claim_no, recording: "stored" }),
  },
  events: [recorded(now, claim_no, call_id)],
});

/** An annotation that makes events as well, where `guard` holds. */
export const telling = (
  { filter, update }: LeadTransition,
  { guard, marks, events }: Pick<CallNews, "guard" | "marks" | "events">,
  at: Date,
): LeadTransition => ({
  filter: { ...filter, ...guard },
  update: { ...update, $set: { ...update.$set, ...marks } },
  events,
  at,
});
