import type { ErrorCode } from "../../errors.ts";
import { described, IsoTime, Json, Nullable, Strict, Type, UpTo, valued, type Static } from "../define.ts";

/** Longest summary of a conversation, in characters. */
export const MAX_SUMMARY_CHARS = 2000;

/** How the carrier's side of an attempt ended, in our words, whichever carrier it was. */
export const CARRIER_ENDS = [
  "completed",
  "no_answer",
  "busy",
  "rejected",
  "failed",
  "canceled",
  "time_limit",
  /** The carrier refused the number itself. */ "invalid_number",
  /** The request was sent; whether the phone rang is unknown. */ "unknown",
  /** Ended before any carrier was asked. */ "not_dialled",
] as const;
/** Error codes that end a lead whose attempt dialled nothing: decisions about the lead, as are a failed pre-check and the blacklist (`dropped_as`). Its template is gone, or what its
 *  conversation is led with is not part of the deployment. Every other error is a technical fault: the attempt is released. */
export const DECISION_CODES: readonly string[] = [
  "TEMPLATE_NOT_FOUND",
  "TEMPLATE_UNKNOWN",
  "NOT_AVAILABLE",
] satisfies ErrorCode[];
/** The service's own outcome words. What each means and whether it is tried again: services/leads/rules/outcomes.ts; a template may not decide with one of them. */
export const OUTCOME_WORDS = [
  "no_answer",
  "busy",
  "failed",
  "voicemail",
  "customer_hangup",
  "silence",
  "no_outcome",
  "call_timeout",
  "call_error",
  "PRECHECK_FAILED",
  "BLACKLISTED",
  "ABORTED",
  "INVALID_NUMBER",
  "INTERNATIONAL_BLOCKED",
  "NUMBER_UNAVAILABLE",
  "PLACEMENT_UNKNOWN",
  "EXPIRED",
] as const;
/** The outcome word, and the name of the function, by which a conversation says that its callee asked not to be called again. */
export const DO_NOT_CALL = "do_not_call";
export type CarrierEnd = (typeof CARRIER_ENDS)[number];

/** Who ended the call, as 2.2 names them. */
export const ENDED_BY = ["agent", "customer", "timeout", "error"] as const;
export type EndedBy = (typeof ENDED_BY)[number];

/** Who can have ended a call: the person on the other side (also one who called us), the conversation, a time limit or their silence, we for another reason, the carrier or its network. */
export const HANGUP_PARTIES = ["callee", "agent", "timeout", "we", "carrier", "unknown"] as const;

/** Who ended the call, from evidence. `reason`: why, where it was we (shared/hangup-source.ts). */
export const HangupSource = Type.Object({
  by: described(
    "Who ended it.",
    valued(HANGUP_PARTIES, {
      callee: "The person on the other side, also one who called us.",
      agent: "The conversation came to its end.",
      timeout: "A time limit, or the silence of the other side.",
      we: "We, for another reason.",
      carrier: "The carrier or its network.",
      unknown: "Nothing says who.",
    }),
  ),
  reason: described("Why, where it was we; null: it was not.", Nullable(UpTo(64))),
});
export type HangupSource = Static<typeof HangupSource>;

/** Most turns of a conversation that are told, and of one message about them while it runs. */
export const MAX_TURNS = 500;
export const MAX_TOLD_TURNS = 50;
/** One turn of a conversation, without a word of it: whose it was, when it came into the transcript, and the node that the conversation was in. */
export const TalkTurn = Type.Object({ by: Type.Enum(["user", "assistant"]), at: IsoTime, node: UpTo(64) });
export type TalkTurn = Static<typeof TalkTurn>;

/** The conversation's own facts. `decided` is the template's own outcome word, when one was reached. */
export const ConversationFacts = Type.Object({
  decided: Nullable(Type.String()),
  ended_by: Type.Enum([...ENDED_BY]),
  /** Caller turns, by speech or DTMF. */
  user_turns: Type.Integer({ minimum: 0 }),
  /** True when the conversation ended because the customer stayed silent. */
  idle_out: Type.Boolean(),
  /** True when the conversation reached its maximal length. */
  time_limit: Type.Boolean(),
  /** True when voicemail answered. */
  machine: Type.Boolean(),
  /** True when a message was left on voicemail. */
  message_left: Type.Boolean(),
  /** True when whoever answered asked not to be called again. Absent: nobody did. */
  do_not_call: Type.Optional(Type.Boolean()),
  transcription: Type.Array(Type.Object({ role: Type.Enum(["user", "assistant"]), content: Type.String() })),
  /** Absent: turns are not told (EVENTS_TURNS). */
  turns: Type.Optional(Type.Array(TalkTurn, { maxItems: MAX_TURNS })),
  node_traversal: Type.Array(Type.String()),
  variables: Json,
  errors: Type.Array(Json),
});
export type ConversationFacts = Static<typeof ConversationFacts>;

/** A model's evaluation after the conversation: the template's scores by name, a summary, and the errors on the way. */
export const Evaluation = Type.Object({
  trace_scores: Type.Record(Type.String({ maxLength: 64 }), Type.Number()),
  summary: Nullable(Type.String({ maxLength: MAX_SUMMARY_CHARS })),
  /** One `{code: "EVALUATION_FAILED", reason, evaluator?}` for each answer that is missing; never a word of the conversation. */
  errors: Type.Array(Json, { maxItems: 50 }),
});
export type Evaluation = Static<typeof Evaluation>;

/** Recorded facts of one attempt: all that its outcome is computed from. Seconds and ISO times. */
export const AttemptFacts = Type.Object({
  ended: Type.Enum([...CARRIER_ENDS]),
  call_id: Nullable(Type.String()),
  started_at: Nullable(IsoTime),
  answered_at: Nullable(IsoTime),
  ended_at: Nullable(IsoTime),
  machine: Type.Boolean(),
  talk: Nullable(ConversationFacts),
  /** The evaluation, where it was finished in time; a later one is annotated. */
  evaluation: Type.Optional(Evaluation),
  /** Why nothing was dialled: one of the closed outcomes. */
  dropped_as: Nullable(Type.Enum(["PRECHECK_FAILED", "BLACKLISTED", "INTERNATIONAL_BLOCKED", "NUMBER_UNAVAILABLE"])),
  /** Free-form error for metaData.errors; never a secret. */
  error: Nullable(Json),
  /** Absent: nothing was dialled, or a version before 0.3.0 wrote it. */
  hangup_source: Type.Optional(HangupSource),
  pre_check_results: Type.Array(Json),
});
export type AttemptFacts = Static<typeof AttemptFacts>;

/** A call that the carrier took, of which its lead may not have been told yet. */
export const PlacedCall = Strict({
  call_id: UpTo(300),
  placed_at: IsoTime,
  /** null: nothing says that it rang. */
  ringing_at: Nullable(IsoTime),
  /** Where its recording will be. Absent: none is expected so far. */
  recording_url: Type.Optional(UpTo(2000)),
});
export type PlacedCall = Static<typeof PlacedCall>;

/** Most bytes of the results of an attempt's pre-checks, and of the variables that they add to the payload together, each as JSON. */
export const PRE_CHECK_BYTES = { results: 48 * 1024, exported: 32 * 1024 } as const;

/** Retry policy as it stood when the lead was claimed. `retry_on` null: the closed list's own "retried?". */
export const RetryPolicy = Strict({
  max_retry: Type.Integer({ minimum: 0 }),
  retry_offset: Type.Integer({ minimum: 0 }),
  retry_on: Nullable(Type.Array(Type.String())),
});
export type RetryPolicy = Static<typeof RetryPolicy>;

/** Facts with nothing in them yet, to be overridden. */
export const noFacts = (ended: CarrierEnd): AttemptFacts => ({
  ended,
  call_id: null,
  started_at: null,
  answered_at: null,
  ended_at: null,
  machine: false,
  talk: null,
  dropped_as: null,
  error: null,
  pre_check_results: [],
});

/** Facts of a conversation that the agent ended after one turn of the caller, in which nothing else happened. */
export const endedByAgent = (decided: string | null): ConversationFacts => ({
  decided,
  ended_by: "agent",
  user_turns: 1,
  idle_out: false,
  time_limit: false,
  machine: false,
  message_left: false,
  transcription: [],
  node_traversal: [],
  variables: {},
  errors: [],
});

/** One item of what an attempt cost: the carrier's own figure, or by the price table. `minutes`: started ones; `price_per_minute` null: only the sum is known. */
export const CostItem = Strict({
  what: Type.Enum(["carrier", "price_table"]),
  minutes: Nullable(Type.Integer({ minimum: 0 })),
  price_per_minute: Nullable(Type.Number({ minimum: 0 })),
  amount: Type.Number(),
  currency: Type.String({ minLength: 1, maxLength: 10 }),
});
export type CostItem = Static<typeof CostItem>;
