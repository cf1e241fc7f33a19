import { describe, expect, test } from "@jest/globals";
import { rejectInbound } from "../../../services/dialer/call/call-state-machine.ts";
import { acceptInbound } from "../../../services/dialer/call/new-calls.ts";
import { factsOf } from "../../../services/dialer/call/call-facts.ts";
import { blocked, judgeInbound, type InboundFacts } from "../../../services/dialer/inbound/inbound-gate.ts";
import type { InboundPlan } from "../../../shared/contracts/config.ts";
import type { ConfigurationRecord } from "../../../shared/contracts/records/configuration.ts";
import { isUuid, uuidOf } from "../../../shared/ids.ts";

const ID = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff";
const OURS = "+14155550100";
const AT = new Date("2026-11-21T10:00:00.000Z");

const configuration = (over: Partial<ConfigurationRecord> = {}): ConfigurationRecord => ({
  id: ID,
  reseller_id: "r",
  merchant_id: null,
  template_id: ID,
  template: "hotline",
  initial_offset: 0,
  retry_offset: 60,
  call_start_time: "00:00",
  call_end_time: "00:00",
  timezone: "UTC",
  max_retry: 0,
  calling_provider: "PROVIDER_ONE",
  enable_calling: true,
  enable_international_call: true,
  enable_inbound: true,
  inbound_call_start_time: null,
  inbound_call_end_time: null,
  inbound_call_timezone: "UTC",
  inbound_block_action: "REJECT",
  inbound_redirect_number: null,
  inbound_block_message: null,
  inbound_webhook_url: null,
  inbound_max_calls_per_caller: 3,
  inbound_caller_window_seconds: 60,
  record_calls: true,
  voicemail_action: "hangup",
  engine: null,
  enforce_blacklist: true,
  rate_limit_enabled: false,
  rate_limit_max_calls: null,
  rate_limit_window_seconds: 3600,
  rate_limit_whitelist: [],
  pre_checks: [],
  created_at: AT.toISOString(),
  updated_at: AT.toISOString(),
  ...over,
});
const plan = (over: Partial<ConfigurationRecord> = {}, of: Partial<InboundPlan> = {}): InboundPlan => ({
  template_id: ID,
  version: 1,
  name: "hotline",
  reseller_id: "r",
  merchant_id: null,
  is_active: true,
  language: "en-US",
  max_call_seconds: 600,
  configuration: configuration(over),
  ...of,
});
const facts = (over: Partial<InboundFacts> = {}): InboundFacts => ({
  at: AT,
  to: OURS,
  known: true,
  plan: plan(),
  listed: false,
  earlier: 0,
  ...over,
});
const office = { inbound_call_start_time: "09:00", inbound_call_end_time: "10:00" };

describe("the gates, each by itself", () => {
  test.each<[string, Partial<InboundFacts>, string | null]>([
    ["a call in order", {}, null],
    ["a number that is none of ours", { known: false, plan: null }, "unknown_number"],
    ["an owner without a template", { plan: null }, "no_template"],
    ["a template that is switched off", { plan: plan({}, { is_active: false }) }, "template_inactive"],
    ["a template without a configuration", { plan: plan({}, { configuration: null }) }, "inbound_disabled"],
    ["a configuration that takes no calls", { plan: plan({ enable_inbound: false }) }, "inbound_disabled"],
    ["a call the moment the hours end", { plan: plan(office) }, "outside_window"],
    ["a call the moment before", { plan: plan(office), at: new Date(AT.getTime() - 1) }, null],
    [
      "hours of another zone",
      { plan: plan({ ...office, inbound_call_timezone: "Europe/London" }), at: new Date("2026-07-21T08:30:00.000Z") },
      null,
    ],
    [
      "hours without a zone of their own",
      {
        plan: plan({ ...office, inbound_call_timezone: null, timezone: "Asia/Kolkata" }),
        at: new Date("2026-11-21T04:00:00.000Z"),
      },
      null,
    ],
    ["hours over midnight", { plan: plan({ inbound_call_start_time: "22:00", inbound_call_end_time: "11:00" }) }, null],
    [
      "equal hours: all day",
      { plan: plan({ inbound_call_start_time: "09:00", inbound_call_end_time: "09:00" }) },
      null,
    ],
    ["a listed caller", { listed: true }, "blacklisted"],
    [
      "a listed caller where the list is not enforced",
      { listed: true, plan: plan({ enforce_blacklist: false }) },
      null,
    ],
    ["the last call the rate allows", { earlier: 2 }, null],
    ["the first one too many", { earlier: 3 }, "rate_limited"],
    ["a withheld number, which has no rate", { earlier: null }, null],
  ])("%s", (_, over, reason) =>
    expect(judgeInbound(facts(over))).toEqual({ verdict: reason === null ? "ACCEPTED" : "REJECTED", reason }),
  );
});

test("the gates are judged in order: each fault hides those behind it", () => {
  const all = { enable_inbound: false, ...office };
  const seen = [
    facts({ known: false, plan: plan(all, { is_active: false }), listed: true, earlier: 9 }),
    facts({ plan: plan(all, { is_active: false }), listed: true, earlier: 9 }),
    facts({ plan: plan(all), listed: true, earlier: 9 }),
    facts({ plan: plan({ ...all, enable_inbound: true }), listed: true, earlier: 9 }),
    facts({ plan: plan(), listed: true, earlier: 9 }),
    facts({ plan: plan(), earlier: 9 }),
  ].map((f) => judgeInbound(f).reason);
  expect(seen).toEqual([
    "unknown_number",
    "template_inactive",
    "inbound_disabled",
    "outside_window",
    "blacklisted",
    "rate_limited",
  ]);
});

describe("a blocked call", () => {
  const redirect = (to: string | null) => plan({ inbound_block_action: "REDIRECT", inbound_redirect_number: to });
  test.each([
    ["is rejected where the configuration says so", plan({ inbound_redirect_number: "+14155550111" }), "REJECTED"],
    ["is redirected where the configuration says so", redirect("+14155550111"), "REDIRECTED"],
    ["is rejected where there is no number to go to", redirect(null), "REJECTED"],
    ["is never sent round in a circle", redirect(OURS), "REJECTED"],
    ["is never sent to an emergency service", redirect("+2710111"), "REJECTED"],
    ["is never sent to a short number", redirect("+49116117"), "REJECTED"],
    ["is rejected without a plan", null, "REJECTED"],
  ])("%s", (_, of, verdict) =>
    expect(blocked(of, OURS, "outside_window")).toEqual({ verdict, reason: "outside_window" }),
  );
});

describe("the call's document", () => {
  const order = {
    lead_id: ID,
    claim_no: 1,
    reseller_id: "r",
    merchant_id: null,
    template_id: ID,
    template_version: 1,
    execution_mode: "TELEPHONY",
    to: "+14155552601",
    from: OURS,
    number_id: ID,
    provider: "PROVIDER_ONE",
    dial_until: null,
    record: true,
    voicemail_action: "continue",
    enforce_blacklist: false,
    max_call_seconds: 600,
  } as const;
  const call = acceptInbound(order, { call_id: "CA1", leg_id: null }, "node", AT, true);

  test("rings under the carrier's name and is tended here", () => {
    expect(call).toMatchObject({
      _id: `${ID}.1`,
      state: "RINGING",
      direction: "INBOUND",
      carrier_call_id: "CA1",
      tended_by: "node",
      ringing_at: AT,
    });
    expect(call).not.toHaveProperty("carrier_leg_id");
    expect(acceptInbound(order, { call_id: "CA1", leg_id: "L" }, "node", AT, true).carrier_leg_id).toBe("L");
  });
  test("can be turned away only while nobody talks, and only where it came in", () => {
    const { filter, update } = rejectInbound(call._id, { code: "X" }, AT);
    expect(filter).toMatchObject({ _id: call._id, direction: "INBOUND", holder: null });
    expect(update.$set).toMatchObject({ state: "ENDED", ended: "failed", error: { code: "X" } });
  });
  test.each([
    ["no_answer", "completed"],
    ["canceled", "completed"],
    ["busy", "completed"],
    ["failed", "failed"],
    ["completed", "completed"],
  ] as const)("of a caller who left: the carrier's %s is %s", (ended, told) =>
    expect(factsOf({ ...call, ended, ended_at: AT }, null).ended).toBe(told),
  );
});

test("a UUID that follows from a text is one, and the same each time", () => {
  const [a, b] = [uuidOf("PROVIDER_ONE:CA1"), uuidOf("PROVIDER_ONE:CA2")];
  expect([isUuid(a), isUuid(b), uuidOf("PROVIDER_ONE:CA1") === a, a === b]).toEqual([true, true, true, false]);
  for (let i = 0; i < 50; i++) expect(isUuid(uuidOf(`x${i}`))).toBe(true);
});
