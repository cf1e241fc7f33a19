import {
  action,
  E164,
  IsoTime,
  Json,
  Nothing,
  Nullable,
  Strict,
  Text,
  Type,
  Uuid,
  type Static,
  UpTo,
} from "./define.ts";
import { CARRIER_PARTIES, HANG_UP_REASONS, MEDIA_ENDS } from "../hangup-source.ts";
import { AttemptFacts, CARRIER_ENDS, HangupSource, PlacedCall } from "./records/attempt.ts";
import { CalleeCap } from "./merchants.ts";
import { MAX_TRANSFER_NUMBERS, ProviderEnum, VoicemailActionEnum } from "./records/configuration.ts";
import { EngineEnum } from "./records/models.ts";
import { archived } from "./requests/archive.ts";
import { eraseNumber } from "./requests/erasures.ts";
import { endRecords } from "./requests/retention.ts";
import { inboundCallList } from "./records/inbound.ts";
import { EXECUTION_MODES } from "./records/lead.ts";
import { SpendCeilings, SpendRoomAsked, SpendRooms } from "./records/spend.ts";
import { RECORDING_PLACES, RECORDING_STATES } from "./records/recording-states.ts";
import { SessionAccess, SessionOrder, SpeakFields, SpokenStatus, Via } from "./records/session.ts";
import { LeadTrace } from "./requests/trace-headers.ts";
import { RateLimit } from "./scheduler.ts";

/** The name of an attempt, `<lead_id>.<claim_no>` (shared/ids.ts callRef). */
export const CallRef = Type.String({ pattern: "^[0-9a-fA-F-]{36}\\.[1-9][0-9]*$" });

/** A recording that the conversation service made itself. */
const OwnRecording = Strict({
  call_ref: CallRef,
  key: Text(300),
  bytes: Type.Integer({ minimum: 1 }),
  content_type: Type.Enum(["audio/wav"]),
  seconds: Type.Integer({ minimum: 0 }),
});

/** The order of one dial, snapshotted by the scheduler, so that later edits touch only later claims. */
export const DialJob = Strict({
  lead_id: Uuid,
  claim_no: Type.Integer({ minimum: 1 }),
  reseller_id: Text(64),
  merchant_id: Nullable(Text(64)),
  template_id: Uuid,
  template_version: Type.Integer({ minimum: 1 }),
  execution_mode: Type.Enum([...EXECUTION_MODES]),
  to: E164,
  from: E164,
  number_id: Uuid,
  provider: ProviderEnum,
  payload: Json,
  /** The calling window closes here: no ring and no answer is accepted from this instant on; null: it never closes. */
  dial_until: Nullable(IsoTime),
  /** Whether the carrier records the call; what happens when voicemail answers. */
  record: Type.Boolean(),
  voicemail_action: VoicemailActionEnum,
  /** The configuration's engine; absent: the deployment's. The template's own wins. */
  engine: Type.Optional(EngineEnum),
  enforce_blacklist: Type.Boolean(),
  /** Whether the call may be handed on to another country; absent: it may. */
  enable_international_call: Type.Optional(Type.Boolean()),
  /** The configuration's list of transfer targets; absent: none. */
  transfer_numbers: Type.Optional(Type.Array(E164, { maxItems: MAX_TRANSFER_NUMBERS })),
  max_call_seconds: Type.Integer({ minimum: 1 }),
  /** null: no limit, or the callee is on its whitelist. */
  rate_limit: Nullable(RateLimit),
  /** The merchant's; absent: none. */
  max_calls_per_callee: Type.Optional(CalleeCap),
  /** The merchant's and the reseller's; absent: none. */
  spend_ceilings: Type.Optional(SpendCeilings),
  due_at: Type.Optional(IsoTime),
  /** The configuration's pre-checks, and how often each has deferred the lead. */
  pre_checks: Type.Array(Json, { maxItems: 10 }),
  pre_check_defers: Type.Record(Type.String(), Type.Integer()),
  trace: LeadTrace,
});
export type DialJob = Static<typeof DialJob>;

/** A carrier's callback as it came in: the body's exact bytes as text, the path and query as asked for. */
export const RawCallback = Strict({
  provider: ProviderEnum,
  kind: Text(32),
  ref: Text(80),
  method: Type.Enum(["GET", "POST"]),
  /** Path and query, as received; signatures are checked against PUBLIC_HTTP_URL + this. */
  path: Text(4000),
  headers: Type.Record(Type.String(), Type.String()),
  body: Type.String({ maxLength: 262_144 }),
});
export type RawCallback = Static<typeof RawCallback>;

/** A document that ends a call politely, for callbacks of one kind. `language`: without a region, like "de". */
export const Farewell = Type.Object({
  provider: ProviderEnum,
  kind: Text(32),
  language: Text(16),
  content_type: Text(100),
  body: Text(500),
});
export type Farewell = Static<typeof Farewell>;

/** Result of reconciling an attempt whose lease owner went silent. `never_dialled` also guarantees that it will never be dialled. */
export const Verdict = Type.Union([
  Type.Object({ verdict: Type.Literal("never_dialled") }),
  Type.Object({ verdict: Type.Literal("live"), lease_seconds: Type.Integer() }),
  Type.Object({ verdict: Type.Literal("ended"), facts: AttemptFacts, placed: Type.Optional(PlacedCall) }),
]);
export type Verdict = Static<typeof Verdict>;

/** What the dialer knows of a call's end. `end` null: not reported. `asked`: our request that came before the end of its media. `media_fault`: the carrier's session of it failed, by its code. */
export const CallEndEvidence = Type.Object({
  end: Nullable(Type.Enum([...CARRIER_ENDS])),
  carrier: Nullable(Type.Enum([...CARRIER_PARTIES])),
  asked: Nullable(Type.Enum([...HANG_UP_REASONS])),
  media_fault: Type.Optional(UpTo(64)),
});
export type CallEndEvidence = Static<typeof CallEndEvidence>;

/** A call as its history shows it: when it entered each state, and how it ended. */
export const CallHistory = Type.Object({
  /** Absent: OUTBOUND. */
  direction: Type.Optional(Type.Enum(["OUTBOUND", "INBOUND"])),
  call_ref: CallRef,
  claim_no: Type.Integer(),
  state: UpTo(32),
  provider: Nullable(ProviderEnum),
  call_id: Nullable(UpTo(300)),
  intended_at: IsoTime,
  placed_at: Nullable(IsoTime),
  ringing_at: Nullable(IsoTime),
  answered_at: Nullable(IsoTime),
  joined_at: Nullable(IsoTime),
  ended_at: Nullable(IsoTime),
  closed_at: Nullable(IsoTime),
  ended: Nullable(UpTo(64)),
  cause: Nullable(Type.String()),
  machine: Nullable(UpTo(64)),
  hang_up: Nullable(UpTo(64)),
  /** Absent: it has not ended, or a version before 0.3.0 shows it. */
  hangup_source: Type.Optional(HangupSource),
  talk_seconds: Nullable(Type.Number()),
  cost: Nullable(Type.Number()),
  cost_currency: Nullable(UpTo(10)),
});
export type CallHistory = Static<typeof CallHistory>;

/** A carrier's callback as stored: the steps it reported, and whether they are applied. Kept for a week. */
export const CarrierEventHistory = Type.Object({
  call_ref: CallRef,
  kind: UpTo(32),
  received_at: IsoTime,
  applied: Type.Boolean(),
  note: Nullable(Type.String()),
  steps: Type.Array(Type.Object({ type: Type.String(), at: Nullable(IsoTime) })),
});
export type CarrierEventHistory = Static<typeof CarrierEventHistory>;

/** Dialling: one document per attempt, carriers behind one port. */
export const dialer = {
  name: "dialer",
  actions: {
    /** Accepts orders and answers at once, for each whether it was accepted; the attempts run on. One refused for lack of room stays with the caller.
     *  Where the request itself fails after it was sent (no answer in time, the node gone), its result is unknown: the caller must release nothing, the leads' leases decide. */
    dialMany: action(
      Strict({ orders: Type.Array(DialJob, { minItems: 1, maxItems: 500 }) }),
      Type.Object({ taken: Type.Array(Type.Boolean(), { maxItems: 500 }) }),
    ),
    /** Verifies, stores and answers: the document the carrier is to follow (TwiML) or an empty one. SIGNATURE_INVALID, VALIDATION_FAILED. */
    carrierEvent: action(RawCallback, Type.Object({ content_type: UpTo(100), body: Type.String() }), {
      timeout_ms: 15_000,
    }),
    /** Documents that end a call politely, per language: what the gateway answers a carrier that asks for one while the dialer can't be reached, or can't answer in time. */
    farewells: action(Strict({}), Type.Object({ documents: Type.Array(Farewell, { maxItems: 100 }) }), {
      since: "0.3.0",
    }),
    /** Internal: whether the provider's carrier account holds the number, as the carrier says. `credentials_refused`: it does not say, for it refuses the account; where to look. PROVIDER_UNCONFIGURED; DEPENDENCY_DOWN: it can't be asked. */
    holdsNumber: action(
      Strict({ provider: ProviderEnum, phone_number: E164 }),
      Type.Object({ held: Type.Boolean(), credentials_refused: Type.Optional(UpTo(500)) }),
      { since: "0.3.0" },
    ),
    /** Checks a carrier's signature on a WebSocket upgrade; `path` as asked for. */
    verifyUpgrade: action(
      Strict({ provider: ProviderEnum, path: Text(4000), headers: Type.Record(Type.String(), Type.String()) }),
      Type.Object({ valid: Type.Boolean() }),
    ),
    /** The fence at answer: a conversation node reports that media joined and takes the lease. go false: hang up, the attempt is over. `machine`,
     *  `beep`: the AMD result so far; later results come by conversation.stop. `tells_beep`: the carrier reports the end of a voicemail greeting. `placed`: the call, of which its lead may not have been told; `tells_placed`: the asker tells it (absent: a version before 0.3.0, which does not). */
    joined: action(
      Strict({ call_ref: CallRef, node_id: Text(200), tells_placed: Type.Optional(Type.Boolean()) }),
      Type.Object({
        go: Type.Boolean(),
        reason: Nullable(UpTo(500)),
        answered_at: Nullable(IsoTime),
        machine: Type.Boolean(),
        beep: Type.Boolean(),
        tells_beep: Type.Boolean(),
        placed: Type.Optional(PlacedCall),
      }),
    ),
    /** Ends the carrier's call if it still lives; idempotent. `reason`: why, absent: it is asked for. `media`: the carrier's side of the media had ended before; then the answer says what is known of the call's end, which is waited for where the carrier names who ended a call. `verdict`: the conversation can't tell whether a person answered; the answer says whether it was voicemail, by the carrier's word, absent: nobody says. */
    hangUp: action(
      Strict({
        call_ref: CallRef,
        reason: Type.Optional(Type.Enum([...HANG_UP_REASONS])),
        media: Type.Optional(Type.Enum([...MEDIA_ENDS])),
        verdict: Type.Optional(Type.Boolean()),
      }),
      Type.Object({ known: Type.Optional(CallEndEvidence), machine: Type.Optional(Type.Boolean()) }),
      { timeout_ms: 20_000 },
    ),
    /** Hands the live call to another number. `from_variable`: a variable gave it, so it must be one of the configuration's transfer_numbers. INVALID_PHONE_NUMBER, NUMBER_BLACKLISTED, FORBIDDEN: the leg is not admitted; VALIDATION_FAILED: the call is not in progress. */
    transfer: action(Strict({ call_ref: CallRef, to: E164, from_variable: Type.Optional(Type.Boolean()) }), Nothing, {
      timeout_ms: 20_000,
    }),
    /** Sends DTMF to the callee, where the conversation's own channel can't. VALIDATION_FAILED: the call is not in progress. */
    sendDtmf: action(Strict({ call_ref: CallRef, digits: Type.String({ pattern: "^[0-9*#w]{1,32}$" }) }), Nothing, {
      timeout_ms: 20_000,
    }),
    /** An XML-driven call has something to say at once: its carrier is made to ask for the document that follows this turn. VALIDATION_FAILED: the call is not in progress. */
    askAgain: action(
      Strict({ call_ref: CallRef, turn: Type.Integer({ minimum: 0, maximum: 1_000_000 }), language: Text(35) }),
      Nothing,
      { timeout_ms: 20_000, since: "0.3.0" },
    ),
    /** Internal: calls that count for their merchants' caps per callee, in order: how many in the last 24 hours and 7 days, but no more than the greater of the cap's numbers, and from when one more fits; null: now. */
    calleeCalls: action(
      Strict({
        callees: Type.Array(
          Strict({
            reseller_id: Text(64),
            merchant_id: Nullable(Text(64)),
            to: E164,
            max_calls_per_callee: CalleeCap,
          }),
          { minItems: 1, maxItems: 100 },
        ),
      }),
      Type.Object({
        callees: Type.Array(Type.Object({ day: Type.Integer(), week: Type.Integer(), free_at: Nullable(IsoTime) }), {
          maxItems: 100,
        }),
      }),
      { since: "0.3.0" },
    ),
    /** Internal: how many more calls fit under each of these ceilings, in order, and why none does. */
    spendRoom: action(SpendRoomAsked, SpendRooms, { since: "0.3.0" }),
    /** A session waits for its client: what a client joins it with. NOT_AVAILABLE where the deployment has no models for audio, BUSY where no conversation has room, SESSION_HELD by a spend ceiling. */
    openSession: action(SessionOrder, SessionAccess, { timeout_ms: 15_000, since: "0.3.0" }),
    /** The same for a session that waits or is under way already: what was given before is void, a client that is there gives way. SESSION_OVER, BUSY. */
    rejoinSession: action(Strict({ call_ref: CallRef, ...Via }), SessionAccess, { timeout_ms: 15_000, since: "0.3.0" }),
    /** Has a text spoken in a session that its client leads, by the node that has it. SESSION_NOT_LIVE: nobody has joined; SESSION_OVER; RATE_LIMITED. */
    speak: action(Strict({ call_ref: CallRef, ...SpeakFields }), SpokenStatus, { since: "0.3.0" }),
    /** Facts about an attempt whose lease ran out; may ask the carrier. */
    reconcile: action(Strict({ lead_id: Uuid, claim_no: Type.Integer({ minimum: 1 }) }), Verdict, {
      timeout_ms: 25_000,
    }),
    /** Inbound calls of the asker's numbers, accepted and blocked, newest first; `from` inclusive, `to` exclusive, by created_at. */
    inboundCalls: action(...inboundCallList),
    /** Internal, before the lead's scope is checked by its owner: where the recording of a carrier's call is; null: no call has this name. `key` is in the local folder or in the
     *  bucket (`where`), null while it is nowhere yet. */
    recordingOf: action(
      Strict({ call_id: Text(200) }),
      Type.Object({
        recording: Nullable(
          Type.Object({
            lead_id: Uuid,
            state: Type.Enum([...RECORDING_STATES]),
            key: Nullable(UpTo(300)),
            content_type: Nullable(UpTo(100)),
            bytes: Nullable(Type.Integer()),
            where: Nullable(Type.Enum([...RECORDING_PLACES])),
          }),
        ),
      }),
    ),
    /** The conversation has put its own recording into the local folder, at `key`. Idempotent. wanted false: the file is not needed and is to be removed: there is no such call, it is recorded by its carrier, or its recording is in the bucket already. VALIDATION_FAILED: the key is another call's. */
    recorded: action(OwnRecording, Type.Object({ wanted: Type.Boolean() })),
    /** The same of one that the conversation has put into the bucket. Idempotent. wanted false: the object is not needed and is to be removed. */
    recordedInCloud: action(OwnRecording, Type.Object({ wanted: Type.Boolean() }), { since: "0.3.0" }),
    /** Internal: erases all of a number and these leads (requests/erasures.ts), or ends what there is of a kind (requests/retention.ts). */
    eraseNumber: action(...eraseNumber, { timeout_ms: 30_000, since: "0.3.0" }),
    endRecords: action(...endRecords, { timeout_ms: 60_000, since: "0.3.0" }),
    /** Internal: writes what is about to end into the archive in the bucket; without entries it says whether that could be done (requests/archive.ts). NOT_AVAILABLE without S3_BUCKET. */
    archive: action(...archived, { timeout_ms: 60_000, since: "0.3.0" }),
    /** Internal, after the lead's scope was checked by its owner: its calls and their callbacks, oldest first; the newest 100 calls, 500 callbacks. */
    history: action(
      Strict({ lead_id: Uuid }),
      Type.Object({ calls: Type.Array(CallHistory), carrier_events: Type.Array(CarrierEventHistory) }),
    ),
  },
  events: {
    /** The carrier's side of a call ended, or none was placed for an attempt that was prepared: a hint for listeners. */
    "call.ended": Type.Object({ call_ref: CallRef }),
  },
};
