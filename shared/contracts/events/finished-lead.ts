import { described, IsoTime, Json, named, Nullable, Type, UpTo, valued, type Static } from "../define.ts";
import { LeadRecord, RequestId } from "../records/lead.ts";

const lead = LeadRecord.properties;

/** One turn of a conversation. */
const Turn = named(
  "Turn",
  "One side's contribution to a conversation.",
  Type.Object({
    role: valued(["user", "assistant"], {
      user: "The callee, or the caller of an inbound call.",
      assistant: "The agent.",
    }),
    content: described("What was said; of the agent's words those that were heard.", Type.String()),
  }),
);

/** `data` of the webhook lead.finished: what is known when the lead ends; nothing is waited for. Fields are only added. */
export const FinishedLead = named(
  "FinishedLead",
  "A finished lead as its webhook reports it: what is known when it ends. Fields are added over time; pass over those that you do not know.",
  Type.Object({
    order_id: RequestId,
    lead_call_tracker_id: lead.id,
    status: described("The lead is over.", Type.Literal("FINISHED")),
    outcome: lead.outcome,
    attempt_count: lead.attempt_count,
    call_id: lead.call_id,
    call_initiated_time: lead.call_initiated_time,
    call_end_time: lead.call_end_time,
    call_duration_seconds: described("Seconds between the two; null where one is missing.", Nullable(Type.Integer())),
    recording_url: lead.recording_url,
    transcription: described("What was said, the oldest lines left out of a very long one.", Type.Array(Turn)),
    variables: described("What the conversation extracted.", Json),
    trace_scores: lead.trace_scores,
    metaData: lead.metaData,
    request_id: lead.request_id,
    reseller_id: lead.reseller_id,
    merchant_id: lead.merchant_id,
    template_id: lead.template_id,
    template: lead.template,
    execution_mode: lead.execution_mode,
    call_direction: lead.call_direction,
    is_test: described("A playground or test lead.", Type.Boolean()),
    phone_number: described(
      "The callee, or the caller of an inbound call; masked, or in full where the merchant's webhook_phone_number says so. null: none.",
      Nullable(UpTo(32)),
      { example: "+1415***0100" },
    ),
    cost: lead.cost,
  }),
);
export type FinishedLead = Static<typeof FinishedLead>;

/** The body of the webhook. */
export const LeadFinishedEvent = named(
  "LeadFinishedEvent",
  "The body of the webhook lead.finished.",
  Type.Object({
    type: described("Which event it is.", Type.Literal("lead.finished")),
    timestamp: described("When the lead finished.", IsoTime),
    data: FinishedLead,
  }),
);

/** Headers of every request, Standard Webhooks 1.0. */
export const WEBHOOK_HEADERS = {
  "webhook-id": described(
    "Names the event: the same at every try and every replay. Whoever has seen it answers 2xx and does nothing.",
    UpTo(80),
    {
      example: "msg_0198c0de-7a39-7c53-9d0f-2a2b6a3a1c11",
    },
  ),
  "webhook-timestamp": described("When this try left, seconds since 1970.", Type.Integer(), { example: 1_763_717_441 }),
  "webhook-signature": described(
    "One v1,<base64> for each valid signing secret, separated by spaces: HMAC-SHA256 over <webhook-id>.<webhook-timestamp>.<body>.",
    Type.String(),
    { example: "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=" },
  ),
} as const;

const MINUTE = 60;
const HOUR = 60 * MINUTE;
/** Pauses before the tries after the first, seconds (Standard Webhooks 1.0). */
export const RETRY_DELAYS_SECONDS = [
  5,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
] as const;
/** How long a receiver may take to answer, seconds. */
export const ANSWER_SECONDS = 15;
