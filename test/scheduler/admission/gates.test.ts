import { admitLead, judgeGates } from "../../../services/scheduler/admission/admission.ts";
import { explain } from "../../../services/scheduler/admission/explanation.ts";
import { PERMIT_AHEAD_MS, type GateInputs } from "../../../services/scheduler/admission/gates.ts";
import { GATES, type GateName } from "../../../shared/contracts/records/explanation.ts";
import { configured, full, gateInputs, later, limited, NOW, PAUSE, plan, waiting } from "../fixtures/gate-inputs.ts";

const PARKED = {
  count: 6,
  code: "INTERNAL",
  since: later(-600).toISOString(),
  parked_at: later(-300).toISOString(),
};

describe("a lead that technical faults keep from being dialled", () => {
  const judged = (gate: GateName, inputs: GateInputs) => judgeGates(inputs).find((g) => g.gate === gate);
  const old = { created_at: later(-500).toISOString() };
  const short = { plan: plan({ max_age_seconds: 300 }) };

  test("parked: explain names the code, how many attempts stopped, and when it is tried next", () => {
    const lead = { faults: PARKED, due_at: later(90).toISOString() };
    const explained = explain(waiting(lead), gateInputs({}, lead));
    expect(explained).toMatchObject({ eligible: false, next_eligible_at: later(90).toISOString() });
    expect(explained.gates.filter((g) => g.verdict === "hold").map((g) => g.gate)).toEqual(["parked", "due"]);
    expect(explained.summary).toMatch(/parked since .*: 6 attempts in a row .* INTERNAL\. It is tried again at/);
  });
  test("parked: it does not expire; without faults, or with fewer, it does", () => {
    expect(judged("expiry", gateInputs(short, { ...old, faults: PARKED }))?.verdict).toBe("pass");
    expect(judged("expiry", gateInputs(short, old))?.verdict).toBe("drop");
    const { parked_at: _parked, ...few } = PARKED;
    expect(judged("expiry", gateInputs(short, { ...old, faults: few }))?.verdict).toBe("drop");
  });
  test("parked once: the time for which it was is not part of its age", () => {
    const aged_from = later(-200).toISOString();
    expect(judged("expiry", gateInputs(short, { ...old, aged_from }))).toMatchObject({
      verdict: "pass",
      values: { expires_at: later(100).toISOString() },
    });
  });
  test("when it is due it is tried again", () => {
    expect(admitLead(gateInputs({}, { faults: PARKED, due_at: NOW.toISOString() }))).toEqual({ verdict: "admitted" });
  });
});

test("a lead without a number to call waits for ever: explain names the field, and it does not expire, however old", () => {
  const lead = { phone_number: null, masked: null, due_at: null, created_at: later(-5_000_000).toISOString() };
  const explained = explain(waiting(lead), gateInputs({}, lead));
  expect(explained).toMatchObject({ eligible: false, next_eligible_at: null });
  expect(explained.summary).toMatch(/^The payload has no customer_mobile_number, or misspells its name/);
  expect(explained.gates.filter((g) => g.verdict === "drop")).toEqual([]);
});

describe("each gate defers, drops or lets pass by itself", () => {
  const cases: [string, GateName, GateInputs, "hold" | "drop", Date | null][] = [
    ["being called", "status", gateInputs({}, { status: "PROCESSING" }), "hold", null],
    ["finished", "status", gateInputs({}, { status: "FINISHED", outcome: "confirmed" }), "drop", null],
    ["no number to call", "phone_number", gateInputs({}, { phone_number: null }), "hold", null],
    ["a mode that a client joins", "phone_number", gateInputs({}, { execution_mode: "RTC" }), "hold", null],
    ["an emergency number", "phone_number", gateInputs({}, { phone_number: "+2710111" }), "drop", null],
    ["a short number", "phone_number", gateInputs({}, { phone_number: "+49116117" }), "drop", null],
    ["template gone", "template", gateInputs({ plan: null }), "drop", null],
    [
      "expired",
      "expiry",
      gateInputs({ plan: plan({ max_age_seconds: 60 }) }, { created_at: later(-60).toISOString() }),
      "drop",
      null,
    ],
    ["due later", "due", gateInputs({}, { due_at: later(90).toISOString() }), "hold", later(90)],
    ["deployment paused", "deployment", gateInputs({ pauses: { deployment: PAUSE, merchant: null } }), "hold", null],
    ["merchant paused", "merchant", gateInputs({ pauses: { deployment: null, merchant: PAUSE } }), "hold", null],
    ["template off", "template_active", gateInputs({ plan: plan({ is_active: false }) }), "hold", null],
    ["no configuration", "configuration", gateInputs({ plan: plan({ configuration: null }) }), "hold", null],
    ["calling off", "calling_enabled", gateInputs(configured({ enable_calling: false })), "hold", null],
    ["before the window", "window", gateInputs(configured({ call_start_time: "12:00" })), "hold", later(7200)],
    [
      "window closes in four seconds",
      "window",
      gateInputs({ at: new Date("2026-11-21T17:59:56.000Z") }),
      "hold",
      new Date("2026-11-22T09:00:00.000Z"),
    ],
    ["blacklisted", "blacklist", gateInputs({ blacklisted: true }), "drop", null],
    [
      "no number in its country",
      "international",
      gateInputs({
        ...configured({ enable_international_call: false }),
        slots: { numbers: 2, free_lines: 2, home: { numbers: 0, free_lines: 0 } },
      }),
      "drop",
      null,
    ],
    [
      "no country of its own",
      "international",
      gateInputs({ ...configured({ enable_international_call: false }), country: null }),
      "drop",
      null,
    ],
    ["no number at all", "line", gateInputs({ slots: { numbers: 0, free_lines: 0, home: null } }), "hold", null],
    ["all slots taken", "line", gateInputs({ slots: { numbers: 1, free_lines: 0, home: null } }), "hold", null],
    [
      "slots free, but not in its country",
      "line",
      gateInputs({
        ...configured({ enable_international_call: false }),
        slots: { numbers: 2, free_lines: 2, home: { numbers: 1, free_lines: 0 } },
      }),
      "hold",
      null,
    ],
    [
      "rate limit used up",
      "rate_limit",
      gateInputs(limited()),
      "hold",
      new Date(later(540).getTime() + 100 - PERMIT_AHEAD_MS),
    ],
    [
      "carrier used up",
      "carrier_limit",
      gateInputs({ carrier: { limit: { max: 1, window_ms: 1000 }, log: full(NOW) } }),
      "hold",
      new Date(NOW.getTime() + 1100 - PERMIT_AHEAD_MS),
    ],
    [
      "carrier pauses",
      "carrier_limit",
      gateInputs({ carrier: { limit: null, log: { ...full(NOW), closed_until: later(30), closed_why: "429" } } }),
      "hold",
      new Date(later(30).getTime() - PERMIT_AHEAD_MS),
    ],
  ];
  test.each(cases)("%s", (_name, gate, f, verdict, until) => {
    const judged = judgeGates(f);
    expect(judged.map((g) => g.gate)).toEqual([...GATES]);
    expect(judged.find((g) => g.gate === gate)).toMatchObject({ verdict, until });
    expect(judged.filter((g) => g.verdict === "hold" || g.verdict === "drop").map((g) => g.gate)).toEqual([gate]);
    expect(admitLead(f)).toMatchObject({ verdict: verdict === "drop" ? "dropped" : "deferred", gate });
    if (verdict === "drop")
      expect(judged.slice(GATES.indexOf(gate) + 1).every((g) => g.verdict === "not_judged")).toBe(true);
  });
  test("every gate lets pass", () => {
    expect(admitLead(gateInputs())).toEqual({ verdict: "admitted" });
    expect(
      judgeGates(gateInputs(limited({ rate_limit_whitelist: ["+14155550123"] }))).find((g) => g.gate === "rate_limit"),
    ).toMatchObject({ verdict: "pass", values: { whitelisted: true } });
    expect(admitLead(gateInputs({ ...configured({ enforce_blacklist: false }), blacklisted: true }))).toEqual({
      verdict: "admitted",
    });
    expect(
      admitLead(
        gateInputs({
          ...configured({ enable_international_call: false }),
          slots: { numbers: 0, free_lines: 0, home: { numbers: 0, free_lines: 0 } },
        }),
      ),
    ).toMatchObject({ verdict: "deferred", gate: "line" });
  });
  test("no text shows a number", () => {
    for (const [, , f] of cases) expect(JSON.stringify(explain(waiting(), f))).not.toContain("4155550123");
  });
});
