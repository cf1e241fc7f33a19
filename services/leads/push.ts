import type { ParamsOf, ResultOf, ServiceGround } from "../../shared/bus.ts";
import { plusSeconds } from "../../shared/clock.ts";
import { inScope, scopeOf, type By } from "../../shared/contracts/identity.ts";
import { DIALLED_MODES, type ExecutionMode } from "../../shared/contracts/lead.ts";
import { fail } from "../../shared/errors.ts";
import { maskPhone } from "../../shared/log.ts";
import { toE164 } from "../../shared/phone.ts";
import { QUEUED } from "./lead-machine.ts";
import type { LeadDoc } from "./leads.model.ts";
import type { LeadsRepository } from "./leads.repository.ts";

type Input = ParamsOf<"leads.push">["lead"];
type Resolved = ResultOf<"config.resolveForPush">;

const PHONE = "customer_mobile_number";

function mayPush(by: By, lead: Input): void {
  const scope = scopeOf(by);
  if (scope.reseller_id !== null && scope.reseller_id !== lead.reseller_id) fail("FORBIDDEN", "reseller_id names another reseller than your token's; push with a token of that reseller");
  if (scope.merchant_id !== null && lead.merchant_id !== undefined && scope.merchant_id !== lead.merchant_id) {
    fail("FORBIDDEN", "merchant_id names another merchant than your token's; push with a token of that merchant");
  }
}

/** The number to dial: null when the key is missing, which the contract accepts; a value that is no phone number is refused. */
export function phoneOf(payload: Record<string, unknown>): string | null {
  if (!Object.hasOwn(payload, PHONE)) return null;
  const value = payload[PHONE];
  const phone = typeof value === "string" ? toE164(value) : null;
  return phone ?? fail("INVALID_PHONE_NUMBER", `payload.${PHONE} is not a valid phone number; send it in E.164, for example +14155550100`,
    { errors: [{ path: `payload.${PHONE}`, message: "must be a phone number in E.164, for example +14155550100" }] });
}

/** The document of a pushed lead. Only leads with a number and a dialled mode become due. */
function documentOf(id: string, lead: Input, resolved: Resolved, phone: string | null, now: Date): LeadDoc {
  const mode: ExecutionMode = lead.execution_mode ?? "TELEPHONY";
  const dialled = phone !== null && DIALLED_MODES.includes(mode);
  const playground = lead.is_playground === true;
  return {
    _id: id, reseller_id: lead.reseller_id, merchant_id: resolved.merchant_id, template_id: resolved.template_id, template: resolved.name, request_id: lead.request_id,
    ...QUEUED, phone_number: phone,
    payload: { ...lead.payload, ...(phone ? { [PHONE]: phone } : {}), ...(lead.reporting_webhook_url ? { reporting_webhook_url: lead.reporting_webhook_url } : {}) },
    execution_mode: mode, call_direction: "OUTBOUND", is_test: playground || mode.endsWith("_TEST"),
    configurations_override: playground ? lead.configurations_override ?? null : null,
    ...(dialled ? { due_at: plusSeconds(now, resolved.initial_offset ?? 0) } : {}),
    attempt: null, held: null, call_id: null, call_initiated_time: null, call_end_time: null, recording_url: null, outbound_number_id: null,
    costs: {}, trace_scores: {}, meta: {}, created_at: now, updated_at: now, finished_at: null,
  };
}

/** POST /leads: every check, then one durable write; nothing is changed when a check fails. */
export async function push(ground: ServiceGround, leads: LeadsRepository, params: ParamsOf<"leads.push">): Promise<ResultOf<"leads.push">> {
  const { by, lead } = params;
  mayPush(by, lead);
  const scope = scopeOf(by);
  const merchant_id = lead.merchant_id ?? scope.merchant_id ?? undefined;
  const { reporting_webhook_url } = lead;
  if (Object.hasOwn(lead.payload, "reporting_webhook_url")) {
    fail("VALIDATION_FAILED", "reporting_webhook_url belongs beside payload, not inside it", { errors: [{ path: "payload.reporting_webhook_url", message: "move it out of payload" }] });
  }
  const resolved = await ground.bus.call("config.resolveForPush", { template_id: lead.template_id, reseller_id: lead.reseller_id, ...(merchant_id ? { merchant_id } : {}), payload: lead.payload });
  if (!inScope(scope, resolved)) fail("TEMPLATE_NOT_FOUND", "template_id does not exist under this reseller and merchant");
  const phone = phoneOf(lead.payload);
  if (reporting_webhook_url) await ground.bus.call("webhook.checkAddress", { url: reporting_webhook_url });
  if (phone) {
    const { listed } = await ground.bus.call("blacklist.check", { pairs: [{ reseller_id: lead.reseller_id, phone_number: phone }] });
    if (listed[0]) fail("NUMBER_BLACKLISTED", `payload.${PHONE} is on the blacklist; it is not called and the lead was not queued`);
  }
  const doc = documentOf(ground.ids.uuid(), lead, resolved, phone, ground.clock.now());
  await leads.insert(doc).catch((error: unknown) => {
    ground.log.error({ event: "lead.write_failed", name: error instanceof Error ? error.name : "unknown" }, "a pushed lead could not be written");
    return fail("STORE_UNAVAILABLE", "the lead could not be written and is not queued; push it again");
  });
  ground.bus.emit("lead.queued", { lead_id: doc._id, due_at: doc.due_at?.toISOString() ?? null });
  ground.log.info({ event: "lead.queued", lead_id: doc._id, request_id: doc.request_id, to: phone ? maskPhone(phone) : null, due_at: doc.due_at ?? null }, "lead queued");
  return { status: "queued", lead_call_tracker_id: doc._id, order_id: doc.request_id, message: messageFor(doc) };
}

function messageFor(doc: LeadDoc): string {
  if (doc.due_at) return "The lead is queued.";
  if (!doc.phone_number) return `The lead is queued, but its payload has no ${PHONE}: there is no number to dial, so it stays in BACKLOG.`;
  return "The lead is queued and waits until a client joins its session.";
}

