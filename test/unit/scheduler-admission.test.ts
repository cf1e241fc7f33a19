import type { Plan } from "../../shared/contracts/config.ts";
import type { ConfigurationRecord } from "../../shared/contracts/configuration.ts";
import type { DueLead } from "../../shared/contracts/lead.ts";
import { admit, SWITCH_RECHECK_SECONDS } from "../../services/scheduler/admission.ts";
import { inFairOrder } from "../../services/scheduler/fair-share.ts";

const NOW = new Date("2026-11-21T10:00:00.000Z");
const later = (s: number): Date => new Date(NOW.getTime() + s * 1000);
const ID = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff";

const lead = (over: Partial<DueLead> = {}): DueLead => ({
  lead_id: ID, status: "BACKLOG", due_at: NOW.toISOString(), created_at: NOW.toISOString(), reseller_id: "r", merchant_id: "m", template_id: ID,
  phone_number: "+14155550100", attempt_count: 0, claim_no: 0, execution_mode: "TELEPHONY", configurations_override: null, ...over,
});
const configuration = (over: Partial<ConfigurationRecord> = {}): ConfigurationRecord => ({
  id: ID, reseller_id: "r", merchant_id: "m", template_id: ID, template: "t", initial_offset: 0, retry_offset: 0, call_start_time: "09:00", call_end_time: "18:00", timezone: "UTC",
  max_retry: 1, calling_provider: "PROVIDER_ONE", enable_calling: true, enable_international_call: true, enable_inbound: false, inbound_call_start_time: null, inbound_call_end_time: null,
  inbound_call_timezone: null, inbound_block_action: "REJECT", inbound_redirect_number: null, inbound_block_message: null, enforce_blacklist: true, rate_limit_enabled: false,
  rate_limit_max_calls: null, rate_limit_window_seconds: 3600, rate_limit_whitelist: [], pre_checks: [], created_at: NOW.toISOString(), updated_at: NOW.toISOString(), ...over,
});
const plan = (over: Partial<Plan> = {}): Plan => ({ template_id: ID, version: 1, is_active: true, max_age_seconds: 3600, max_call_seconds: 120, retry_on: null, configuration: configuration(), ...over });

describe("the ordered gates", () => {
  test("a lead that nothing holds back is admitted until the window closes", () => {
    expect(admit({ lead: lead(), plan: plan(), blacklisted: false, now: NOW })).toMatchObject({ verdict: "admit", dial_until: new Date("2026-11-21T18:00:00.000Z") });
  });
  test.each<[string, Parameters<typeof admit>[0], object]>([
    ["deleted template", { lead: lead(), plan: null, blacklisted: false, now: NOW }, { verdict: "drop", outcome: "failed" }],
    ["expired", { lead: lead(), plan: plan(), blacklisted: false, now: later(3600) }, { verdict: "drop", outcome: "EXPIRED" }],
    ["template switched off", { lead: lead(), plan: plan({ is_active: false }), blacklisted: false, now: NOW }, { verdict: "defer", why: "template_off", until: later(SWITCH_RECHECK_SECONDS) }],
    ["no configuration", { lead: lead(), plan: plan({ configuration: null }), blacklisted: false, now: NOW }, { verdict: "defer", why: "no_configuration" }],
    ["blacklisted while queued", { lead: lead(), plan: plan(), blacklisted: true, now: NOW }, { verdict: "drop", outcome: "BLACKLISTED" }],
    ["blacklisted, not enforced", { lead: lead(), plan: plan({ configuration: configuration({ enforce_blacklist: false }) }), blacklisted: true, now: NOW }, { verdict: "admit" }],
    ["calling disabled", { lead: lead(), plan: plan({ configuration: configuration({ enable_calling: false }) }), blacklisted: false, now: NOW }, { verdict: "defer", why: "calling_disabled" }],
    ["outside the window", { lead: lead(), plan: plan({ configuration: configuration({ call_start_time: "12:00" }), max_age_seconds: 86_400 }), blacklisted: false, now: NOW }, { verdict: "defer", why: "outside_window", until: new Date("2026-11-21T12:00:00.000Z") }],
    ["held back, but never past its expiry", { lead: lead(), plan: plan({ configuration: configuration({ call_start_time: "12:00" }) }), blacklisted: false, now: NOW }, { verdict: "defer", why: "outside_window", until: later(3600) }],
  ])("%s", (_name, input, expected) => { expect(admit(input)).toMatchObject(expected); });
});

describe("fair order", () => {
  const of = (reseller_id: string, merchant_id: string, template_id: string, n: number) => Array.from({ length: n }, (_, i) => ({ reseller_id, merchant_id, template_id, i }));
  test("a flood of one tenant does not stand before the others", () => {
    const mixed = inFairOrder([...of("a", "1", "t", 100), ...of("b", "1", "t", 2), ...of("c", "1", "t", 1)]);
    expect(mixed.slice(0, 5).map((l) => l.reseller_id)).toEqual(["a", "b", "c", "a", "b"]);
    expect(mixed).toHaveLength(103);
  });
  test("merchants and templates take turns inside a reseller; each keeps its own order", () => {
    const mixed = inFairOrder([...of("a", "1", "t", 3), ...of("a", "1", "u", 1), ...of("a", "2", "t", 2)]);
    expect(mixed.map((l) => `${l.merchant_id}${l.template_id}${l.i}`)).toEqual(["1t0", "2t0", "1u0", "2t1", "1t1", "1t2"]);
  });
});
