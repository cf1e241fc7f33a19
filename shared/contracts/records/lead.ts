import {
  described,
  Id,
  IsoTime,
  Json,
  named,
  Nullable,
  Text,
  Type,
  UpTo,
  Uuid,
  valued,
  type Static,
} from "../define.ts";
import { RetryPolicy } from "./attempt.ts";
import { Owner, Stamps } from "./identity.ts";
import { ProviderEnum } from "./configuration.ts";
import { LeadTrace } from "../requests/trace-headers.ts";

/** Lead status, section 3.1. */
export const LEAD_STATUSES = ["BACKLOG", "PROCESSING", "RETRY", "FINISHED"] as const;
export type LeadStatus = (typeof LEAD_STATUSES)[number];
/** One of them as it travels. */
export const LeadStatusEnum = named(
  "LeadStatus",
  "Where a lead stands. FINISHED is final.",
  valued(LEAD_STATUSES, {
    BACKLOG: "It waits for its first attempt, or for a client to join its session.",
    PROCESSING: "An attempt is under way: it is dialled, or in conversation.",
    RETRY: "An attempt failed; another one follows.",
    FINISHED: "It is over, and outcome says how.",
  }),
);

/** Execution modes, section 2.4. */
export const EXECUTION_MODES = ["TELEPHONY", "TELEPHONY_TEST", "RTC", "RTC_TEST", "RTC_STREAM"] as const;
export type ExecutionMode = (typeof EXECUTION_MODES)[number];
/** One of them as it travels. */
export const ExecutionModeEnum = named(
  "ExecutionMode",
  "How a lead is reached.",
  valued(EXECUTION_MODES, {
    TELEPHONY: "A phone call.",
    TELEPHONY_TEST: "A phone call that is marked as a test and left out of analytics.",
    RTC: "A session that a browser or an app joins, led by the template.",
    RTC_TEST: "The same, marked as a test and left out of analytics.",
    RTC_STREAM:
      "A session without template flow: speech is transcribed, and the client says by tts-speak what is spoken.",
  }),
);

/** Modes that the scheduler dials; the others wait until a client joins. */
export const DIALLED_MODES: readonly ExecutionMode[] = ["TELEPHONY", "TELEPHONY_TEST"];

/** Modes whose leads are not dialled: a client joins their session. */
export const SESSION_MODES: readonly ExecutionMode[] = ["RTC", "RTC_TEST", "RTC_STREAM"];
/** Whether a lead of this mode waits for a client to join its session. */
export const isSessionMode = (mode: ExecutionMode): boolean => SESSION_MODES.includes(mode);

/** Who called whom. */
export const CallDirection = valued(["OUTBOUND", "INBOUND"], {
  OUTBOUND: "We called.",
  INBOUND: "They called one of our numbers, or came through a door.",
});
/** A lead's id, as a request names it. */
export const LeadId = described("Id of the lead: lead_call_tracker_id of its push.", Text(64));
/** A push's request_id, as an answer shows it. */
export const RequestId = described("What the client named its push by (request_id).", UpTo(200), {
  example: "order-4711",
});

/** What a lead's record and its summary share. */
const common = {
  id: described("Id of the lead: lead_call_tracker_id of its push.", Uuid),
  ...Owner,
  template: described("Name of the template.", UpTo(200)),
  request_id: RequestId,
  status: LeadStatusEnum,
  outcome: described(
    "Result of the call: an outcome word of the template, or one of the service's own (no_answer, busy, voicemail, customer_hangup, ABORTED, …). null: not known yet.",
    Nullable(UpTo(64)),
    { example: "confirmed" },
  ),
  attempt_count: described("Attempts so far that count: those that dialled.", Type.Integer({ minimum: 0 })),
};

/** The lead record of 2.1. */
export const LeadRecord = named(
  "Lead",
  "A lead with all that is known of it: one person to call, pushed by a client or made for an inbound call.",
  Type.Object({
    ...common,
    template_id: described("Id of the template.", Uuid),
    call_id: described(
      "The carrier's id of the last call, or the name of the session's room; the key of its recording. null: nothing was dialled yet.",
      Nullable(UpTo(300)),
    ),
    call_initiated_time: described("When the last call began; null: there was none.", Nullable(IsoTime)),
    call_end_time: described("When the last call ended; null: it has not.", Nullable(IsoTime)),
    recording_url: described(
      "Where the recording can be downloaded, with a token, one or two minutes after the call. null: there is none.",
      Nullable(UpTo(2000)),
      { example: "https://calls.example/api/calling/leads/recording/CA5a1f0c8f0e7a394c539d0f2a2b6a3a1c" },
    ),
    cost: described(
      "What the calls of all attempts cost, in the deployment's currency (COST_CURRENCY); null: not known yet.",
      Nullable(Type.Number()),
      { example: 0.0345 },
    ),
    execution_mode: ExecutionModeEnum,
    call_direction: CallDirection,
    outbound_number_id: described("The number that the last call came from; null: none yet.", Nullable(Id)),
    trace_scores: described(
      "Scores of the last conversation, by the names of the template's evaluators.",
      Type.Record(Type.String(), Type.Number()),
      { example: { politeness: 8 } },
    ),
    payload: described(
      "The variables of the push, with customer_mobile_number and reporting_webhook_url, and what pre-checks added.",
      Json,
    ),
    metaData: described(
      "Details of the call, each where there is one: transcription (role, content), call_ended_by, hangup_source, node_traversal, variables, errors, pre_check_results, summary, evaluation_errors, cost_breakdown, do_not_call.",
      Json,
    ),
    ...Stamps,
  }),
);
export type LeadRecord = Static<typeof LeadRecord>;

/** The lead summary of 2.3. */
export const LeadSummary = named("LeadSummary", "A lead in a list.", Type.Object({ ...common, ...Stamps }));
export type LeadSummary = Static<typeof LeadSummary>;

/** Why a waiting lead is deferred: since when, until when. */
export const Held = Type.Object({ why: Type.String(), until: IsoTime, since: IsoTime });
export type Held = Static<typeof Held>;

/** `faults.code` of a lead that is parked because the database was restored from a copy: it may have been called since that copy was made. It waits until somebody resumes it. */
export const RESTORED = "RESTORED";

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
  status: LeadStatusEnum,
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
  execution_mode: ExecutionModeEnum,
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
  execution_mode: ExecutionModeEnum,
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
  execution_mode: ExecutionModeEnum,
  /** Times each pre-check has deferred this lead. */
  pre_check_defers: Type.Record(Type.String(), Type.Integer()),
  trace: LeadTrace,
});
export type ClaimedLead = Static<typeof ClaimedLead>;
