import * as fc from "fast-check";
import { configurationIssues, normalizedSettings } from "../../../services/config/rules/configuration-validation.ts";
import type { ConfigurationDoc, Settings } from "../../../services/config/configurations/configurations.model.ts";
import { overridden } from "../../../services/config/rules/configuration-override.ts";
import { effective } from "../../../services/config/rules/effective-configuration.ts";
import { settings } from "../fixtures/config-calls.ts";

const base: Settings = { ...settings, initial_offset: 0 };
const at = new Date("2026-11-21T10:00:00.000Z");
const doc: ConfigurationDoc = {
  _id: "c",
  reseller_id: "rs",
  merchant_id: null,
  template_id: "t",
  settings: "",
  created_at: at,
  updated_at: at,
};
const faults = (over: Partial<Settings>): string[] => configurationIssues({ ...base, ...over }).map((f) => f.path);

test.each<[string, Partial<Settings>, string[]]>([
  ["the required fields alone", {}, []],
  ["equal window times: all day", { call_start_time: "09:00", call_end_time: "09:00" }, []],
  ["a window over midnight", { call_start_time: "22:00", call_end_time: "06:00" }, []],
  ["a limit without maximum", { rate_limit_enabled: true }, ["rate_limit_max_calls"]],
  ["a limit with maximum", { rate_limit_enabled: true, rate_limit_max_calls: 5 }, []],
  ["a maximum without limit", { rate_limit_max_calls: 5 }, []],
  ["REDIRECT without number", { inbound_block_action: "REDIRECT" }, ["inbound_redirect_number"]],
  ["REDIRECT with number", { inbound_block_action: "REDIRECT", inbound_redirect_number: "+14155550100" }, []],
  ["a redirect number that is none", { inbound_redirect_number: "+10000000000" }, ["inbound_redirect_number"]],
  ["half an inbound window", { inbound_call_start_time: "09:00" }, ["inbound_call_end_time"]],
  ["the other half", { inbound_call_end_time: "09:00" }, ["inbound_call_start_time"]],
  ["a whole inbound window", { inbound_call_start_time: "09:00", inbound_call_end_time: "09:00" }, []],
  ["unknown zones", { timezone: "Mars/Olympus", inbound_call_timezone: "" }, ["timezone", "inbound_call_timezone"]],
  ["abbreviations of zones", { timezone: "BST", inbound_call_timezone: "IST" }, ["timezone", "inbound_call_timezone"]],
  ["known zones", { timezone: "Europe/Paris", inbound_call_timezone: "Asia/Kolkata" }, []],
  ["a bad whitelist entry", { rate_limit_whitelist: ["+14155550100", "+99999999999"] }, ["rate_limit_whitelist.1"]],
  [
    "the contract's pre-check",
    { pre_checks: [{ name: "crm", type: "external_api", enabled: true, default_on_failure: "proceed" }] },
    [],
  ],
  [
    "a whole pre-check",
    {
      pre_checks: [
        {
          name: "crm",
          type: "external_api",
          enabled: true,
          url: "https://crm.example/{{id}}",
          method: "POST",
          headers: { "x-key": "1" },
          body: { a: 1 },
          timeout_ms: 5000,
          retries: 1,
          pass_when: { path: "ok", operator: "equals", value: true },
          export: { tier: "customer.tier" },
          default_on_failure: "defer",
          defer_seconds: 600,
          max_defers: 6,
        },
      ],
    },
    [],
  ],
  [
    "a pre-check with faults",
    { pre_checks: [{ type: "magic", url: "file:///etc/passwd", colour: 1 }] },
    ["pre_checks.0.name", "pre_checks.0.colour", "pre_checks.0.type", "pre_checks.0.url"],
  ],
  [
    "many faults at once",
    { timezone: "x", rate_limit_enabled: true, inbound_block_action: "REDIRECT" },
    ["timezone", "rate_limit_max_calls", "inbound_redirect_number"],
  ],
])("%s", (_what, over, expected) => {
  expect(faults(over).sort()).toEqual([...expected].sort());
});

test("numbers are kept in one spelling, each once", () => {
  expect(
    normalizedSettings({
      ...base,
      inbound_redirect_number: "+4402079460958",
      rate_limit_whitelist: ["+4402079460958", "+442079460958", "+14155550100"],
    }),
  ).toEqual({
    ...base,
    inbound_redirect_number: "+442079460958",
    rate_limit_whitelist: ["+442079460958", "+14155550100"],
  });
});

test("defaults are filled in, the deployment's zone too", () => {
  expect(effective(doc, base, "reminder", "Europe/Paris")).toEqual({
    id: "c",
    reseller_id: "rs",
    merchant_id: null,
    template_id: "t",
    template: "reminder",
    ...base,
    timezone: "Europe/Paris",
    weekdays: [1, 2, 3, 4, 5, 6, 7],
    holidays: [],
    respect_callee_timezone: null,
    enable_calling: true,
    enable_international_call: true,
    enable_inbound: false,
    enforce_blacklist: true,
    rate_limit_enabled: false,
    rate_limit_max_calls: null,
    rate_limit_window_seconds: 3600,
    rate_limit_whitelist: [],
    transfer_numbers: [],
    inbound_call_start_time: null,
    inbound_call_end_time: null,
    inbound_call_timezone: "Europe/Paris",
    inbound_block_action: "REJECT",
    inbound_redirect_number: null,
    inbound_block_message: null,
    inbound_webhook_url: null,
    inbound_max_calls_per_caller: 10,
    inbound_caller_window_seconds: 3600,
    record_calls: true,
    voicemail_action: "hangup",
    engine: null,
    pre_checks: [],
    duplicates: null,
    created_at: at.toISOString(),
    updated_at: at.toISOString(),
  });
});

test("what was set wins; the inbound window's zone follows the window's", () => {
  const record = effective(
    doc,
    { ...base, timezone: "Asia/Kolkata", enable_calling: false, rate_limit_window_seconds: 10 },
    "t",
    "UTC",
  );
  expect(record).toMatchObject({
    timezone: "Asia/Kolkata",
    inbound_call_timezone: "Asia/Kolkata",
    enable_calling: false,
    rate_limit_window_seconds: 10,
  });
  expect(effective(doc, { ...base, inbound_call_timezone: "Europe/Paris" }, "t", "UTC").inbound_call_timezone).toBe(
    "Europe/Paris",
  );
});

test.each<[string, Partial<Settings>, Record<string, unknown>, Partial<Settings>]>([
  [
    "known fields are merged",
    {},
    { max_retry: 0, call_start_time: "00:00", call_end_time: "00:00", test_number: true },
    { max_retry: 0, call_start_time: "00:00", call_end_time: "00:00" },
  ],
  [
    "unknown fields are left out",
    {},
    { template_id: "other", reseller_id: "x", _id: "x", colour: 1, ["__proto__x"]: 1 },
    {},
  ],
  [
    "values that don't fit are left out, the others kept",
    {},
    { max_retry: -1, retry_offset: "soon", initial_offset: 5 },
    { initial_offset: 5 },
  ],
  ["an unknown zone is left out, the others kept", {}, { timezone: "Mars/Olympus", max_retry: 1 }, { max_retry: 1 }],
  [
    "half an inbound change is left out, the others kept",
    {},
    { inbound_block_action: "REDIRECT", enable_inbound: true, max_retry: 1 },
    { enable_inbound: true, max_retry: 1 },
  ],
  [
    "calling that is off may be switched on, and off",
    { enable_calling: false },
    { enable_calling: true },
    { enable_calling: true },
  ],
  ["calling may be switched off", {}, { enable_calling: false }, { enable_calling: false }],
  [
    "international calls that are off may be switched on",
    { enable_international_call: false },
    { enable_international_call: true },
    { enable_international_call: true },
  ],
  [
    "the blacklist stays enforced, by default too, but for a test number",
    {},
    { enforce_blacklist: false, max_retry: 1 },
    { max_retry: 1 },
  ],
  [
    "for a test number the blacklist is lifted",
    {},
    { enforce_blacklist: false, test_number: true },
    { enforce_blacklist: false },
  ],
  [
    "the blacklist may be enforced",
    { enforce_blacklist: false },
    { enforce_blacklist: true },
    { enforce_blacklist: true },
  ],
  [
    "a wider window is left out as a whole",
    {},
    { call_start_time: "10:00", call_end_time: "18:00", max_retry: 1 },
    { max_retry: 1 },
  ],
  ["another zone counts as wider", {}, { timezone: "Asia/Tokyo" }, {}],
  ["all day is wider", {}, { call_start_time: "00:00", call_end_time: "00:00" }, {}],
  ["a narrower window holds", {}, { call_start_time: "10:00" }, { call_start_time: "10:00" }],
  ["the same window holds", {}, { call_end_time: "17:00" }, {}],
  [
    "a narrower one over midnight holds",
    { call_start_time: "22:00", call_end_time: "06:00" },
    { call_start_time: "23:00", call_end_time: "05:59" },
    { call_start_time: "23:00", call_end_time: "05:59" },
  ],
  [
    "none is wider than all day",
    { call_start_time: "08:00", call_end_time: "08:00" },
    { call_start_time: "00:00", timezone: "Asia/Tokyo" },
    { call_start_time: "00:00", timezone: "Asia/Tokyo" },
  ],
  [
    "a rate limit that is on may be loosened",
    { rate_limit_enabled: true, rate_limit_max_calls: 1 },
    { rate_limit_max_calls: 9999, rate_limit_whitelist: ["+14155550100"] },
    { rate_limit_max_calls: 9999, rate_limit_whitelist: ["+14155550100"] },
  ],
  [
    "a rate limit may be switched on",
    {},
    { rate_limit_enabled: true, rate_limit_max_calls: 1 },
    { rate_limit_enabled: true, rate_limit_max_calls: 1 },
  ],
  ["a rate limit without maximum is left out", {}, { rate_limit_enabled: true, rate_limit_window_seconds: 5 }, {}],
])("override: %s", (_what, stored, override, changed) => {
  expect(overridden({ ...base, ...stored }, override, "UTC")).toEqual({ ...base, ...stored, ...changed });
});

test("no override whatever makes a faulty configuration or lifts what protects the callee", () => {
  const value = fc.oneof(
    fc.boolean(),
    fc.integer(),
    fc.constantFrom("REDIRECT", "REJECT", "09:00", "UTC", "+14155550100"),
    fc.string(),
    fc.constant(null),
    fc.array(fc.string()),
  );
  const field = fc.constantFrom(
    "enable_calling",
    "enforce_blacklist",
    "rate_limit_enabled",
    "rate_limit_max_calls",
    "rate_limit_window_seconds",
    "rate_limit_whitelist",
    "timezone",
    "inbound_block_action",
    "inbound_redirect_number",
    "inbound_call_start_time",
    "inbound_call_end_time",
    "max_retry",
    "pre_checks",
    "template_id",
    "__proto__",
  );
  const stored: Settings = { ...base, rate_limit_enabled: true, rate_limit_max_calls: 3 };
  fc.assert(
    fc.property(fc.dictionary(field, value), (override) => {
      const merged = overridden(stored, override, "UTC");
      expect(configurationIssues(merged)).toEqual([]);
      expect([merged.call_start_time, merged.call_end_time, merged.timezone]).toEqual([
        "09:00",
        "17:00",
        override["timezone"] === "UTC" ? "UTC" : undefined,
      ]);
      expect(merged.enforce_blacklist ?? true).toBe(true);
      expect(merged).not.toHaveProperty("template_id");
    }),
  );
});
