import type { Bus, ParamsOf, ResultOf, ServiceDeps } from "../../../shared/bus/bus.ts";
import { inScope, scopeOf, type By } from "../../../shared/contracts/records/identity.ts";
import { codeOf, refusal, type Refusal } from "../../../shared/errors.ts";
import { deploymentDestinations, destinationIssue } from "../../../shared/numbering/destination.ts";
import { readNumber } from "../../../shared/phone.ts";
import { overrideFields } from "./playground-override.ts";
import { unstorableIn } from "../../../shared/database/storable.ts";
import { merchantOf, PHONE, type PushedLead, type ResolvedTemplate } from "./lead-document.ts";

/** A row that is checked; later checks use what earlier ones found. */
export interface CheckedRow {
  lead: PushedLead;
  /** Its template, once the config service found it. */
  template?: ResolvedTemplate;
  /** The number to dial in E.164; null: the payload has none, which the contract accepts. */
  phone?: string | null;
}

/** Who pushes, and the bus to ask other services. */
export interface CheckDeps {
  by: By;
  bus: Bus;
}

/** Checks rows together, one request for all of them; for each row in order why it is refused, or null. */
type PushCheck = (
  rows: readonly CheckedRow[],
  deps: CheckDeps & Pick<ServiceDeps, "env">,
) => (Refusal | null)[] | Promise<(Refusal | null)[]>;

/** FORBIDDEN outside the asker's scope, VALIDATION_FAILED, PAYLOAD_INVALID: what can be said without another service. */
function leadRefusal(by: By, lead: PushedLead): Refusal | null {
  const scope = scopeOf(by);
  if (scope.reseller_id !== null && scope.reseller_id !== lead.reseller_id)
    return refusal(
      "FORBIDDEN",
      "reseller_id names another reseller than your token's; push with a token of that reseller",
    );
  if (scope.merchant_id !== null && lead.merchant_id !== undefined && scope.merchant_id !== lead.merchant_id)
    return refusal(
      "FORBIDDEN",
      "merchant_id names another merchant than your token's; push with a token of that merchant",
    );
  if (Object.hasOwn(lead.payload, "reporting_webhook_url"))
    return refusal("VALIDATION_FAILED", "reporting_webhook_url belongs beside payload, not inside it", [
      { path: "payload.reporting_webhook_url", message: "move it out of payload" },
    ]);
  const { payload, configurations_override = null } = lead;
  const unstorable =
    unstorableIn(payload, "payload") ?? unstorableIn(configurations_override, "configurations_override");
  return unstorable && refusal("PAYLOAD_INVALID", `${unstorable.path} ${unstorable.message}`, [unstorable]);
}

/** The lead lies in the asker's scope and can be stored. */
export const checkLead: PushCheck = (rows, { by }) => rows.map(({ lead }) => leadRefusal(by, lead));

function templateQuestion(by: By, lead: PushedLead): ParamsOf<"config.resolveForPush"> {
  const merchant_id = merchantOf(by, lead);
  const fields = overrideFields(lead);
  return {
    template_id: lead.template_id,
    reseller_id: lead.reseller_id,
    ...(merchant_id ? { merchant_id } : {}),
    payload: lead.payload,
    ...(fields === null ? {} : { override: { role: by.role, fields } }),
  };
}

/** The asker may use the template, and the payload fits it. TEMPLATE_UNKNOWN, TEMPLATE_NOT_FOUND, TEMPLATE_INACTIVE, PAYLOAD_INVALID, VALIDATION_FAILED. */
const checkTemplate: PushCheck = async (rows, { by, bus }) => {
  const pushes = rows.map(({ lead }) => templateQuestion(by, lead));
  const { results } = await bus.call("config.resolveManyForPush", { pushes });
  return rows.map((row, i) => {
    const { resolved, refusal: refused } = results[i] ?? { resolved: null, refusal: null };
    if (refused) return refusal(codeOf({ type: refused.code }), refused.message, refused.errors);
    if (!resolved) return refusal("INTERNAL", "the template could not be looked up");
    row.template = resolved;
    return inScope(scopeOf(by), resolved)
      ? null
      : refusal("TEMPLATE_NOT_FOUND", "template_id does not exist under this reseller and merchant");
  });
};

/** Of a number to dial that is no JSON text. */
const NO_TEXT = 'must be a text with a phone number in E.164, such as "+14155550100": other values lose its plus';

/** The number to dial is a phone number, and one that may be called; a payload may have none. INVALID_PHONE_NUMBER. */
const checkPhone: PushCheck = (rows, { env }) => {
  const allowed = deploymentDestinations(env.CALL_COUNTRIES, env.CALL_SPECIAL_NUMBERS);
  return rows.map((row) => {
    row.phone = null;
    if (!Object.hasOwn(row.lead.payload, PHONE)) return null;
    const value = row.lead.payload[PHONE];
    const never = typeof value === "string" ? destinationIssue(value, allowed) : null;
    if (never !== null)
      return refusal("INVALID_PHONE_NUMBER", `payload.${PHONE} ${never}; the lead was not queued`, [
        { path: `payload.${PHONE}`, message: never },
      ]);
    const read = typeof value === "string" ? readNumber(value) : { issue: NO_TEXT };
    if ("e164" in read) row.phone = read.e164;
    return "e164" in read
      ? null
      : refusal("INVALID_PHONE_NUMBER", `payload.${PHONE} ${read.issue}; the lead was not queued`, [
          { path: `payload.${PHONE}`, message: read.issue },
        ]);
  });
};

/** The address of the webhook may be requested. WEBHOOK_ADDRESS_REFUSED. */
const checkWebhookAddress: PushCheck = async (rows, { bus }) => {
  const urls = [...new Set(rows.flatMap(({ lead }) => lead.reporting_webhook_url ?? []))];
  const { refusals }: ResultOf<"webhook.checkAddresses"> =
    urls.length === 0 ? { refusals: [] } : await bus.call("webhook.checkAddresses", { urls });
  const reasons = new Map(urls.map((url, i) => [url, refusals[i]]));
  return rows.map(({ lead }) => {
    const message = reasons.get(lead.reporting_webhook_url ?? "");
    return message
      ? refusal("WEBHOOK_ADDRESS_REFUSED", `reporting_webhook_url can't be used: ${message}`, [
          { path: "reporting_webhook_url", message },
        ])
      : null;
  });
};

/** The number is on no blacklist that applies to the reseller, and its callee did not ask the merchant not to call again. NUMBER_BLACKLISTED. */
const checkBlacklist: PushCheck = async (rows, { by, bus }) => {
  const pairs = rows.flatMap(({ lead, phone, template }) =>
    phone
      ? [
          {
            reseller_id: lead.reseller_id,
            merchant_id: template?.merchant_id ?? merchantOf(by, lead) ?? null,
            phone_number: phone,
          },
        ]
      : [],
  );
  const { listed }: ResultOf<"blacklist.check"> =
    pairs.length === 0 ? { listed: [] } : await bus.call("blacklist.check", { pairs });
  const answers = listed.values();
  return rows.map(({ phone }) =>
    phone && answers.next().value === true
      ? refusal(
          "NUMBER_BLACKLISTED",
          `payload.${PHONE} is on the blacklist; it is not called and the lead was not queued`,
        )
      : null,
  );
};

/** Every check of a push, in order; a row that one refuses is not given to the next. */
export const PUSH_CHECKS: readonly PushCheck[] = [
  checkLead,
  checkTemplate,
  checkPhone,
  checkWebhookAddress,
  checkBlacklist,
];
