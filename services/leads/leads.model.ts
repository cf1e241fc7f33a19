import { Schema } from "mongoose";
import { SCHEMA_OPTIONS } from "../../shared/database/mongo.ts";
import { whenPresent, whenText } from "../../shared/database/partial-indexes.ts";
import type { ExecutionMode, LeadStatus } from "../../shared/contracts/records/lead.ts";
import type { Provider } from "../../shared/contracts/records/configuration.ts";
import type { LeadEventName } from "../../shared/contracts/events/catalogue.ts";
import type { CostItem, RetryPolicy } from "../../shared/contracts/records/attempt.ts";

/** The attempt a lead is in, or was in last: its plan, snapshotted at the claim. A session in a browser has neither number nor provider. */
export interface AttemptSnapshot {
  number_id: string | null;
  provider: Provider | null;
  template_version: number;
  policy: RetryPolicy;
  claimed_at: Date;
  /** When these events of the attempt were written, each once, how many turns of its conversation were, and whether its call will have no recording after all. */
  dialing_at?: Date;
  ringing_at?: Date;
  answered_at?: Date;
  evaluated_at?: Date;
  turns?: number;
  unrecorded?: boolean;
}

/** One transition as the history keeps it: what happened, when, and with what. */
export interface HistoryEntry {
  event: string;
  at: Date;
  details: Record<string, unknown>;
}

/** An event as the write that makes it leaves it in the lead: without what the lead itself says (services/leads/events/published-event.ts). */
export interface OutboxEntry {
  type: LeadEventName;
  at: Date;
  data: Record<string, unknown>;
}

/** Why a waiting lead is not called yet: until when, and since when for this same reason. */
export interface Held {
  why: string;
  until: Date;
  since: Date;
}

/** Technical faults that released its attempts, one after the other. `parked_at`: they were so many that it is parked. */
export interface Faults {
  count: number;
  /** The last one's error code. */
  code: string;
  since: Date;
  parked_at?: Date;
  /** Of a lead that is parked because the database was restored: when it was due; absent: it was in an attempt. */
  due_at?: Date;
}

/**
 * A lead as it is kept. `due_at`, `lease_until` and `report_due_at` are absent where they do not apply, so that their partial
 * indexes contain live work only.
 */
export interface LeadDoc {
  _id: string;
  reseller_id: string;
  merchant_id: string | null;
  template_id: string;
  template: string;
  request_id: string;
  /** The traceparent of its first span; absent: it is not traced. */
  trace?: string;
  status: LeadStatus;
  outcome: string | null;
  attempt_count: number;
  claim_no: number;
  /** Times the lease was lost; from the third one on that parks the lead. */
  recoveries: number;
  phone_number: string | null;
  payload: Record<string, unknown>;
  /** Of the payload as JSON, so that many leads together stay within a message on the bus. */
  payload_bytes?: number;
  execution_mode: ExecutionMode;
  call_direction: "OUTBOUND" | "INBOUND";
  is_test: boolean;
  configurations_override: Record<string, unknown> | null;
  /** Its queue (queue-names.ts); leads of older versions get theirs when this one starts. */
  queue: string;
  due_at?: Date;
  /** A session lead that nobody has joined by then ends; absent: it is dialled, or finished. */
  join_by?: Date;
  /** SHA-256 of the link by which a person without a token joins the session, and of the secret of the tab that has it; absent: there is none. */
  link_hash?: string;
  link_holder?: string;
  lease_until?: Date;
  report_due_at?: Date;
  attempt: AttemptSnapshot | null;
  /** The call of an attempt that was settled while it may have been live: the dialer is still to be told that it ends. */
  call_end?: { ref: string; due_at: Date };
  /** Marks of its last transitions (shared/database/guarded-collection.ts). */
  marks?: string[];
  /** Name of a pre-check -> times it has deferred the lead. */
  pre_check_defers?: Record<string, number>;
  held: Held | null;
  /** Absent: its last attempt met none. */
  faults?: Faults;
  /** From when its age counts; absent: from created_at. While it is parked it does not age. */
  aged_from?: Date;
  /** From when `max_age_seconds` counts, whatever state it waits in; far ahead: it does not expire as it is (rules/faults.ts). Absent: an older version wrote it. */
  expiry_from?: Date;
  /** The number of its last event; absent: it had none since this version. */
  event_seq?: number;
  /** Its last events, of which all or some may be in the log (services/leads/events/publisher.ts), and the time of the last write that made some; absent: all are there. */
  outbox?: OutboxEntry[];
  outbox_at?: Date;
  /** The lead's transitions, oldest first, the newest 200; read by the timeline only. */
  history?: HistoryEntry[];
  call_id: string | null;
  call_initiated_time: Date | null;
  call_end_time: Date | null;
  recording_url: string | null;
  outbound_number_id: string | null;
  /** claim_no -> cost of that attempt, what that cost is made of, and when it was told that its recording is stored. */
  costs: Record<string, number>;
  cost_items?: Record<string, CostItem[]>;
  recorded_at?: Record<string, Date>;
  /** Calls that a person answered, and the total length of their conversations. */
  answered_count: number;
  talk_seconds: number;
  trace_scores: Record<string, number>;
  meta: Record<string, unknown>;
  created_at: Date;
  updated_at: Date;
  finished_at: Date | null;
}

/** What of a lead says whether its end owes a webhook event. Of a payload without the address some databases show an empty object, others nothing. */
export interface Owing {
  payload?: { reporting_webhook_url?: unknown };
}

/** A lead without its contents, which may be of any size: as it is read to move it on. Of the payload it has the webhook's address only. */
export type LeadState = Omit<LeadDoc, "payload" | "history" | "meta" | "outbox"> & Owing;

/** A lead that is written for the first time: with its first event. */
export type NewLead = LeadDoc & Required<Pick<LeadDoc, "event_seq" | "outbox" | "outbox_at">>;

/** The fields of a LeadState, for a projection. Contents of 256 KiB at each step would be most of the work of the processes and of the database. */
export const LEAD_STATE: Record<Exclude<keyof LeadState, "payload"> | "payload.reporting_webhook_url", 1> = {
  _id: 1,
  reseller_id: 1,
  merchant_id: 1,
  template_id: 1,
  template: 1,
  request_id: 1,
  trace: 1,
  status: 1,
  outcome: 1,
  attempt_count: 1,
  claim_no: 1,
  recoveries: 1,
  phone_number: 1,
  payload_bytes: 1,
  execution_mode: 1,
  call_direction: 1,
  is_test: 1,
  configurations_override: 1,
  queue: 1,
  due_at: 1,
  join_by: 1,
  link_hash: 1,
  link_holder: 1,
  lease_until: 1,
  report_due_at: 1,
  attempt: 1,
  call_end: 1,
  marks: 1,
  pre_check_defers: 1,
  held: 1,
  faults: 1,
  aged_from: 1,
  expiry_from: 1,
  event_seq: 1,
  outbox_at: 1,
  call_id: 1,
  call_initiated_time: 1,
  call_end_time: 1,
  recording_url: 1,
  outbound_number_id: 1,
  costs: 1,
  cost_items: 1,
  recorded_at: 1,
  answered_count: 1,
  talk_seconds: 1,
  trace_scores: 1,
  created_at: 1,
  updated_at: 1,
  finished_at: 1,
  "payload.reporting_webhook_url": 1,
};

const Free = Schema.Types.Mixed;

/** Collection `leads`; owner: the leads service. */
export const leadSchema = new Schema<LeadDoc>(
  {
    _id: { type: String, required: true },
    reseller_id: { type: String, required: true },
    merchant_id: { type: String, default: null },
    template_id: { type: String, required: true },
    template: { type: String, required: true },
    request_id: { type: String, required: true },
    trace: String,
    status: { type: String, required: true },
    outcome: { type: String, default: null },
    attempt_count: { type: Number, required: true },
    claim_no: { type: Number, required: true },
    recoveries: { type: Number, default: 0 },
    phone_number: { type: String, default: null },
    payload: { type: Free, required: true },
    payload_bytes: Number,
    execution_mode: { type: String, required: true },
    call_direction: { type: String, required: true },
    is_test: { type: Boolean, required: true },
    configurations_override: { type: Free, default: null },
    queue: String,
    due_at: Date,
    join_by: Date,
    link_hash: String,
    link_holder: String,
    lease_until: Date,
    report_due_at: Date,
    call_end: Free,
    marks: { type: [String], default: undefined },
    pre_check_defers: { type: Free, default: {} },
    attempt: { type: Free, default: null },
    held: { type: Free, default: null },
    faults: Free,
    aged_from: Date,
    expiry_from: Date,
    event_seq: Number,
    outbox: { type: [Free], default: undefined },
    outbox_at: Date,
    call_id: { type: String, default: null },
    call_initiated_time: { type: Date, default: null },
    call_end_time: { type: Date, default: null },
    recording_url: { type: String, default: null },
    outbound_number_id: { type: String, default: null },
    history: { type: [Free], default: [] },
    answered_count: { type: Number, default: 0 },
    talk_seconds: { type: Number, default: 0 },
    costs: { type: Free, default: {} },
    cost_items: Free,
    recorded_at: Free,
    trace_scores: { type: Free, default: {} },
    meta: { type: Free, default: {} },
    created_at: { type: Date, required: true },
    updated_at: { type: Date, required: true },
    finished_at: { type: Date, default: null },
  },
  SCHEMA_OPTIONS,
);

// For each queue its first due lead is one step of this index away, however many leads wait.
leadSchema.index({ queue: 1, due_at: 1, _id: 1 }, { name: "due_by_queue", ...whenPresent("due_at") });
// An index whose fields change gets a new name: the old are dropped at start (queues.repository.ts).
leadSchema.index({ lease_until: 1, template_id: 1 }, { name: "lease_of_template", ...whenPresent("lease_until") });
leadSchema.index({ join_by: 1 }, { name: "join_by", ...whenPresent("join_by") });
leadSchema.index({ link_hash: 1 }, { name: "by_link", unique: true, ...whenPresent("link_hash") });
leadSchema.index({ report_due_at: 1 }, { name: "report", ...whenPresent("report_due_at") });
leadSchema.index({ outbox_at: 1 }, { name: "outbox", ...whenPresent("outbox_at") });
leadSchema.index({ "call_end.due_at": 1 }, { name: "call_end", ...whenPresent("call_end") });
// Lists of parked leads are short, and sorted as they are read.
leadSchema.index({ "faults.parked_at": 1, "faults.code": 1 }, { name: "parked", ...whenPresent("faults.parked_at") });
const unfinished = { partialFilterExpression: { finished_at: null } };

leadSchema.index({ reseller_id: 1, merchant_id: 1 }, { name: "unfinished_of_owner", ...unfinished });
leadSchema.index({ template_id: 1, created_at: 1 }, { name: "unfinished_by_template", ...unfinished }); // 0.2.0 expires by it
// The lead that expires first of each template is one step away, and leads that don't expire come last.
leadSchema.index({ template_id: 1, expiry_from: 1 }, { name: "expiry_by_template", ...unfinished });
// Retention reads the leads of a reseller in the order of their ends.
leadSchema.index(
  { reseller_id: 1, finished_at: 1, _id: 1 },
  { name: "ended_of_reseller", partialFilterExpression: { finished_at: { $gte: new Date(0) } } },
);
leadSchema.index({ call_id: 1 }, { name: "by_call", ...whenText("call_id") });

// Lists: newest first within a scope. Ids of merchants and templates, request ids and phone numbers are selective by themselves; words are not, and have an index
// for a reseller's leads and one for an admin's.
const NEWEST = { created_at: -1, _id: -1 } as const;
leadSchema.index({ reseller_id: 1, request_id: 1, ...NEWEST }, { name: "by_request" });
leadSchema.index({ request_id: 1, ...NEWEST }, { name: "by_request_any" });
leadSchema.index({ merchant_id: 1, ...NEWEST }, { name: "of_merchant" });
leadSchema.index({ reseller_id: 1, ...NEWEST }, { name: "by_reseller" });
leadSchema.index({ ...NEWEST }, { name: "newest" });
leadSchema.index({ template_id: 1, ...NEWEST }, { name: "by_template" });
leadSchema.index({ phone_number: 1, ...NEWEST }, { name: "by_phone", ...whenText("phone_number") });
leadSchema.index({ reseller_id: 1, status: 1, ...NEWEST }, { name: "by_reseller_status" });
leadSchema.index({ status: 1, ...NEWEST }, { name: "by_status" });
leadSchema.index({ reseller_id: 1, outcome: 1, ...NEWEST }, { name: "by_reseller_outcome", ...whenText("outcome") });
leadSchema.index({ outcome: 1, ...NEWEST }, { name: "by_outcome", ...whenText("outcome") });
leadSchema.index({ reseller_id: 1, execution_mode: 1, ...NEWEST }, { name: "by_reseller_mode" });
leadSchema.index({ execution_mode: 1, ...NEWEST }, { name: "by_mode" });
