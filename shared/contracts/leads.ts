import { action, described, E164, Id, IsoTime, Json, Nullable, Strict, Text, Type, UpTo, Uuid } from "./define.ts";
import { eventActions, MAX_LEADS_OWED, MAX_RESELLERS_TOLD } from "./events/event-actions.ts";
import { AttemptFacts, PlacedCall } from "./records/attempt.ts";
import { ProviderEnum } from "./records/configuration.ts";
import { StoredRecording } from "./records/recording-states.ts";
import { erasureList, newErasure, oneErasure } from "./requests/erasures.ts";
import { legalHoldList, liftedLegalHold, newLegalHold, oneLegalHold } from "./requests/legal-holds.ts";
import { LateFacts } from "./requests/late-facts.ts";
import { newRetention, oneRetention, retentionDryRun } from "./requests/retention.ts";
import { By } from "./records/identity.ts";
import { Explanation } from "./records/explanation.ts";
import { AttemptPlan, ClaimedLead, DueLead, LeadRecord, LeadStatusEnum, QueueHead } from "./records/lead.ts";
import {
  DoorKey,
  DoorVariables,
  JoinedSession,
  JoinLink,
  linkLook,
  SpeakFields,
  SpokenStatus,
} from "./records/session.ts";
import { BatchKey, IdempotencyKey, PushInput } from "./records/pushed-lead.ts";
import { Pushed, PushOutcome, Reached } from "./records/lead-views.ts";
import { Traceparent } from "./requests/trace-headers.ts";
import { abort, leadList, leadsOfRequest, OneLead, resume, summaryOf, timeline } from "./requests/lead-requests.ts";

const AttemptLease = { lead_id: Uuid, claim_no: Type.Integer({ minimum: 1 }) };
const Seen = { lead_id: Uuid, due_at: IsoTime };
const Done = Type.Object({ done: Type.Boolean() });
const Renewed = Type.Object({ done: Type.Boolean(), outcome: Type.Optional(Nullable(UpTo(64))) });
const Lease = Type.Integer({ minimum: 1, maximum: 20_000 });

/** Leads: queue, state machine, record. A transition answers `done`: false when the race was lost, which is no error. */
export const leads = {
  name: "leads",
  actions: {
    /** TEMPLATE_UNKNOWN, TEMPLATE_NOT_FOUND, TEMPLATE_INACTIVE, VALIDATION_FAILED, PAYLOAD_INVALID, INVALID_PHONE_NUMBER, NUMBER_BLACKLISTED, FORBIDDEN, STORE_UNAVAILABLE.
     *  The same `idempotency_key` of the same asker within 24 h: with the same lead the first answer, replayed; with another one IDEMPOTENCY_KEY_REUSED.
     *  Failures are not stored. DUPLICATE_REQUEST: the configuration refuses a request_id that was pushed before. */
    push: action(
      Strict({
        by: By,
        lead: PushInput,
        idempotency_key: Type.Optional(IdempotencyKey),
        traceparent: Type.Optional(Traceparent),
      }),
      Pushed,
    ),
    /** Many pushes, each row judged by itself; `results` in the rows' order. A refused row has the code and errors that push would fail with; the key holds for
     *  each row in its place. `replayed`: every row that is queued was so before. */
    pushMany: action(
      Strict({
        by: By,
        rows: described("The leads to push.", Type.Array(Type.Unknown(), { maxItems: 500 })),
        idempotency_key: Type.Optional(BatchKey),
        traceparent: Type.Optional(Traceparent),
      }),
      Type.Object({
        results: described("One result for each row, in their order.", Type.Array(PushOutcome)),
        replayed: Type.Optional(Type.Boolean()),
      }),
      { timeout_ms: 30_000 },
    ),
    /** LEAD_NOT_FOUND when it is unknown or foreign. */
    get: action(Strict(OneLead), LeadRecord),
    /** Newest first: a page where a `limit` is named, else the newest 1,000, or as many as fit into a message. LEAD_NOT_FOUND: there is none in the asker's scope. */
    byRequest: action(...leadsOfRequest),
    /** Newest first; `from` inclusive, `to` exclusive, by created_at. Without include_test no playground and test leads. INVALID_PHONE_NUMBER. */
    list: action(...leadList),
    /** Everything recorded of a lead, in order of time. LEAD_NOT_FOUND. */
    timeline: action(...timeline),
    /** Figures of the leads created in a period, test and playground leads left out: `from` inclusive, default 30 days before `to`; `to` exclusive, default now.
     *  VALIDATION_FAILED for more than 366 days. */
    summary: action(...summaryOf, { timeout_ms: 20_000 }),
    /** Why a lead has not been called yet, judged by the scheduler's own gates now or at another instant. LEAD_NOT_FOUND. */
    explain: action(
      Strict({ ...OneLead, at: Type.Optional(described("The instant to judge for. Left out: now.", IsoTime)) }),
      Explanation,
    ),
    /** What a client joins the session of an RTC lead with, for one use within two minutes; again: what was given before is void, and a client that is there gives way. LEAD_NOT_FOUND;
     *  WRONG_MODE: the lead is dialled; SESSION_OVER; SESSION_HELD: a gate holds it, the detail says which; NUMBER_BLACKLISTED; BUSY: no place is free; NOT_AVAILABLE: the deployment has no models for audio. */
    join: action(Strict(OneLead), JoinedSession, { timeout_ms: 20_000 }),
    /** A link by which a person without a token joins the session of a lead, until its time to be joined is over; the link before is void. LEAD_NOT_FOUND, WRONG_MODE, SESSION_OVER. */
    joinLink: action(Strict(OneLead), JoinLink, { since: "0.3.0" }),
    /** Internal, read only: what the page behind a link says before its button is pressed. `refused`: joining is, and will be; null: the button may be pressed. `name`: whose conversation it is; null: not known. */
    lookAtLink: action(...linkLook, { since: "0.3.0" }),
    /** From the page behind a link, asked by its button: as `join`, for one tab. `resume`: the secret that this tab got, by which it comes back. `livekit`: the page can be in a LiveKit room; else it
     *  comes by WebSocket, whatever the deployment has. LEAD_NOT_FOUND; SESSION_TAKEN: another tab has joined. */
    joinByLink: action(
      Strict({ link: Text(64), resume: Type.Optional(Text(64)), livekit: Type.Optional(Type.Boolean()) }),
      Type.Object({ ...JoinedSession.properties, resume: UpTo(64) }),
      { timeout_ms: 20_000, since: "0.3.0" },
    ),
    /** A visitor of a website calls through a door: an inbound lead whose session waits for this visitor, by a link and the secret that `joinByLink` takes as `resume`. DOOR_NOT_FOUND; FORBIDDEN: another
     *  website; PAYLOAD_INVALID; RATE_LIMITED; SESSION_HELD: a gate holds it; BUSY: no place is free; NOT_AVAILABLE. */
    callByDoor: action(
      Strict({ key: DoorKey, origin: Text(300), variables: DoorVariables }),
      Type.Object({ ...JoinLink.properties, resume: UpTo(64) }),
      { timeout_ms: 20_000, since: "0.3.0" },
    ),
    /** Has a text spoken in an RTC_STREAM session. LEAD_NOT_FOUND; WRONG_MODE; SESSION_NOT_LIVE: nobody has joined yet; SESSION_OVER; RATE_LIMITED: too many texts wait. */
    speak: action(Strict({ ...OneLead, ...SpeakFields }), SpokenStatus),
    /** Where the recording of a call is, by the call_id of its lead; its bytes are read there. RECORDING_NOT_FOUND, RECORDING_NOT_READY, RECORDING_FAILED. */
    recording: action(
      Strict({ by: By, call_sid: described("The call_id of the lead.", Type.String({ maxLength: 300 })) }),
      StoredRecording,
    ),
    /** The same for the tab that held the session of a link, `resume` its secret: of test sessions, for an hour after their end. As `recording`; LEAD_NOT_FOUND: another link or tab; FORBIDDEN: no
     *  test session, or over for longer. */
    recordingByLink: action(
      Strict({ link: Text(64), resume: Text(64) }),
      Type.Object({ ...StoredRecording.properties, call_id: UpTo(200) }),
      { since: "0.3.0" },
    ),
    abort: action(...abort),

    /** Makes parked leads of the asker's scope due now, those named or those of a template, at most 10,000; `more`: there are others. One that is not parked, or is being tried, is not counted.
     *  VALIDATION_FAILED where neither is named. */
    resume: action(...resume, { timeout_ms: 30_000, since: "0.3.0" }),

    /** Internal, read only: parked leads, counted up to 10,000, and the commonest code of their faults. */
    parked: action(Strict({}), Type.Object({ count: Type.Integer(), code: Nullable(UpTo(64)) }), { since: "0.3.0" }),
    /** Internal: whether any lead of this reseller (and merchant, and template) is not FINISHED yet. */
    unfinished: action(
      Strict({ reseller_id: Text(64), merchant_id: Type.Optional(Text(64)), template_id: Type.Optional(Text(64)) }),
      Type.Object({ any: Type.Boolean() }),
    ),
    /** Internal, read only: queues whose first lead is due by `until`, in the order of their names from `after` on, as many as fit into a message; costs by queues, not by leads.
     *  `own`: playground leads' own queues. `by_reference`: their configurations are left out, `override_of` stands for them. `next`: where to go on; null: that was all. */
    heads: action(
      Strict({
        until: IsoTime,
        own: Type.Boolean(),
        after: Nullable(Text(64)),
        limit: Type.Integer({ minimum: 1, maximum: 1000 }),
        by_reference: Type.Optional(Type.Boolean()),
      }),
      Type.Object({ heads: Type.Array(QueueHead), next: Nullable(UpTo(110)) }),
    ),
    /** Internal, read only: the first leads of these queues that are due by `until` (which may lie a little ahead), each queue's longest waiting first. With `by_reference` the
     *  configurations of playground leads are left out, and the answer ends where a message is full: `read` of the queues are in it. */
    dueOf: action(
      Strict({
        queues: Type.Array(Strict({ queue: Text(64), limit: Type.Integer({ minimum: 1, maximum: 500 }) }), {
          maxItems: 500,
        }),
        until: IsoTime,
        by_reference: Type.Optional(Type.Boolean()),
      }),
      Type.Object({ leads: Type.Array(DueLead), read: Type.Optional(Type.Integer()) }),
    ),
    /** Internal: waiting leads whose queue has callees in other time zones than theirs go into the right one (those of 0.2.0, or of an older table of zones). `moved`: how many did. */
    requeue: action(
      Strict({ lead_ids: Type.Array(Uuid, { minItems: 1, maxItems: 500 }) }),
      Type.Object({ moved: Type.Integer() }),
      { since: "0.3.0" },
    ),
    /** Internal, read only: what a playground lead changes of its template's configuration; null: nothing, or there is no such lead. */
    overrideOf: action(Strict({ lead_id: Uuid }), Type.Object({ override: Nullable(Json) }), { since: "0.3.0" }),
    /** Internal: takes leads into PROCESSING, each by compare-and-set; null where the race was lost. `claim_no` is the one seen, the claim raises it. */
    claimMany: action(
      Strict({
        lease_seconds: Lease,
        items: Type.Array(Strict({ ...Seen, claim_no: Type.Integer({ minimum: 0 }), attempt: AttemptPlan }), {
          maxItems: 500,
        }),
      }),
      Type.Object({ claimed: Type.Array(Nullable(ClaimedLead)) }),
    ),
    /** Internal: leads in dialling or in conversation, by template. */
    inFlight: action(
      Strict({}),
      Type.Object({
        total: Type.Integer(),
        templates: Type.Array(Type.Object({ template_id: Uuid, count: Type.Integer() })),
      }),
    ),
    /** Internal: templates with unfinished leads, in the order of their ids behind `after`, and from when the age of their oldest lead counts. `next`: where to go on; null: that was all. */
    aging: action(
      Strict({ after: Nullable(Type.String({ maxLength: 64 })), limit: Type.Integer({ minimum: 1, maximum: 500 }) }),
      Type.Object({
        templates: Type.Array(Type.Object({ template_id: Uuid, expiry_from: IsoTime }), { maxItems: 500 }),
        next: Nullable(Id),
      }),
      { since: "0.3.0" },
    ),
    /** Internal: waiting leads of a template whose age counts from before then end EXPIRED, at most `limit` per request. */
    expire: action(
      Strict({
        template_id: Uuid,
        created_before: IsoTime,
        reason: Text(500),
        limit: Type.Integer({ minimum: 1, maximum: 500 }),
      }),
      Type.Object({ expired: Type.Integer() }),
    ),
    /** Internal: a lead that must not be dialled ends with this outcome. Guard: not claimed, due_at as read. */
    drop: action(
      Strict({
        ...Seen,
        outcome: Type.Enum(["BLACKLISTED", "EXPIRED", "INTERNATIONAL_BLOCKED", "NUMBER_UNAVAILABLE", "failed"]),
        reason: Text(500),
      }),
      Done,
    ),
    /** Internal: answers where the database does (STORE_UNAVAILABLE), with the deployment's time and how far the database's clock is ahead, while that is held off. `extend` renews the lease; done false: the lease is lost, stop; `outcome`: the lead's. `answered`: the asker's conversation begins; `placed`: in the call that the lead may not have been told of. */
    reachable: action(Strict({}), Reached, { since: "0.3.0" }),
    extend: action(
      Strict({
        ...AttemptLease,
        lease_seconds: Lease,
        answered: Type.Optional(Type.Boolean()),
        placed: Type.Optional(PlacedCall),
      }),
      Renewed,
    ),
    /** Internal: releases a lead whose attempt provably rang nowhere; the attempt is not spent. `fault`: a technical fault with this code was the cause; the lead comes back after a pause that grows with the faults in a row, not at `due_at`, and is parked after several of them. */
    release: action(
      Strict({
        ...AttemptLease,
        due_at: IsoTime,
        reason: Text(200),
        fault: Type.Optional(Text(64)),
        /** A pre-check deferred it: the count of its name rises, and the results so far are kept. */
        pre_check: Type.Optional(Strict({ name: Text(200), results: Type.Array(Json, { maxItems: 100 }) })),
      }),
      Done,
    ),
    /** Internal: ends the attempt; decides RETRY or FINISHED once (services/leads/rules/settlement.ts). `end_call`: the end of its call is owed. `placed`: the call, which the lead may not have been told of. */
    settle: action(
      Strict({
        ...AttemptLease,
        facts: AttemptFacts,
        end_call: Type.Optional(Type.Boolean()),
        placed: Type.Optional(PlacedCall),
      }),
      Type.Object({
        done: Type.Boolean(),
        status: Nullable(LeadStatusEnum),
        outcome: Nullable(UpTo(64)),
      }),
    ),
    /**
     * Internal: a lead for an inbound call, in its only attempt from the start; the caller of the action owns its lease. The same lead_id again
     * makes no second one (made: false).
     */
    receive: action(
      Strict({
        lead_id: Uuid,
        call_id: Text(300),
        provider: ProviderEnum,
        number_id: Uuid,
        reseller_id: Text(64),
        merchant_id: Nullable(Text(64)),
        template_id: Uuid,
        template: Text(200),
        template_version: Type.Integer({ minimum: 1 }),
        /** The caller, null when withheld; our number. */
        from: Nullable(E164),
        to: E164,
        reporting_webhook_url: Nullable(Text(2000)),
        lease_seconds: Lease,
      }),
      Type.Object({ lead_id: Uuid, claim_no: Type.Integer(), made: Type.Boolean() }),
    ),
    ...eventActions,
    /** Refuses a number from now on, and begins to erase all that is known of it. INVALID_PHONE_NUMBER, FORBIDDEN, RESELLER_NOT_FOUND, NOT_AVAILABLE without ERASURE_KEY, LEGAL_HOLD. The same number again while it is under way: the same erasure. */
    createErasure: action(...newErasure, { timeout_ms: 15_000, since: "0.3.0" }),
    /** ERASURE_NOT_FOUND where it is unknown or foreign. */
    getErasure: action(...oneErasure, { since: "0.3.0" }),
    listErasures: action(...erasureList, { since: "0.3.0" }),
    /** How long the records of a reseller are kept. FORBIDDEN, RESELLER_NOT_FOUND. */
    getRetention: action(...oneRetention, { since: "0.3.0" }),
    /** Sets it as a whole; the first run begins at once. VALIDATION_FAILED: something would outlive its lead. FORBIDDEN, RESELLER_NOT_FOUND. */
    setRetention: action(...newRetention, { since: "0.3.0" }),
    /** What would end now, with the periods given or else with those that are set; changes nothing. VALIDATION_FAILED, FORBIDDEN, RESELLER_NOT_FOUND. */
    dryRunRetention: action(...retentionDryRun, { timeout_ms: 20_000, since: "0.3.0" }),
    /** Keeps all of a reseller, or one number of it, from being ended and erased. FORBIDDEN, INVALID_PHONE_NUMBER, RESELLER_NOT_FOUND. */
    putLegalHold: action(...newLegalHold, { since: "0.3.0" }),
    /** One that is lifted already stays as it is. FORBIDDEN, LEGAL_HOLD_NOT_FOUND. */
    liftLegalHold: action(...liftedLegalHold, { since: "0.3.0" }),
    /** FORBIDDEN, LEGAL_HOLD_NOT_FOUND. */
    getLegalHold: action(...oneLegalHold, { since: "0.3.0" }),
    listLegalHolds: action(...legalHoldList, { since: "0.3.0" }),
    /** Internal: facts that come early or late (call id, cost, times); never touches status. */
    annotate: action(Strict({ ...AttemptLease, ...LateFacts }), Done),
  },
  events: {
    /** A lead waits: pushed, released or due for a retry. */
    "lead.queued": Type.Object({ lead_id: Uuid, queue: Type.Optional(UpTo(110)), due_at: Nullable(IsoTime) }),
    "lead.finished": Type.Object({ lead_id: Uuid, outcome: UpTo(64) }),
    /** These leads have events that are not in the log yet, or, without ids, some have; to whoever publishes. */
    "events.owed": Type.Object({ lead_ids: Type.Optional(Type.Array(Text(80), { maxItems: MAX_LEADS_OWED })) }),
    /** There are further events in the log, up to this position; of these resellers, or, without `resellers`, of any. */
    "events.published": Type.Object({
      position: Type.Integer(),
      resellers: Type.Optional(Type.Array(Id, { maxItems: MAX_RESELLERS_TOLD })),
    }),
  },
};
