import type { ConfigurationRecord } from "../../../shared/contracts/records/configuration.ts";
import type { ConfigurationDoc, Settings } from "../configurations/configurations.model.ts";

/** Defaults of settings that a client left out. Time zones come from the deployment. */
const DEFAULTS = {
  weekdays: [1, 2, 3, 4, 5, 6, 7],
  holidays: [] as string[],
  respect_callee_timezone: null,
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
  duplicates: null,
  transfer_numbers: [] as string[],
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
    weekdays: [...DEFAULTS.weekdays],
    holidays: [...DEFAULTS.holidays],
    rate_limit_whitelist: [...DEFAULTS.rate_limit_whitelist],
    pre_checks: [...DEFAULTS.pre_checks],
    transfer_numbers: [...DEFAULTS.transfer_numbers],
    inbound_call_timezone: timezone,
    ...settings,
    timezone,
    created_at: d.created_at.toISOString(),
    updated_at: d.updated_at.toISOString(),
  };
}
