import { action, IsoTime, Json, Nullable, Strict, Text, Type, Uuid } from "./define.ts";
import { AttemptFacts } from "./attempt.ts";
import { By, PageParams } from "./identity.ts";
import { AttemptPlan, ClaimedLead, DueLead, EXECUTION_MODES, LEAD_STATUSES, LeadRecord, LeadSummary } from "./lead.ts";

const Baton = { lead_id: Uuid, claim_no: Type.Integer({ minimum: 1 }) };
const Seen = { lead_id: Uuid, due_at: IsoTime };
const Done = Type.Object({ done: Type.Boolean() });
const Lease = Type.Integer({ minimum: 1, maximum: 20_000 });

/** Body of POST /leads (4.2). */
export const PushInput = Strict({
  request_id: Text(200), template_id: Text(64), payload: Json, reseller_id: Text(64), merchant_id: Type.Optional(Text(64)),
  reporting_webhook_url: Type.Optional(Type.String({ minLength: 1, maxLength: 2000 })), execution_mode: Type.Optional(Type.Enum([...EXECUTION_MODES])),
  is_playground: Type.Optional(Type.Boolean()), configurations_override: Type.Optional(Json),
});

/** Leads: the queue, the machine, the record. A move answers done: false when the race was lost, which is no fault. */
export const leads = {
  name: "leads",
  actions: {
    /** TEMPLATE_UNKNOWN, TEMPLATE_NOT_FOUND, PAYLOAD_INVALID, INVALID_PHONE_NUMBER, NUMBER_BLACKLISTED, FORBIDDEN, STORE_UNAVAILABLE. */
    push: action(Strict({ by: By, lead: PushInput }),
      Type.Object({ status: Type.Literal("queued"), lead_call_tracker_id: Uuid, order_id: Type.String(), message: Type.String() })),
    /** LEAD_NOT_FOUND when it is unknown or foreign. */
    get: action(Strict({ by: By, lead_id: Text(64) }), LeadRecord),
    /** LEAD_NOT_FOUND when there is none in the asker's scope. */
    byRequest: action(Strict({ by: By, request_id: Text(200) }),
      Type.Object({ request_id: Type.String(), count: Type.Integer(), leads: Type.Array(LeadSummary) })),
    list: action(
      Strict({
        by: By, status: Type.Optional(Type.Enum([...LEAD_STATUSES])), outcome: Type.Optional(Text(64)), template_id: Type.Optional(Text(64)),
        merchant_id: Type.Optional(Text(64)), include_test: Type.Optional(Type.Boolean()), ...PageParams,
      }),
      Type.Object({ count: Type.Integer(), leads: Type.Array(LeadSummary), next_cursor: Nullable(Type.String()) })),
    abort: action(
      Strict({ by: By, leads: Type.Array(Strict({ lead_id: Text(64), cancellation_reason: Text(2000) }), { minItems: 1, maxItems: 1000 }) }),
      Type.Object({ leads: Type.Array(Type.Object({ id: Type.String(), status: Type.Enum(["success", "already_aborted", "processing", "error"]), message: Type.String() })) })),

    /** Internal: whether any lead of this reseller (and merchant, and template) is not FINISHED yet. */
    unfinished: action(
      Strict({ reseller_id: Text(64), merchant_id: Type.Optional(Text(64)), template_id: Type.Optional(Text(64)) }), Type.Object({ any: Type.Boolean() })),
    /** Internal, read only: leads whose time has come, the longest waiting first. */
    due: action(Strict({ limit: Type.Integer({ minimum: 1, maximum: 500 }) }), Type.Object({ leads: Type.Array(DueLead) })),
    /** Internal: held-back leads get a later due time; no attempt is spent. Guard: status and due_at as seen. */
    defer: action(Strict({ items: Type.Array(Strict({ ...Seen, until: IsoTime, why: Text(64) }), { maxItems: 500 }) }), Type.Object({ deferred: Type.Integer() })),
    /** Internal: a lead that must not be dialled ends with this outcome. Guard: not claimed, due_at as seen. */
    drop: action(Strict({ ...Seen, outcome: Type.Enum(["BLACKLISTED", "EXPIRED", "INTERNATIONAL_BLOCKED", "NUMBER_UNAVAILABLE", "failed"]), reason: Text(500) }), Done),
    /** Internal: compare-and-set into PROCESSING; null: the race was lost. `claim_no` is the one seen, the claim raises it. */
    claim: action(Strict({ ...Seen, claim_no: Type.Integer({ minimum: 0 }), lease_seconds: Lease, attempt: AttemptPlan }), Nullable(ClaimedLead)),
    /** Internal: keeps the lease alive; done false: the baton is lost, stop. */
    extend: action(Strict({ ...Baton, lease_seconds: Lease }), Done),
    /** Internal: gives a lead back that provably rang nowhere; the attempt is not spent. */
    release: action(Strict({ ...Baton, due_at: IsoTime, reason: Text(200) }), Done),
    /** Internal: ends the attempt; decides RETRY or FINISHED once, by settling.ts. */
    settle: action(Strict({ ...Baton, facts: AttemptFacts }), Type.Object({ done: Type.Boolean(), status: Nullable(Type.Enum([...LEAD_STATUSES])), outcome: Nullable(Type.String()) })),
    /** Internal: facts that come early or late (call id, cost, times); never touches status. */
    annotate: action(
      Strict({
        ...Baton, call_id: Type.Optional(Type.String()), call_initiated_time: Type.Optional(IsoTime), call_end_time: Type.Optional(IsoTime),
        cost: Type.Optional(Type.Number()), cost_breakdown: Type.Optional(Json), recording_url: Type.Optional(Type.String()),
      }), Done),
  },
  events: {
    "lead.queued": Type.Object({ lead_id: Uuid, due_at: Nullable(IsoTime) }),
    "lead.finished": Type.Object({ lead_id: Uuid, outcome: Type.String() }),
  },
};

