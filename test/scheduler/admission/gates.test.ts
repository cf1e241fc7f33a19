import * as fc from "fast-check";
import { admit, admitQueue, fold, judgeAll } from "../../../services/scheduler/admission/admission.ts";
import { explain, nextEligible } from "../../../services/scheduler/admission/explanation.ts";
import { PACE_AHEAD_MS, type Facts } from "../../../services/scheduler/admission/gates.ts";
import type { RingState } from "../../../services/scheduler/limits/sliding-window.ts";
import type { Plan } from "../../../shared/contracts/config.ts";
import type { ConfigurationRecord } from "../../../shared/contracts/configuration.ts";
import { GATES, type GateName } from "../../../shared/contracts/explanation.ts";
import type { WaitingLead } from "../../../shared/contracts/lead.ts";

const NOW = new Date("2026-11-21T10:00:00.000Z");
const later = (s: number): Date => new Date(NOW.getTime() + s * 1000);
const ID = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff";

const waiting = (over: Partial<WaitingLead> = {}): WaitingLead => ({
  lead_id: ID,
  status: "BACKLOG",
  outcome: null,
  due_at: NOW.toISOString(),
  held: null,
  created_at: NOW.toISOString(),
  reseller_id: "r",
  merchant_id: "m",
  template_id: ID,
  phone_number: "+14155550123",
  attempt_count: 0,
  claim_no: 0,
  execution_mode: "TELEPHONY",
  configurations_override: null,
  ...over,
});
const configuration = (over: Partial<ConfigurationRecord> = {}): ConfigurationRecord => ({
  id: ID,
  reseller_id: "r",
  merchant_id: "m",
  template_id: ID,
  template: "t",
  initial_offset: 0,
  retry_offset: 0,
  call_start_time: "09:00",
  call_end_time: "18:00",
  timezone: "UTC",
  max_retry: 1,
  calling_provider: "PROVIDER_ONE",
  enable_calling: true,
  enable_international_call: true,
  enable_inbound: false,
  inbound_call_start_time: null,
  inbound_call_end_time: null,
  inbound_call_timezone: null,
  inbound_block_action: "REJECT",
  inbound_redirect_number: null,
  inbound_block_message: null,
  inbound_webhook_url: null,
  inbound_max_calls_per_caller: 10,
  inbound_caller_window_seconds: 3600,
  record_calls: true,
  voicemail_action: "hangup",
  engine: null,
  enforce_blacklist: true,
  rate_limit_enabled: false,
  rate_limit_max_calls: null,
  rate_limit_window_seconds: 3600,
  rate_limit_whitelist: [],
  pre_checks: [],
  created_at: NOW.toISOString(),
  updated_at: NOW.toISOString(),
  ...over,
});
const plan = (over: Partial<Plan> = {}): Plan => ({
  template_id: ID,
  version: 1,
  is_active: true,
  max_age_seconds: 200_000,
  max_call_seconds: 120,
  retry_on: null,
  configuration: configuration(),
  ...over,
});
const facts = (over: Partial<Facts> = {}, lead: Partial<WaitingLead> = {}): Facts => ({
  at: NOW,
  lead: { ...waiting(lead), masked: "+1415***0123" },
  plan: plan(),
  pauses: { deployment: null, merchant: null },
  blacklisted: false,
  country: "US",
  lines: { numbers: 2, free_lines: 3, home: null },
  rate: null,
  carrier: { limit: { max: 10, window_ms: 1000 }, state: null },
  ...over,
});
const configured = (over: Partial<ConfigurationRecord>): Partial<Facts> => ({
  plan: plan({ configuration: configuration(over) }),
});
const PAUSE = { at: NOW.toISOString(), by: "user:a", reason: "audit" };
const full = (at: Date): RingState => ({
  ring: [at],
  group: 1,
  filled: 1,
  opened: new Date(0),
  closed_until: null,
  closed_why: null,
});
const LIMITED = { rate_limit_enabled: true, rate_limit_max_calls: 1, rate_limit_window_seconds: 600 };
const limited = (over: Partial<ConfigurationRecord> = {}): Partial<Facts> => ({
  ...configured({ ...LIMITED, ...over }),
  rate: { limit: { max: 1, window_ms: 600_000 }, state: full(later(-60)) },
});

describe("each gate holds, drops or passes by itself", () => {
  const cases: [string, GateName, Facts, "hold" | "drop", Date | null][] = [
    ["being called", "status", facts({}, { status: "PROCESSING" }), "hold", null],
    ["finished", "status", facts({}, { status: "FINISHED", outcome: "confirmed" }), "drop", null],
    ["no number to call", "phone_number", facts({}, { phone_number: null }), "hold", null],
    ["a mode that a client joins", "phone_number", facts({}, { execution_mode: "RTC" }), "hold", null],
    ["template gone", "template", facts({ plan: null }), "drop", null],
    [
      "expired",
      "expiry",
      facts({ plan: plan({ max_age_seconds: 60 }) }, { created_at: later(-60).toISOString() }),
      "drop",
      null,
    ],
    ["due later", "due", facts({}, { due_at: later(90).toISOString() }), "hold", later(90)],
    ["deployment paused", "deployment", facts({ pauses: { deployment: PAUSE, merchant: null } }), "hold", null],
    ["merchant paused", "merchant", facts({ pauses: { deployment: null, merchant: PAUSE } }), "hold", null],
    ["template off", "template_active", facts({ plan: plan({ is_active: false }) }), "hold", null],
    ["no configuration", "configuration", facts({ plan: plan({ configuration: null }) }), "hold", null],
    ["calling off", "calling_enabled", facts(configured({ enable_calling: false })), "hold", null],
    ["before the window", "window", facts(configured({ call_start_time: "12:00" })), "hold", later(7200)],
    [
      "window closes in four seconds",
      "window",
      facts({ at: new Date("2026-11-21T17:59:56.000Z") }),
      "hold",
      new Date("2026-11-22T09:00:00.000Z"),
    ],
    ["blacklisted", "blacklist", facts({ blacklisted: true }), "drop", null],
    [
      "no number in its country",
      "international",
      facts({
        ...configured({ enable_international_call: false }),
        lines: { numbers: 2, free_lines: 2, home: { numbers: 0, free_lines: 0 } },
      }),
      "drop",
      null,
    ],
    [
      "no country of its own",
      "international",
      facts({ ...configured({ enable_international_call: false }), country: null }),
      "drop",
      null,
    ],
    ["no number at all", "line", facts({ lines: { numbers: 0, free_lines: 0, home: null } }), "hold", null],
    ["all lines taken", "line", facts({ lines: { numbers: 1, free_lines: 0, home: null } }), "hold", null],
    [
      "lines free, but not in its country",
      "line",
      facts({
        ...configured({ enable_international_call: false }),
        lines: { numbers: 2, free_lines: 2, home: { numbers: 1, free_lines: 0 } },
      }),
      "hold",
      null,
    ],
    [
      "rate limit used up",
      "rate_limit",
      facts(limited()),
      "hold",
      new Date(later(540).getTime() + 100 - PACE_AHEAD_MS),
    ],
    [
      "carrier used up",
      "carrier_limit",
      facts({ carrier: { limit: { max: 1, window_ms: 1000 }, state: full(NOW) } }),
      "hold",
      new Date(NOW.getTime() + 1100 - PACE_AHEAD_MS),
    ],
    [
      "carrier pauses",
      "carrier_limit",
      facts({ carrier: { limit: null, state: { ...full(NOW), closed_until: later(30), closed_why: "429" } } }),
      "hold",
      new Date(later(30).getTime() - PACE_AHEAD_MS),
    ],
  ];
  test.each(cases)("%s", (_name, gate, f, verdict, until) => {
    const judged = judgeAll(f);
    expect(judged.map((g) => g.gate)).toEqual([...GATES]);
    expect(judged.find((g) => g.gate === gate)).toMatchObject({ verdict, until });
    expect(judged.filter((g) => g.verdict === "hold" || g.verdict === "drop").map((g) => g.gate)).toEqual([gate]);
    expect(admit(f)).toMatchObject({ verdict, gate });
    if (verdict === "drop")
      expect(judged.slice(GATES.indexOf(gate) + 1).every((g) => g.verdict === "not_judged")).toBe(true);
  });
  test("nothing holds it", () => {
    expect(admit(facts())).toEqual({ verdict: "admit" });
    expect(
      judgeAll(facts(limited({ rate_limit_whitelist: ["+14155550123"] }))).find((g) => g.gate === "rate_limit"),
    ).toMatchObject({ verdict: "pass", values: { whitelisted: true } });
    expect(admit(facts({ ...configured({ enforce_blacklist: false }), blacklisted: true }))).toEqual({
      verdict: "admit",
    });
    expect(
      admit(
        facts({
          ...configured({ enable_international_call: false }),
          lines: { numbers: 0, free_lines: 0, home: { numbers: 0, free_lines: 0 } },
        }),
      ),
    ).toMatchObject({ verdict: "hold", gate: "line" });
  });
  test("no text shows a number", () => {
    for (const [, , f] of cases) expect(JSON.stringify(explain(waiting(), f))).not.toContain("4155550123");
  });
});

const mostly = fc.integer({ min: 0, max: 9 }).map((n) => n > 0);
const seldom = mostly.map((yes) => !yes);

const anyFacts: fc.Arbitrary<Facts> = fc
  .record({
    lead: fc.record({
      due: fc.integer({ min: -100, max: 200_000 }),
      created: fc.integer({ min: -200_000, max: 0 }),
      phone: mostly,
      status: fc.constantFrom(
        ...Array.from({ length: 8 }, () => "BACKLOG" as const),
        "RETRY" as const,
        "PROCESSING" as const,
        "FINISHED" as const,
      ),
    }),
    plan: fc.option(fc.record({ max_age: fc.integer({ min: 60, max: 400_000 }), active: mostly, configured: mostly }), {
      freq: 12,
    }),
    c: fc.record({
      start: fc.integer({ min: 0, max: 23 }),
      end: fc.integer({ min: 0, max: 23 }),
      zone: fc.constantFrom("UTC", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe"),
      calling: mostly,
      abroad: mostly,
      limited: fc.boolean(),
      whitelisted: fc.boolean(),
      enforce: fc.boolean(),
    }),
    paused: fc.constantFrom(null, null, null, null, null, null, "deployment", "merchant"),
    blacklisted: seldom,
    numbers: fc.integer({ min: 0, max: 9 }),
    free: fc.integer({ min: 0, max: 9 }),
    home: fc.integer({ min: 0, max: 1 }),
    used: fc.integer({ min: -700, max: 0 }),
    closed: fc.option(fc.integer({ min: -50, max: 5000 })),
    at: fc.integer({ min: 0, max: 86_400 }),
  })
  .map((w): Facts => {
    const hh = (n: number): string => `${String(n).padStart(2, "0")}:00`;
    const c = configuration({
      call_start_time: hh(w.c.start),
      call_end_time: hh(w.c.end),
      timezone: w.c.zone,
      enable_calling: w.c.calling,
      enable_international_call: w.c.abroad,
      enforce_blacklist: w.c.enforce,
      ...(w.c.limited ? LIMITED : {}),
      rate_limit_whitelist: w.c.whitelisted ? ["+14155550123"] : [],
    });
    const at = later(w.at);
    const from = (s: number): Date => new Date(at.getTime() + s * 1000);
    const base = facts(
      {
        at,
        plan:
          w.plan &&
          plan({
            max_age_seconds: w.plan.max_age,
            is_active: w.plan.active,
            configuration: w.plan.configured ? c : null,
          }),
        pauses: {
          deployment: w.paused === "deployment" ? PAUSE : null,
          merchant: w.paused === "merchant" ? PAUSE : null,
        },
        blacklisted: w.blacklisted,
        lines: {
          numbers: w.numbers,
          free_lines: w.free,
          home: c.enable_international_call
            ? null
            : { numbers: Math.min(w.home, w.numbers), free_lines: Math.min(w.home, w.free) },
        },
        rate: w.c.limited ? { limit: { max: 1, window_ms: 600_000 }, state: full(from(w.used)) } : null,
        carrier: {
          limit: { max: 1, window_ms: 1000 },
          state: { ...full(from(w.used)), closed_until: w.closed === null ? null : from(w.closed) },
        },
      },
      {
        status: w.lead.status,
        due_at: from(w.lead.due).toISOString(),
        created_at: from(w.lead.created).toISOString(),
        phone_number: w.lead.phone ? "+14155550123" : null,
      },
    );
    return base;
  });

describe("for any facts", () => {
  test("the lead's verdict is the fold of what explain shows; a gate that passes has no instant", () => {
    fc.assert(
      fc.property(anyFacts, (f) => {
        const gates = judgeAll(f);
        expect(admit(f)).toEqual(fold(gates));
        expect(explain(waiting(), f).eligible).toBe(
          gates.every((g) => g.verdict === "pass" || g.verdict === "not_judged") &&
            !gates.some((g) => g.verdict === "drop"),
        );
        for (const g of gates) if (g.verdict !== "hold") expect(g.until).toBeNull();
      }),
      { numRuns: 500 },
    );
  });
  test("what holds the whole queue holds each of its leads, but for callees on the whitelist", () => {
    fc.assert(
      fc.property(anyFacts, (f) => {
        const queue = admitQueue(f);
        if (queue.verdict === "hold" && queue.gate !== "rate_limit") expect(admit(f).verdict).not.toBe("admit");
        if (queue.verdict === "admit" && admit(f).verdict === "hold")
          expect(["status", "phone_number", "due", "international", "line"]).toContain(
            (admit(f) as { gate: string }).gate,
          );
      }),
      { numRuns: 500 },
    );
  });
  test("at the next eligible instant nothing holds the lead, and a moment before something does", () => {
    let found = 0;
    fc.assert(
      fc.property(anyFacts, (f) => {
        const { at } = nextEligible(f);
        if (at === null) return;
        expect(admit({ ...f, at })).toEqual({ verdict: "admit" });
        expect(at.getTime()).toBeGreaterThanOrEqual(f.at.getTime());
        if (at > f.at) {
          found++;
          expect(admit({ ...f, at: new Date(at.getTime() - 1) }).verdict).toBe("hold");
        }
      }),
      { numRuns: 3000 },
    );
    expect(found).toBeGreaterThan(20);
  });
});

test("the next instant is re-judged: due in the night means the next opening; what expires before has none", () => {
  const f = facts({}, { due_at: new Date("2026-11-21T20:00:00.000Z").toISOString() });
  expect(explain(waiting(), f).next_eligible_at).toBe("2026-11-22T09:00:00.000Z");
  const soon = explain(
    waiting(),
    facts({ plan: plan({ max_age_seconds: 40_000 }) }, { due_at: new Date("2026-11-21T20:00:00.000Z").toISOString() }),
  );
  expect(soon).toMatchObject({
    eligible: false,
    next_eligible_at: null,
    summary: expect.stringContaining("It will expire first, at 2026-11-21T21:06:40.000Z"),
  });
});
