import { IsoTime, Json, Nullable, Text, Type, Uuid, type Static, Id, UpTo } from "../define.ts";
import { RetryPolicy } from "./attempt.ts";
import { ProviderEnum } from "./configuration.ts";

/** Lead status, section 3.1. */
export const LEAD_STATUSES = ["BACKLOG", "PROCESSING", "RETRY", "FINISHED"] as const;
export type LeadStatus = (typeof LEAD_STATUSES)[number];

/** Execution modes, section 2.4. */
export const EXECUTION_MODES = ["TELEPHONY", "TELEPHONY_TEST", "RTC", "RTC_TEST", "RTC_STREAM"] as const;
export type ExecutionMode = (typeof EXECUTION_MODES)[number];

/** Modes that the scheduler dials; the others wait until a client joins. */
export const DIALLED_MODES: readonly ExecutionMode[] = ["TELEPHONY", "TELEPHONY_TEST"];

/** Modes whose leads are not dialled: a client joins their session. */
export const SESSION_MODES: readonly ExecutionMode[] = ["RTC", "RTC_TEST", "RTC_STREAM"];
/** Whether a lead of this mode waits for a client to join its session. */
export const isSessionMode = (mode: ExecutionMode): boolean => SESSION_MODES.includes(mode);

/** The lead record of 2.1. */
export const LeadRecord = Type.Object({
  id: Uuid,
  reseller_id: Id,
  merchant_id: Nullable(Id),
  template: UpTo(200),
  template_id: Uuid,
  request_id: UpTo(200),
  status: Type.Enum([...LEAD_STATUSES]),
  outcome: Nullable(UpTo(64)),
  attempt_count: Type.Integer(),
  call_id: Nullable(UpTo(300)),
  call_initiated_time: Nullable(IsoTime),
  call_end_time: Nullable(IsoTime),
  recording_url: Nullable(UpTo(2000)),
  cost: Nullable(Type.Number()),
  execution_mode: Type.Enum([...EXECUTION_MODES]),
  call_direction: Type.Enum(["OUTBOUND", "INBOUND"]),
  outbound_number_id: Nullable(Id),
  trace_scores: Type.Record(Type.String(), Type.Number()),
  payload: Json,
  metaData: Json,
  created_at: IsoTime,
  updated_at: IsoTime,
});
export type LeadRecord = Static<typeof LeadRecord>;

/** The lead summary of 2.3. */
export const LeadSummary = Type.Object({
  id: Uuid,
  reseller_id: Id,
  merchant_id: Nullable(Id),
  template: UpTo(200),
  request_id: UpTo(200),
  status: Type.Enum([...LEAD_STATUSES]),
  outcome: Nullable(UpTo(64)),
  attempt_count: Type.Integer(),
  created_at: IsoTime,
  updated_at: IsoTime,
});
export type LeadSummary = Static<typeof LeadSummary>;

/** Why a waiting lead is deferred: since when, until when. */
export const Held = Type.Object({ why: Type.String(), until: IsoTime, since: IsoTime });
export type Held = Static<typeof Held>;

/** Technical faults that released the lead's attempts, one after the other. `since`: the first of them; `parked_at`: there were so many that the lead is parked: tried less and less often, while
 *  it does not age. */
export const Faults = Type.Object({
  count: Type.Integer({ minimum: 1 }),
  /** An error code. */
  code: Text(64),
  since: IsoTime,
  parked_at: Type.Optional(IsoTime),
});
export type Faults = Static<typeof Faults>;

/** What tells a lead's age apart from its creation: from when it counts (absent: from its creation), and the faults in a row (absent: none). */
const AgeAndFaults = { aged_from: Type.Optional(IsoTime), faults: Type.Optional(Faults) };

/** A lead as explain returns it, waiting or not. */
export const WaitingLead = Type.Object({
  lead_id: Uuid,
  status: Type.Enum([...LEAD_STATUSES]),
  outcome: Nullable(UpTo(64)),
  due_at: Nullable(IsoTime),
  held: Nullable(Held),
  created_at: IsoTime,
  ...AgeAndFaults,
  /** A session lead that nobody has joined by then ends; absent: the lead is dialled, or an older version answers. */
  join_by: Type.Optional(IsoTime),
  reseller_id: Id,
  merchant_id: Nullable(Id),
  template_id: Uuid,
  phone_number: Nullable(UpTo(32)),
  attempt_count: Type.Integer(),
  claim_no: Type.Integer(),
  execution_mode: Type.Enum([...EXECUTION_MODES]),
  configurations_override: Nullable(Json),
});
export type WaitingLead = Static<typeof WaitingLead>;

/** The names of playground leads' own queues: this, then the lead's id. All others begin with their template's id, and sort before them. */
export const OWN_QUEUE = "p:";

/** Ends the name of a queue whose callees may all be in the same time zones: this, then the prefix of phone numbers that stands for them (numbering/callee-zones.ts). */
export const CALLEE_MARK = "~";

/** A queue with a waiting lead, and its owner: one for each template (a reseller's template serving several merchants: one for each of them), for callees in one set of time zones, and one of its own for each playground
 *  lead with a configuration of its own. Whose it is say the fields beside its name. */
export const QueueHead = Type.Object({
  queue: UpTo(110),
  template_id: Uuid,
  reseller_id: Id,
  merchant_id: Nullable(Id),
  due_at: IsoTime,
  /** Set for a playground lead's own queue: what it changes of the configuration, or (by reference) the lead that has it. */
  configurations_override: Nullable(Json),
  override_of: Type.Optional(Uuid),
});
export type QueueHead = Static<typeof QueueHead>;

/** What the scheduler gets of a lead that is due. */
export const DueLead = Type.Object({
  lead_id: Uuid,
  queue: Type.Optional(UpTo(110)),
  status: Type.Enum(["BACKLOG", "RETRY"]),
  due_at: IsoTime,
  created_at: IsoTime,
  ...AgeAndFaults,
  reseller_id: Id,
  merchant_id: Nullable(Id),
  template_id: Uuid,
  phone_number: UpTo(32),
  attempt_count: Type.Integer(),
  claim_no: Type.Integer(),
  execution_mode: Type.Enum([...EXECUTION_MODES]),
  /** As of its queue. */
  configurations_override: Nullable(Json),
  override_of: Type.Optional(Uuid),
  /** Size of its payload as JSON: what claims and orders of one message hold together. */
  payload_bytes: Type.Optional(Type.Integer()),
});
export type DueLead = Static<typeof DueLead>;

/** What is snapshotted into the attempt when a lead is claimed. */
export const AttemptPlan = Type.Object({
  number_id: Uuid,
  provider: ProviderEnum,
  template_version: Type.Integer(),
  policy: RetryPolicy,
});
export type AttemptPlan = Static<typeof AttemptPlan>;

/** A claimed lead: its owner has the lease (lead_id, claim_no). */
export const ClaimedLead = Type.Object({
  lead_id: Uuid,
  claim_no: Type.Integer(),
  attempt_count: Type.Integer(),
  reseller_id: Id,
  merchant_id: Nullable(Id),
  template_id: Uuid,
  phone_number: UpTo(32),
  payload: Json,
  execution_mode: Type.Enum([...EXECUTION_MODES]),
  /** Times each pre-check has deferred this lead. */
  pre_check_defers: Type.Record(Type.String(), Type.Integer()),
});
export type ClaimedLead = Static<typeof ClaimedLead>;
