import type { ParamsOf, ResultOf } from "../../../shared/bus/bus.ts";
import { plusSeconds } from "../../../shared/time/clock.ts";
import { scopeOf, type By } from "../../../shared/contracts/records/identity.ts";
import { DIALLED_MODES, isSessionMode, type ExecutionMode } from "../../../shared/contracts/records/lead.ts";
import { QUEUED_STATE } from "../rules/lead-state-machine.ts";
import { queued } from "../rules/lead-events.ts";
import { firstEvent, queuedHistory } from "../rules/lead-transition.ts";
import type { LeadDoc, NewLead } from "../leads.model.ts";
import { expiryFrom } from "../rules/faults.ts";
import { keptOverride, leftOutMeta, leftOutSentence } from "./playground-override.ts";
import { queueName } from "../rules/queue-names.ts";

/** A lead as it is pushed. */
export type PushedLead = ParamsOf<"leads.push">["lead"];
/** Its template as the config service resolves it. */
export type ResolvedTemplate = ResultOf<"config.resolveForPush">;

/** The payload's field with the number to dial. */
export const PHONE = "customer_mobile_number";

/** The merchant a push is for: the one it names, else the asker's own. */
export const merchantOf = (by: By, lead: PushedLead): string | undefined =>
  lead.merchant_id ?? scopeOf(by).merchant_id ?? undefined;

/** Until when a client may join the session of a lead. */
const joinBy = ({ rtc_join_timeout_seconds, max_age_seconds }: ResolvedTemplate, now: Date): Date =>
  plusSeconds(now, Math.min(rtc_join_timeout_seconds ?? max_age_seconds, max_age_seconds));

/** The document of a pushed lead. Only leads with a number and a dialled mode become due. */
export function documentOf(
  id: string,
  merchant_id: string | null,
  lead: PushedLead,
  template: ResolvedTemplate,
  phone: string | null,
  now: Date,
): NewLead {
  const mode: ExecutionMode = lead.execution_mode ?? "TELEPHONY";
  const due_at = phone !== null && DIALLED_MODES.includes(mode) ? plusSeconds(now, template.initial_offset ?? 0) : null;
  const playground = lead.is_playground === true;
  const payload = {
    ...lead.payload,
    ...(phone ? { [PHONE]: phone } : {}),
    ...(lead.reporting_webhook_url ? { reporting_webhook_url: lead.reporting_webhook_url } : {}),
  };
  const { override: configurations_override, left_out } = keptOverride(lead, template);
  const of = {
    merchant_id: template.merchant_id ?? merchant_id,
    template_id: template.template_id,
    configurations_override,
    phone_number: phone,
  };
  return {
    _id: id,
    reseller_id: lead.reseller_id,
    ...of,
    template: template.name,
    request_id: lead.request_id,
    queue: queueName({ _id: id, ...of }, template.merchant_id === null ? "reseller" : "merchant"),
    ...QUEUED_STATE,
    ...firstEvent(queued(now, "pushed", due_at)),
    payload,
    payload_bytes: Buffer.byteLength(JSON.stringify(payload)),
    execution_mode: mode,
    call_direction: "OUTBOUND",
    is_test: playground || mode.endsWith("_TEST"),
    ...(due_at ? { due_at } : {}),
    ...(isSessionMode(mode) ? { join_by: joinBy(template, now) } : {}),
    expiry_from: expiryFrom({ phone_number: phone, execution_mode: mode, created_at: now }),
    attempt: null,
    held: null,
    call_id: null,
    call_initiated_time: null,
    call_end_time: null,
    recording_url: null,
    outbound_number_id: null,
    costs: {},
    trace_scores: {},
    meta: leftOutMeta(left_out),
    created_at: now,
    updated_at: now,
    finished_at: null,
    history: [queuedHistory(now, due_at, mode)],
  };
}

/** The same lead by another id, which its own queue is named after. */
export const withId = (doc: NewLead, id: string): NewLead => ({
  ...doc,
  _id: id,
  queue: doc.configurations_override ? queueName({ ...doc, _id: id }, "merchant") : doc.queue,
});

/** The message of the answer for a queued lead; it depends on nothing but the lead. */
export function messageFor(doc: Pick<LeadDoc, "due_at" | "join_by" | "phone_number" | "meta">): string {
  const left_out = leftOutSentence(doc.meta);
  if (doc.due_at) return `The lead is queued.${left_out}`;
  if (doc.join_by) return `The lead is queued and waits until a client joins its session.${left_out}`;
  if (!doc.phone_number)
    return `The lead is queued, but its payload has no ${PHONE}: there is no number to dial, so it stays in BACKLOG.${left_out}`;
  return `The lead is queued and waits until a client joins its session.${left_out}`;
}
