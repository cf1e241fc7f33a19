import type { ParamsOf } from "../../../shared/bus/bus.ts";
import { plusSeconds } from "../../../shared/time/clock.ts";
import { noFacts, type AttemptFacts } from "../../../shared/contracts/records/attempt.ts";
import type { Explanation } from "../../../shared/contracts/records/explanation.ts";
import { isSessionMode } from "../../../shared/contracts/records/lead.ts";
import { NEVER_AGES } from "../rules/faults.ts";
import { INBOUND_STATE } from "../rules/lead-state-machine.ts";
import type { LeadDoc, NewLead } from "../leads.model.ts";
import { claimed } from "../rules/lead-events.ts";
import { firstEvent } from "../rules/lead-transition.ts";
import { queueName } from "../rules/queue-names.ts";

/** An accepted inbound call. */
export type InboundCall = ParamsOf<"leads.receive">;

/** No retries: a failed inbound call is not called back. */
const NEVER_RETRIED = { max_retry: 0, retry_offset: 0, retry_on: [] };

/** Whether the lead is of a call that came in, which never waits, and so is never released; a visitor's session waits for its client. */
export const isInboundCall = ({
  call_direction,
  execution_mode,
}: Pick<LeadDoc, "call_direction" | "execution_mode">): boolean =>
  call_direction === "INBOUND" && !isSessionMode(execution_mode);

/** Longest request_id; the contract's. */
const MAX_REQUEST_ID = 200;

/** The document of an inbound lead: in its attempt from the first moment, never waiting, so never due. */
export function inboundDocument(p: InboundCall, now: Date): NewLead {
  const { lead_id, reseller_id, merchant_id, template_id, from, to, reporting_webhook_url } = p;
  const payload = {
    caller_number: from,
    called_number: to,
    ...(reporting_webhook_url === null ? {} : { reporting_webhook_url }),
  };
  const of = { merchant_id, template_id, configurations_override: null };
  return {
    _id: lead_id,
    reseller_id,
    ...of,
    template: p.template,
    request_id: `inbound:${p.call_id}`.slice(0, MAX_REQUEST_ID),
    queue: queueName({ _id: lead_id, ...of }, "reseller"),
    ...INBOUND_STATE,
    ...firstEvent(claimed(now, INBOUND_STATE.claim_no, p)),
    phone_number: from,
    payload,
    payload_bytes: Buffer.byteLength(JSON.stringify(payload)),
    execution_mode: "TELEPHONY",
    call_direction: "INBOUND",
    is_test: false,
    expiry_from: NEVER_AGES,
    lease_until: plusSeconds(now, p.lease_seconds),
    attempt: {
      number_id: p.number_id,
      provider: p.provider,
      template_version: p.template_version,
      policy: NEVER_RETRIED,
      claimed_at: now,
    },
    held: null,
    call_id: p.call_id,
    call_initiated_time: now,
    call_end_time: null,
    recording_url: null,
    outbound_number_id: p.number_id,
    costs: {},
    trace_scores: {},
    meta: {},
    created_at: now,
    updated_at: now,
    finished_at: null,
    history: [
      {
        event: "received",
        at: now,
        details: {
          claim_no: INBOUND_STATE.claim_no,
          provider: p.provider,
          number_id: p.number_id,
          template_version: p.template_version,
          call_id: p.call_id,
        },
      },
    ],
  };
}

/** Facts of an inbound call whose process died before it recorded any: the caller got no answer. */
export const lostFacts = (): AttemptFacts => ({
  ...noFacts("failed"),
  error: { code: "INBOUND_LOST", message: "The process that took the call went silent before the call was connected." },
});

/** Why an inbound lead is not called: inbound leads are never dialled. */
export function explainInbound(
  { _id, status, outcome }: Pick<LeadDoc, "_id" | "status" | "outcome">,
  at: string,
): Explanation {
  const under_way = status === "PROCESSING" ? "the call is under way" : "nobody has joined its session";
  const now = status === "FINISHED" ? `the lead is finished${outcome ? ` (${outcome})` : ""}` : under_way;
  const detail = `The customer called us, so the lead is inbound and never dialled; ${now}.`;
  return {
    lead_id: _id,
    at,
    status,
    eligible: false,
    next_eligible_at: null,
    summary: detail,
    gates: [
      { gate: "status", verdict: "drop", detail, values: { status, outcome, call_direction: "INBOUND" }, until: null },
    ],
  };
}
