import config from "../../../../services/config/config.service.ts";
import leads from "../../../../services/leads/leads.service.ts";
import numbers from "../../../../services/numbers/numbers.service.ts";
import scheduler from "../../../../services/scheduler/scheduler.service.ts";
import { CALLEE_CAPPED } from "../../../../shared/contracts/records/explanation.ts";
import { until } from "../../../../local/harness/stage.ts";
import { createdId, namedReminder, setHttpStage, type Answer, type HttpStage } from "../../fixtures/http-stage.ts";

/** A merchant's cap on calls per callee over HTTP: who sets it, how it is shown, what the dialer is told of it and what explain says. */
let http: HttpStage;
const CALLEE = "+14155550123";
const TOMORROW = new Date(Date.now() + 86_400_000).toISOString();
const CAP = { per_day: 1, per_week: 3 };
let counted: object;
beforeAll(async () => {
  http = await setHttpStage(
    [config, leads, numbers, scheduler],
    {},
    { PROVIDER_ONE_CALLS_PER_SECOND: "0", SCHEDULER_INTERVAL_MS: "200" },
    {
      "blacklist.check": ({ pairs }) => ({ listed: (pairs as object[]).map(() => false) }),
      "dialer.dialMany": ({ orders }) => ({ taken: (orders as object[]).map(() => true) }),
      "dialer.reconcile": () => ({ verdict: "live", lease_seconds: 3600 }),
      "dialer.calleeCalls": () => ({ callees: [counted] }),
    },
  );
});
afterAll(async () => {
  await http.stop();
});

type Role = keyof HttpStage["tokens"];
const put = (max_calls_per_callee: unknown, role: Role = "reseller"): Promise<Answer> =>
  http.ask("PUT", `/merchants/${http.merchant_id}`, { token: http.tokens[role], body: { max_calls_per_callee } });
const shown = async (): Promise<unknown> =>
  (await http.ask("GET", `/merchants/${http.merchant_id}`)).body["max_calls_per_callee"];

/** A lead of a template of the merchant's that calls at once, or not at all. */
async function pushed(enable_calling: boolean): Promise<string> {
  const { reseller_id, merchant_id } = http;
  const template_id = await createdId(http, "/templates", namedReminder({ reseller_id, merchant_id }));
  const window = { call_start_time: "00:00", call_end_time: "00:00", timezone: "UTC", max_retry: 0 };
  const settings = { initial_offset: 0, retry_offset: 60, ...window, calling_provider: "PROVIDER_ONE", enable_calling };
  await createdId(http, "/configurations", { template_id, ...settings });
  const payload = { customer_name: "Ada", customer_mobile_number: CALLEE };
  const lead = { request_id: "capped", template_id, reseller_id, merchant_id, payload };
  return createdId(http, "/leads", lead, "lead_call_tracker_id");
}

test("it is shown with the merchant, changed as a whole and taken away with null", async () => {
  expect(await shown()).toBeNull();
  expect((await put(CAP)).body["max_calls_per_callee"]).toEqual(CAP);
  expect(await shown()).toEqual(CAP);
  expect((await put({ per_week: 2 })).body["max_calls_per_callee"]).toEqual({ per_week: 2 });
  expect((await put(null)).body["max_calls_per_callee"]).toBeNull();
  const id = await createdId(http, "/merchants", {
    name: "Capped",
    reseller_id: http.reseller_id,
    contact_email: "c@example.com",
    max_calls_per_callee: CAP,
  });
  expect((await http.ask("GET", `/merchants/${id}`)).body["max_calls_per_callee"]).toEqual(CAP);
});

test.each<[string, unknown]>([
  ["no limit at all", {}],
  ["no call at all", { per_day: 0 }],
  ["half a call", { per_day: 1.5 }],
  ["more than can be counted", { per_week: 1001 }],
  ["another span", { per_month: 5 }],
  ["a number", 3],
])("%s is refused with its path", async (_what, value) => {
  const answer = await put(value);
  expect(answer.status).toBe(400);
  expect(answer.text).toContain("max_calls_per_callee");
});

test.each(["merchant", "user"] as const)("it is not %s's to change", async (role) => {
  expect((await put(CAP, role)).status).toBe(403);
});

test("explain says what counts and from when one more call fits; where the dialer does not answer, it is not judged", async () => {
  await put(CAP);
  const lead_id = await pushed(false);
  const gate = async (): Promise<unknown> => {
    const { body } = await http.ask("GET", `/leads/${lead_id}/explain`);
    return (body["gates"] as { gate: string }[]).find((g) => g.gate === CALLEE_CAPPED);
  };
  counted = { day: 1, week: 2, free_at: TOMORROW };
  expect(await gate()).toMatchObject({
    verdict: "hold",
    until: TOMORROW,
    values: { ...CAP, calls_in_24_hours: 1, calls_in_7_days: 2 },
  });
  const asked = http.calls.filter((c) => c.action === "dialer.calleeCalls").at(-1)?.params;
  expect(asked).toEqual({
    callees: [{ reseller_id: http.reseller_id, merchant_id: http.merchant_id, to: CALLEE, max_calls_per_callee: CAP }],
  });
  http.script["dialer.calleeCalls"] = () => {
    throw new Error("the dialer is of an older version");
  };
  expect(await gate()).toMatchObject({ verdict: "not_judged" });
  await put(null);
  expect(await gate()).toMatchObject({ verdict: "pass" });
});

test("the dialer is told the cap with each order, of the merchant's as it is then", async () => {
  await http.ask("POST", "/numbers", {
    body: {
      phone_number: "+14155550100",
      provider: "PROVIDER_ONE",
      reseller_id: http.reseller_id,
      max_concurrent_calls: 50,
    },
  });
  const orderOf = (lead_id: string): Promise<Record<string, unknown>> =>
    until("its order", () =>
      http.calls
        .filter((c) => c.action === "dialer.dialMany")
        .flatMap((c) => c.params["orders"] as Record<string, unknown>[])
        .find((o) => o["lead_id"] === lead_id),
    );
  const told = async (): Promise<unknown> => (await orderOf(await pushed(true)))["max_calls_per_callee"] ?? null;
  for (const cap of [CAP, null, { per_week: 2 }]) {
    await put(cap);
    // schedulers keep what they read of merchants for 2 s, or until they hear of the change
    await until("a scheduler that knows it", async () => {
      const known = JSON.stringify(await told()) === JSON.stringify(cap);
      return known || undefined;
    });
  }
});
