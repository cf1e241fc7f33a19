import { Id, IsoTime, Nullable, Type, UpTo } from "../define.ts";
import { CARRIER_ENDS, HangupSource } from "../records/attempt.ts";
import { EXECUTION_MODES } from "../records/lead.ts";
import { Attempt, event } from "./event-type.ts";

const Outcome = UpTo(64);
/** Most scores that an event names. */
const MAX_SCORES = 50;

/** What every event of a lead says of the lead itself; it never changes. `phone_number` is masked. */
export const LeadFacts = {
  request_id: UpTo(200),
  execution_mode: Type.Enum([...EXECUTION_MODES]),
  call_direction: Type.Enum(["OUTBOUND", "INBOUND"]),
  is_test: Type.Boolean(),
  phone_number: Nullable(UpTo(32)),
};

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
      because: Type.Enum(["pushed", "released", "resumed"]),
      due_at: Nullable(IsoTime),
      reason: Nullable(UpTo(300)),
    }),
    { ...facts, because: "pushed", due_at: "2026-03-02T09:00:00.000Z", reason: null },
  ),
  "lead.claimed": event(
    "lead",
    "An attempt begins: the lead is in PROCESSING. An inbound call begins with it.",
    Type.Object({
      ...LeadFacts,
      ...Attempt,
      provider: Nullable(UpTo(64)),
      number_id: Nullable(Id),
      template_version: Type.Integer(),
    }),
    { ...attempt, provider: "twilio", number_id: NUMBER, template_version: 3 },
  ),
  "lead.dialing": event(
    "lead",
    "The carrier took the call of this attempt; left out where the lead knew of the answer first, and for sessions. `call_id`: the carrier's name of it, where it gave one.",
    Type.Object({ ...LeadFacts, ...Attempt, call_id: Nullable(UpTo(300)) }),
    { ...attempt, call_id: CALL_ID },
  ),
  "lead.ringing": event(
    "lead",
    "The carrier says that the phone rings. Not every carrier does, nor for every call; it is left out where the call was answered before the lead knew.",
    Type.Object({ ...LeadFacts, ...Attempt }),
    attempt,
    false,
  ),
  "lead.answered": event(
    "lead",
    "Somebody or something answered, and the conversation begins.",
    Type.Object({ ...LeadFacts, ...Attempt }),
    attempt,
  ),
  "lead.turn": event(
    "lead",
    "One side's contribution to the conversation is over; nothing of what was said. Off by default.",
    Type.Object({ ...LeadFacts, ...Attempt, turn: Type.Integer({ minimum: 1 }), by: Type.Enum(["user", "assistant"]) }),
    { ...attempt, turn: 4, by: "user" },
    false,
  ),
  "lead.ended": event(
    "lead",
    "The attempt is over; `outcome` is the word for this attempt. `lead.retry` or `lead.finished` follows. `dialled` false: no carrier was asked.",
    Type.Object({
      ...LeadFacts,
      ...Attempt,
      outcome: Outcome,
      dialled: Type.Boolean(),
      ended: Type.Enum([...CARRIER_ENDS]),
      hangup_source: Nullable(HangupSource),
      call_id: Nullable(UpTo(300)),
      started_at: Nullable(IsoTime),
      answered_at: Nullable(IsoTime),
      ended_at: Nullable(IsoTime),
      user_turns: Nullable(Type.Integer()),
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
    Type.Object({ ...LeadFacts, ...Attempt, outcome: Outcome, due_at: IsoTime }),
    { ...attempt, outcome: "no_answer", due_at: LATER },
  ),
  "lead.finished": event(
    "lead",
    "The lead is FINISHED, with its outcome, for good. `attempt_count`: its dials.",
    Type.Object({ ...LeadFacts, outcome: Outcome, attempt_count: Type.Integer(), call_id: Nullable(UpTo(300)) }),
    { ...facts, outcome: "interested", attempt_count: 2, call_id: CALL_ID },
  ),
  "lead.evaluated": event(
    "lead",
    "The evaluation of the conversation is there: the template's scores by name. `summary`: whether there is one; its text is in the lead's record.",
    Type.Object({
      ...LeadFacts,
      ...Attempt,
      trace_scores: Type.Record(UpTo(64), Type.Number(), { maxProperties: MAX_SCORES }),
      summary: Type.Boolean(),
      errors: Type.Integer(),
    }),
    { ...attempt, trace_scores: { politeness: 0.9 }, summary: true, errors: 0 },
  ),
  "lead.aborted": event(
    "lead",
    "A person or a client aborted the lead; `lead.finished` with the outcome ABORTED follows. Why is in the lead's record.",
    Type.Object({ ...LeadFacts, by: UpTo(100) }),
    { ...facts, by: "user:0b8e4f6e-7a39-4c53-9d0f-2a2b6a3a1c11" },
  ),
  "lead.parked": event(
    "lead",
    "Technical faults keep the lead from being dialled: it is tried every 10 minutes at last, and does not age. `lead.queued` precedes it in the same write.",
    Type.Object({ ...LeadFacts, code: UpTo(64), faults: Type.Integer(), due_at: Nullable(IsoTime) }),
    { ...facts, code: "DEPENDENCY_DOWN", faults: 5, due_at: LATER },
  ),
  "recording.stored": event(
    "lead",
    "The recording of an attempt is stored: GET /recordings/{call_id} gives it.",
    Type.Object({ ...LeadFacts, ...Attempt, call_id: Nullable(UpTo(300)) }),
    { ...attempt, call_id: CALL_ID },
    false,
  ),
  "cost.known": event(
    "lead",
    "What an attempt cost is known; again, where the carrier corrects it.",
    Type.Object({ ...LeadFacts, ...Attempt, cost: Type.Number() }),
    { ...attempt, cost: 0.0345 },
  ),
} as const;
