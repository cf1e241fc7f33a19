import type { AttemptFacts } from "../../shared/contracts/records/attempt.ts";
import { callRef } from "../../shared/ids.ts";
import { attemptKey } from "../../shared/tracing/spans.ts";
import type { NewTrace, Tracer } from "../../shared/tracing/tracer.ts";
import type { LeadDoc, LeadState } from "./leads.model.ts";
import type { ClaimedDoc, FinishedDoc } from "./lists/lead-views.ts";

/** The spans of a lead that its own service sends (shared/tracing/spans.ts). */

/** The lead was made by a push, or by a call that came in. */
export const tracePush = (
  traces: Tracer,
  begun: NewTrace | undefined,
  lead: Pick<LeadDoc, "_id" | "reseller_id" | "merchant_id" | "template_id" | "execution_mode">,
  began: Date,
  ended: Date,
): void => {
  if (!begun) return;
  traces.root(begun, {
    name: "lead.push",
    began,
    ended,
    attributes: {
      lead_id: lead._id,
      reseller_id: lead.reseller_id,
      merchant_id: lead.merchant_id ?? undefined,
      template_id: lead.template_id,
      mode: lead.execution_mode,
    },
  });
};

/** The lead waited from when it was due until this claim. */
export const traceWait = (
  traces: Tracer,
  lead: Pick<ClaimedDoc, "_id" | "claim_no" | "trace">,
  due_at: Date,
  now: Date,
): void =>
  traces.span(lead.trace, {
    name: "lead.queued",
    key: `queued ${callRef(lead._id, lead.claim_no)}`,
    began: due_at,
    ended: now,
    attributes: { lead_id: lead._id, claim_no: lead.claim_no },
  });

/** How an attempt ended. `outcome` null: it was released, for the reason of `error` if that is known. */
interface AttemptEnd {
  outcome: string | null;
  facts?: AttemptFacts;
  error?: string | undefined;
}

/** An attempt is over. */
export const traceAttempt = (
  traces: Tracer,
  { _id, claim_no, trace, attempt }: LeadState,
  { outcome, facts, error }: AttemptEnd,
  now: Date,
): void =>
  traces.span(trace, {
    name: "lead.attempt",
    key: attemptKey(callRef(_id, claim_no)),
    began: attempt?.claimed_at ?? now,
    ended: now,
    attributes: {
      lead_id: _id,
      claim_no,
      provider: attempt?.provider ?? undefined,
      ended: facts?.ended,
      outcome: outcome ?? undefined,
    },
    error,
  });

/** The lead has its outcome. */
export const traceFinish = (traces: Tracer, { _id, trace, outcome, attempt_count }: FinishedDoc, now: Date): void =>
  traces.span(trace, {
    name: "lead.finished",
    key: "finished",
    began: now,
    ended: now,
    attributes: { lead_id: _id, outcome: outcome ?? undefined, attempts: attempt_count },
  });
