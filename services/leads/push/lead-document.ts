import type { ParamsOf, ResultOf } from "../../../shared/bus.ts";
import { plusSeconds } from "../../../shared/clock.ts";
import { inScope, scopeOf, type By } from "../../../shared/contracts/identity.ts";
import { DIALLED_MODES, type ExecutionMode } from "../../../shared/contracts/lead.ts";
import { fail } from "../../../shared/errors.ts";
import { toE164 } from "../../../shared/phone.ts";
import { QUEUED, queued } from "../rules/lead-state-machine.ts";
import type { LeadDoc } from "../leads.model.ts";
import { queueName } from "../rules/queue-names.ts";

/** A pushed lead as it came in. */
export type Input = ParamsOf<"leads.push">["lead"];
/** Its template as the config service knows it. */
export type Resolved = ResultOf<"config.resolveForPush">;

const PHONE = "customer_mobile_number";

/** Whether a key anywhere in the value holds a NUL, which no document can have. */
export const hasNulKey = (value: unknown): boolean => {
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.some(hasNulKey);
  return Object.entries(value).some(([key, inner]) => key.includes("\0") || hasNulKey(inner));
};

/** What can be said of a push without asking anybody: FORBIDDEN outside the asker's scope, VALIDATION_FAILED, PAYLOAD_INVALID. */
export function checkAsked(by: By, lead: Input): void {
  const scope = scopeOf(by);
  if (scope.reseller_id !== null && scope.reseller_id !== lead.reseller_id)
    fail("FORBIDDEN", "reseller_id names another reseller than your token's; push with a token of that reseller");
  if (scope.merchant_id !== null && lead.merchant_id !== undefined && scope.merchant_id !== lead.merchant_id) {
    fail("FORBIDDEN", "merchant_id names another merchant than your token's; push with a token of that merchant");
  }
  if (Object.hasOwn(lead.payload, "reporting_webhook_url")) {
    fail("VALIDATION_FAILED", "reporting_webhook_url belongs beside payload, not inside it", {
      errors: [{ path: "payload.reporting_webhook_url", message: "move it out of payload" }],
    });
  }
  for (const field of ["payload", "configurations_override"] as const) {
    if (hasNulKey(lead[field]))
      fail("PAYLOAD_INVALID", `${field} has a key with a NUL character in it; remove it`, {
        errors: [{ path: field, message: "has a key with a NUL character in it" }],
      });
  }
}

/** The merchant a push is for: the one it names, else the asker's own. */
export const merchantOf = (by: By, lead: Input): string | undefined =>
  lead.merchant_id ?? scopeOf(by).merchant_id ?? undefined;

/** What the config service is asked for a push. */
export function questionOf(by: By, lead: Input): ParamsOf<"config.resolveForPush"> {
  const merchant_id = merchantOf(by, lead);
  return {
    template_id: lead.template_id,
    reseller_id: lead.reseller_id,
    ...(merchant_id ? { merchant_id } : {}),
    payload: lead.payload,
  };
}

/** Whether the asker may use the template. TEMPLATE_NOT_FOUND. */
export function checkTemplate(by: By, resolved: Resolved): void {
  if (!inScope(scopeOf(by), resolved))
    fail("TEMPLATE_NOT_FOUND", "template_id does not exist under this reseller and merchant");
}

/** The number to dial: null when the key is missing, which the contract accepts; a value that is no phone number is refused. */
export function phoneOf(payload: Record<string, unknown>): string | null {
  if (!Object.hasOwn(payload, PHONE)) return null;
  const value = payload[PHONE];
  const phone = typeof value === "string" ? toE164(value) : null;
  return (
    phone ??
    fail(
      "INVALID_PHONE_NUMBER",
      `payload.${PHONE} is not a valid phone number; send it in E.164, for example +14155550100`,
      { errors: [{ path: `payload.${PHONE}`, message: "must be a phone number in E.164, for example +14155550100" }] },
    )
  );
}

/** NUMBER_BLACKLISTED, when it is so. */
export function checkListed(listed: boolean | undefined): void {
  if (listed)
    fail("NUMBER_BLACKLISTED", `payload.${PHONE} is on the blacklist; it is not called and the lead was not queued`);
}

/** WEBHOOK_ADDRESS_REFUSED, when there is a reason. */
export function checkRefusal(refusal: string | null | undefined): void {
  if (refusal)
    fail("WEBHOOK_ADDRESS_REFUSED", `reporting_webhook_url can't be used: ${refusal}`, {
      errors: [{ path: "reporting_webhook_url", message: refusal }],
    });
}

/** The document of a pushed lead. Only leads with a number and a dialled mode become due. */
export function documentOf(
  id: string,
  by: By,
  lead: Input,
  resolved: Resolved,
  phone: string | null,
  now: Date,
): LeadDoc {
  const mode: ExecutionMode = lead.execution_mode ?? "TELEPHONY";
  const due_at = phone !== null && DIALLED_MODES.includes(mode) ? plusSeconds(now, resolved.initial_offset ?? 0) : null;
  const playground = lead.is_playground === true;
  const payload = {
    ...lead.payload,
    ...(phone ? { [PHONE]: phone } : {}),
    ...(lead.reporting_webhook_url ? { reporting_webhook_url: lead.reporting_webhook_url } : {}),
  };
  const configurations_override = playground ? (lead.configurations_override ?? null) : null;
  const of = {
    merchant_id: resolved.merchant_id ?? merchantOf(by, lead) ?? null,
    template_id: resolved.template_id,
    configurations_override,
  };
  return {
    _id: id,
    reseller_id: lead.reseller_id,
    ...of,
    template: resolved.name,
    request_id: lead.request_id,
    queue: queueName({ _id: id, ...of }, resolved.merchant_id === null ? "reseller" : "merchant"),
    ...QUEUED,
    phone_number: phone,
    payload,
    payload_bytes: Buffer.byteLength(JSON.stringify(payload)),
    execution_mode: mode,
    call_direction: "OUTBOUND",
    is_test: playground || mode.endsWith("_TEST"),
    ...(due_at ? { due_at } : {}),
    attempt: null,
    held: null,
    call_id: null,
    call_initiated_time: null,
    call_end_time: null,
    recording_url: null,
    outbound_number_id: null,
    costs: {},
    trace_scores: {},
    meta: {},
    created_at: now,
    updated_at: now,
    finished_at: null,
    history: [queued(now, due_at, mode)],
  };
}

/** The same lead by another id, which its own queue is named after. */
export const withId = (doc: LeadDoc, id: string): LeadDoc => ({
  ...doc,
  _id: id,
  queue: doc.configurations_override ? queueName({ ...doc, _id: id }, "merchant") : doc.queue,
});

/** What the pusher is told of a queued lead; the same for the same lead whenever it is asked. */
export function messageFor(doc: Pick<LeadDoc, "due_at" | "phone_number">): string {
  if (doc.due_at) return "The lead is queued.";
  if (!doc.phone_number)
    return `The lead is queued, but its payload has no ${PHONE}: there is no number to dial, so it stays in BACKLOG.`;
  return "The lead is queued and waits until a client joins its session.";
}
