import { described, Id, IsoTime, Nullable, Type, UpTo, valued } from "../define.ts";
import { CARRIER_ENDS, HangupSource } from "../records/attempt.ts";
import { CallDirection, ExecutionModeEnum, RequestId } from "../records/lead.ts";
import { Attempt, event } from "./event-type.ts";

/** Most scores that an event names. */
const MAX_SCORES = 50;

/** What every event of a lead says of the lead itself; it never changes. */
export const LeadFacts = {
  request_id: RequestId,
  execution_mode: ExecutionModeEnum,
  call_direction: CallDirection,
  is_test: described("A playground or test lead.", Type.Boolean()),
  phone_number: described("The callee, or the caller of an inbound call, masked; null: none.", Nullable(UpTo(32))),
};

const CallId = described(
  "The carrier's id of the call, or the session's room; null: it gave none.",
  Nullable(UpTo(300)),
);
const outcomeOf = (text: string) => described(text, UpTo(64));
const CarrierEnd = described(
  "How the attempt ended, of the carrier's side.",
  valued(CARRIER_ENDS, {
    completed: "It was answered and ended.",
    no_answer: "Nobody answered.",
    busy: "The line was busy.",
    rejected: "The callee refused the call.",
    failed: "The carrier could not place it.",
    canceled: "It was called off before anybody answered.",
    time_limit: "The longest time of a call was over.",
    invalid_number: "The carrier refused the number itself.",
    unknown: "The carrier was asked; whether the phone rang is unknown.",
    not_dialled: "It ended before any carrier was asked.",
  }),
);

const facts = {
  request_id: "order-4711",
  execution_mode: "TELEPHONY" as const,
  call_direction: "OUTBOUND" as const,
  is_test: false,
  phone_number: "+49*****4567",
};
const attempt = { ...facts, claim_no: 1 };
const NUMBER = "5f0c8f0e-7a39-4c53-9d0f-2a2b6a3a1c11";
const LATER = "2026-03-02T09:30:00.000Z";
const CALL_ID = "CA5a1f0c8f0e7a394c539d0f2a2b6a3a1c";

/** Every event of a lead, by its name. */
export const leadEvents = {
  "lead.queued": event(
    "lead",
    "The lead waits: it was pushed (`pushed`), an attempt was given back without a dial (`released`), or a person had a parked one tried now (`resumed`). `reason`: why it was given back. `due_at` null: it waits for a client to join, or has no number.",
    Type.Object({
      ...LeadFacts,
      because: described(
        "Why it waits.",
        valued(["pushed", "released", "resumed"], {
          pushed: "It is new.",
          released: "An attempt was given back without a dial.",
          resumed: "A person had a parked lead tried now.",
        }),
      ),
      due_at: described("When it is due; null: it waits for a client to join, or has no number.", Nullable(IsoTime)),
      reason: described("Why the attempt was given back; null: none was.", Nullable(UpTo(300))),
    }),
    { ...facts, because: "pushed", due_at: "2026-03-02T09:00:00.000Z", reason: null },
  ),
  "lead.claimed": event(
    "lead",
    "An attempt begins: the lead is in PROCESSING. An inbound call begins with it.",
    Type.Object({
      ...LeadFacts,
      ...Attempt,
      provider: described("The carrier that is to place the call; null: none is needed.", Nullable(UpTo(64))),
      number_id: described("Id of the number that calls; null: none does.", Nullable(Id)),
      template_version: described("The version of the template that the attempt follows.", Type.Integer()),
    }),
    { ...attempt, provider: "twilio", number_id: NUMBER, template_version: 3 },
  ),
  "lead.dialing": event(
    "lead",
    "The carrier took the call of this attempt; left out where the lead knew of the answer first, and for sessions. `call_id`: the carrier's name of it, where it gave one.",
    Type.Object({ ...LeadFacts, ...Attempt, call_id: CallId }),
    { ...attempt, call_id: CALL_ID },
  ),
  "lead.ringing": event(
    "lead",
    "The carrier says that the callee's phone rings. Not every carrier does, nor for every call; it is left out where the call was answered before the lead knew, and for sessions and calls to us.",
    Type.Object({ ...LeadFacts, ...Attempt }),
    attempt,
  ),
  "lead.answered": event(
    "lead",
    "Somebody or something answered, and the conversation begins.",
    Type.Object({ ...LeadFacts, ...Attempt }),
    attempt,
  ),
  "lead.turn": event(
    "lead",
    "One side's contribution to the conversation is over; nothing of what was said. With EVENTS_TURNS alone, which is off by default; those of which the lead did not know when the attempt ended precede `lead.ended`.",
    Type.Object({
      ...LeadFacts,
      ...Attempt,
      turn: described("Its number in the conversation: 1, 2, 3, …", Type.Integer({ minimum: 1 })),
      by: described(
        "Whose it was.",
        valued(["user", "assistant"], {
          user: "The callee, or the caller of an inbound call.",
          assistant: "The agent.",
        }),
      ),
      node: described("The template's node in which the conversation was.", UpTo(64)),
      at: described("When it came into the transcript.", IsoTime),
    }),
    { ...attempt, turn: 4, by: "user", node: "confirm_order", at: "2026-03-02T09:00:21.300Z" },
  ),
  "lead.ended": event(
    "lead",
    "The attempt is over; `outcome` is the word for this attempt. `lead.retry` or `lead.finished` follows. `dialled` false: no carrier was asked.",
    Type.Object({
      ...LeadFacts,
      ...Attempt,
      outcome: outcomeOf("The word for this attempt: one of the template's, or of the service's own."),
      dialled: described("Whether a carrier was asked.", Type.Boolean()),
      ended: CarrierEnd,
      hangup_source: described("Who ended the call; null: there was none.", Nullable(HangupSource)),
      call_id: CallId,
      started_at: described("When the call was placed; null: it was not.", Nullable(IsoTime)),
      answered_at: described("When it was answered; null: it was not.", Nullable(IsoTime)),
      ended_at: described("When it ended; null: not known.", Nullable(IsoTime)),
      user_turns: described(
        "How often the other side spoke or pressed keys; null: there was no conversation.",
        Nullable(Type.Integer()),
        { example: 3 },
      ),
    }),
    {
      ...attempt,
      outcome: "no_answer",
      dialled: true,
      ended: "no_answer",
      hangup_source: { by: "carrier", reason: null },
      call_id: CALL_ID,
      started_at: "2026-03-02T09:00:01.200Z",
      answered_at: null,
      ended_at: "2026-03-02T09:00:31.900Z",
      user_turns: null,
    },
  ),
  "lead.retry": event(
    "lead",
    "The lead will be called again, from `due_at` on; `outcome` is that of the attempt before.",
    Type.Object({
      ...LeadFacts,
      ...Attempt,
      outcome: outcomeOf("The word for the attempt before."),
      due_at: described("From when on it will be called again.", IsoTime),
    }),
    { ...attempt, outcome: "no_answer", due_at: LATER },
  ),
  "lead.finished": event(
    "lead",
    "The lead is FINISHED, with its outcome, for good. `attempt_count`: its dials.",
    Type.Object({
      ...LeadFacts,
      outcome: outcomeOf("The result: a word of the template, or one of the service's own."),
      attempt_count: described("Calls that were placed.", Type.Integer()),
      call_id: described("The id of the last call; null: nothing was dialled.", Nullable(UpTo(300))),
    }),
    { ...facts, outcome: "interested", attempt_count: 2, call_id: CALL_ID },
  ),
  "lead.evaluated": event(
    "lead",
    "The evaluation of the conversation is there: the template's scores by name. `summary`: whether there is one; its text is in the lead's record.",
    Type.Object({
      ...LeadFacts,
      ...Attempt,
      trace_scores: described(
        "The scores by the names of the template's evaluators.",
        Type.Record(UpTo(64), Type.Number(), { maxProperties: MAX_SCORES }),
      ),
      summary: described("Whether there is a summary; its text is in the lead's record.", Type.Boolean()),
      errors: described("How many questions of the evaluation have no answer.", Type.Integer()),
    }),
    { ...attempt, trace_scores: { politeness: 0.9 }, summary: true, errors: 0 },
  ),
  "lead.aborted": event(
    "lead",
    "A person or a client aborted the lead; `lead.finished` with the outcome ABORTED follows. Why is in the lead's record.",
    Type.Object({ ...LeadFacts, by: described("Who aborted it: kind and id.", UpTo(100)) }),
    { ...facts, by: "user:0b8e4f6e-7a39-4c53-9d0f-2a2b6a3a1c11" },
  ),
  "lead.parked": event(
    "lead",
    "Technical faults keep the lead from being dialled: it is tried every 10 minutes at last, and does not age. `lead.queued` precedes it in the same write.",
    Type.Object({
      ...LeadFacts,
      code: described("The error code of the last fault.", UpTo(64)),
      faults: described("Faults in a row.", Type.Integer()),
      due_at: described("When it is tried next; null: when somebody resumes it.", Nullable(IsoTime)),
    }),
    { ...facts, code: "DEPENDENCY_DOWN", faults: 5, due_at: LATER },
  ),
  "recording.stored": event(
    "lead",
    "The recording of an attempt is stored: `GET /leads/recording/{call_sid}` gives it by this `call_id`. The next attempt may have begun by then.",
    Type.Object({ ...LeadFacts, ...Attempt, call_id: CallId }),
    { ...attempt, call_id: CALL_ID },
  ),
  "cost.known": event(
    "lead",
    "What an attempt cost is known; again, where the carrier corrects it.",
    Type.Object({
      ...LeadFacts,
      ...Attempt,
      cost: described("What this attempt cost, in the deployment's currency (COST_CURRENCY).", Type.Number()),
    }),
    { ...attempt, cost: 0.0345 },
  ),
} as const;
