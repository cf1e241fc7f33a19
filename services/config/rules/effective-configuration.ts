import { configurationFields, type ConfigurationRecord } from "../../../shared/contracts/records/configuration.ts";
import { Json, Strict, Type } from "../../../shared/contracts/define.ts";
import { configurationIssues, normalizedSettings } from "./configuration-validation.ts";
import type { ConfigurationDoc, Settings } from "../configurations/configurations.model.ts";
import { issueChecker } from "../../../shared/validator.ts";

/** Defaults of settings that a client left out. Time zones come from the deployment. */
const DEFAULTS = {
  enable_calling: true,
  enable_international_call: true,
  enable_inbound: false,
  enforce_blacklist: true,
  rate_limit_enabled: false,
  rate_limit_max_calls: null,
  rate_limit_window_seconds: 3600,
  rate_limit_whitelist: [] as string[],
  inbound_block_action: "REJECT",
  inbound_call_start_time: null,
  inbound_call_end_time: null,
  inbound_redirect_number: null,
  inbound_block_message: null,
  inbound_webhook_url: null,
  inbound_max_calls_per_caller: 10,
  inbound_caller_window_seconds: 3600,
  record_calls: true,
  voicemail_action: "hangup",
  engine: null,
  pre_checks: [] as Record<string, unknown>[],
} as const;

/** The configuration in full: defaults, and over them what was stored. `template` is the template's name. */
export function effective(
  d: ConfigurationDoc,
  settings: Settings,
  template: string,
  default_timezone: string,
): ConfigurationRecord {
  const timezone = settings.timezone ?? default_timezone;
  return {
    id: d._id,
    reseller_id: d.reseller_id,
    merchant_id: d.merchant_id,
    template_id: d.template_id,
    template,
    ...DEFAULTS,
    rate_limit_whitelist: [...DEFAULTS.rate_limit_whitelist],
    pre_checks: [...DEFAULTS.pre_checks],
    inbound_call_timezone: timezone,
    ...settings,
    timezone,
    created_at: d.created_at.toISOString(),
    updated_at: d.updated_at.toISOString(),
  };
}

/** Overrides that were stored before pre-checks were bounded hold as they are. */
const pre_checks = Type.Optional(Type.Array(Json, { maxItems: 10 }));
const overrideIssues = issueChecker(Type.Partial(Strict({ ...configurationFields, pre_checks })));

/** The fields of an override that are known and have a usable value; all others are left out. */
function usable(override: Readonly<Record<string, unknown>>): Partial<Settings> {
  const bad = new Set(overrideIssues(override).map((f) => f.path.split(".")[0]));
  return Object.fromEntries(
    Object.entries(override).filter(([field]) => Object.hasOwn(configurationFields, field) && !bad.has(field)),
  ) as Partial<Settings>;
}

const RATE_LIMIT = [
  "rate_limit_enabled",
  "rate_limit_max_calls",
  "rate_limit_window_seconds",
  "rate_limit_whitelist",
] as const;

/** What a playground run must not loosen: calling that is off, the blacklist that is enforced, a rate limit that is on. */
function locked(stored: Settings): Set<string> {
  return new Set<string>([
    ...(stored.enable_calling === false ? ["enable_calling"] : []),
    ...(stored.enable_international_call === false ? ["enable_international_call"] : []),
    ...(stored.enforce_blacklist === false ? [] : ["enforce_blacklist"]),
    ...(stored.rate_limit_enabled === true ? RATE_LIMIT : []),
  ]);
}

/** Fields that are judged together: where one of them is at issue, none of the override's is taken. */
const groupOf = (field: string): string => /^(?:rate_limit|inbound)_/.exec(field)?.[0] ?? field;

/**
 * Stored settings with a playground run's override merged over them (4.2). Only known fields with usable values are merged, fields that do not
 * go together with the rest are left out, and none may lift what protects the called.
 */
export function overridden(stored: Settings, override: Readonly<Record<string, unknown>>): Settings {
  const fixed = locked(stored);
  const wanted = Object.entries(usable(override)).filter(([field]) => !fixed.has(field));
  const over = (fields: [string, unknown][]): Settings => ({ ...stored, ...Object.fromEntries(fields) });
  const faulty = new Set(configurationIssues(over(wanted)).map((f) => groupOf(f.path.split(".")[0] ?? "")));
  return normalizedSettings(over(wanted.filter(([field]) => !faulty.has(groupOf(field)))));
}
