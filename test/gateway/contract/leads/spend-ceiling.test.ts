import config from "../../../../services/config/config.service.ts";
import leads from "../../../../services/leads/leads.service.ts";
import numbers from "../../../../services/numbers/numbers.service.ts";
import scheduler from "../../../../services/scheduler/scheduler.service.ts";
import { SPEND_CEILING } from "../../../../shared/contracts/records/explanation.ts";
import { until } from "../../../../local/harness/stage.ts";
import { createdId, namedReminder, setHttpStage, type Answer, type HttpStage } from "../../fixtures/http-stage.ts";

/** Spend ceilings over HTTP: who sets them, how they are shown, what the dialer is told and what explain says. */
let http: HttpStage;
const CALLEE = "+14155550123";
const MIDNIGHT = "2030-01-02T00:00:00.000Z";
const CEILING = { per_day: { calls: 10, money: 2.5 }, per_month: { minutes: 1000 } };
const OF_RESELLER = { per_month: { money: 20_000.5 } };
const FREE = { room: { merchant: 5, reseller: 5 }, reached: null };
let room: object = FREE;
beforeAll(async () => {
  http = await setHttpStage(
    [config, leads, numbers, scheduler],
    {},
    { PROVIDER_ONE_CALLS_PER_SECOND: "0", SCHEDULER_INTERVAL_MS: "200" },
    {
      "blacklist.check": ({ pairs }) => ({ listed: (pairs as object[]).map(() => false) }),
      "dialer.dialMany": ({ orders }) => ({ taken: (orders as object[]).map(() => true) }),
      "dialer.reconcile": () => ({ verdict: "live", lease_seconds: 3600 }),
      "dialer.spendRoom": ({ calls }) => ({ calls: (calls as object[]).map(() => room) }),
    },
  );
});
afterAll(async () => {
  await http.stop();
});

type Role = keyof HttpStage["tokens"];
const put = (of: "merchants" | "resellers", spend_ceiling: unknown, role: Role): Promise<Answer> =>
  http.ask("PUT", `/${of}/${of === "merchants" ? http.merchant_id : http.reseller_id}`, {
    token: http.tokens[role],
    body: { spend_ceiling },
  });

/** A lead of a template of the merchant's that calls at once, or not at all. */
async function pushed(enable_calling: boolean, more: object = {}): Promise<string> {
  const { reseller_id, merchant_id } = http;
  const template_id = await createdId(http, "/templates", namedReminder({ reseller_id, merchant_id }));
  const window = { call_start_time: "00:00", call_end_time: "00:00", timezone: "UTC", max_retry: 0 };
  const settings = { initial_offset: 0, retry_offset: 60, ...window, calling_provider: "PROVIDER_ONE", enable_calling };
  await createdId(http, "/configurations", { template_id, ...settings });
  const payload = { customer_name: "Ada", customer_mobile_number: CALLEE };
  const lead = { request_id: "spending", template_id, reseller_id, merchant_id, payload, ...more };
  return createdId(http, "/leads", lead, "lead_call_tracker_id");
}

/** What the dialer was offered. */
const orders = (): Record<string, unknown>[] =>
  http.calls
    .filter((c) => c.action === "dialer.dialMany")
    .flatMap((c) => c.params["orders"] as Record<string, unknown>[]);

test("a merchant's is set by its reseller, shown to all who see the merchant, and taken away with null", async () => {
  expect((await put("merchants", CEILING, "reseller")).body["spend_ceiling"]).toEqual(CEILING);
  const shown = await http.ask("GET", `/merchants/${http.merchant_id}`, { token: http.tokens.merchant });
  expect(shown.body["spend_ceiling"]).toEqual(CEILING);
  expect((await put("merchants", { per_day: { calls: 1 } }, "admin")).body["spend_ceiling"]).toEqual({
    per_day: { calls: 1 },
  });
  expect((await put("merchants", null, "reseller")).body["spend_ceiling"]).toBeNull();
});

test("a reseller's is set by an admin, and every change is in the audit log's call", async () => {
  expect((await put("resellers", OF_RESELLER, "admin")).body["spend_ceiling"]).toEqual(OF_RESELLER);
  const audit = await http.ask("GET", "/audit?action=reseller.updated");
  expect(audit.body["entries"]).toEqual(
    expect.arrayContaining([expect.objectContaining({ details: { spend_ceiling: OF_RESELLER } })]),
  );
  expect((await put("resellers", null, "admin")).body["spend_ceiling"]).toBeNull();
});

test.each<["merchants" | "resellers", Role]>([
  ["resellers", "reseller"],
  ["resellers", "merchant"],
  ["merchants", "merchant"],
  ["merchants", "user"],
])("of %s it is not %s's to change", async (of, role) => {
  expect((await put(of, CEILING, role)).status).toBe(403);
});

test.each<[string, unknown]>([
  ["no limit at all", {}],
  ["a period without one", { per_day: {} }],
  ["no call at all", { per_day: { calls: 0 } }],
  ["half a minute", { per_day: { minutes: 0.5 } }],
  ["money below what is counted", { per_month: { money: 0 } }],
  ["money in words", { per_month: { money: "20" } }],
  ["another span", { per_week: { calls: 5 } }],
])("%s is refused with its path", async (_what, value) => {
  const answer = await put("merchants", value, "reseller");
  expect(answer.status).toBe(400);
  expect(answer.text).toContain("spend_ceiling");
});

test("explain says whose ceiling is reached, of which period, in what and until when; where no dialer answers it is not judged", async () => {
  await put("merchants", CEILING, "reseller");
  const lead_id = await pushed(false);
  const gate = async (): Promise<unknown> => {
    const { body } = await http.ask("GET", `/leads/${lead_id}/explain`);
    return (body["gates"] as { gate: string }[]).find((g) => g.gate === SPEND_CEILING);
  };
  const reached = { whose: "merchant", period: "day", what: "calls", until: MIDNIGHT };
  room = { room: { merchant: 0 }, reached };
  expect(await gate()).toMatchObject({ verdict: "hold", until: MIDNIGHT, values: reached });
  const { reseller_id, merchant_id } = http;
  const asked = { reseller_id, merchant_id, to: CALLEE, spend_ceilings: { merchant: CEILING } };
  expect(http.calls.filter((c) => c.action === "dialer.spendRoom").map((c) => c.params)).toEqual(
    expect.arrayContaining([{ calls: [expect.objectContaining(asked)] }]),
  );
  room = FREE;
  expect(await gate()).toMatchObject({ verdict: "pass" });
  http.script["dialer.spendRoom"] = () => {
    throw new Error("the dialer is of an older version");
  };
  expect(await gate()).toMatchObject({ verdict: "not_judged" });
  http.script["dialer.spendRoom"] = ({ calls }) => ({ calls: (calls as object[]).map(() => room) });
  await put("merchants", null, "reseller");
  expect(await gate()).toMatchObject({ verdict: "pass" });
});

test("of a session explain tells the ceilings too: it takes time, no money and no number", async () => {
  await put("merchants", CEILING, "reseller");
  room = FREE;
  const lead_id = await pushed(true, { execution_mode: "RTC", request_id: "session" });
  const { body } = await http.ask("GET", `/leads/${lead_id}/explain`);
  const gates = body["gates"] as { gate: string; verdict: string }[];
  expect(gates.find((g) => g.gate === SPEND_CEILING)).toMatchObject({ verdict: "pass" });
  const asked = http.calls.filter((c) => c.action === "dialer.spendRoom").map((c) => c.params);
  expect(asked).toContainEqual({ calls: [expect.objectContaining({ to: null, unpaid: true })] });
});

test("a lead over the ceiling is not claimed; once there is room it is, and the dialer is told both ceilings", async () => {
  await http.ask("POST", "/numbers", {
    body: {
      phone_number: "+14155550100",
      provider: "PROVIDER_ONE",
      reseller_id: http.reseller_id,
      max_concurrent_calls: 50,
    },
  });
  await put("merchants", CEILING, "reseller");
  await put("resellers", OF_RESELLER, "admin");
  room = {
    room: { merchant: 0, reseller: 5 },
    reached: { whose: "merchant", period: "day", what: "calls", until: null },
  };
  const asked = () => http.calls.filter((c) => c.action === "dialer.spendRoom").length;
  let before = asked();
  // the scheduler has heard of the ceilings once it asks for the room of the lead that waits already
  await until("the scheduler to know the ceilings", async () => asked() > before || undefined);
  before = asked();
  const lead_id = await pushed(true);
  const ordersOf = () => orders().filter((o) => o["lead_id"] === lead_id);
  await until("the room to be asked for in a few passes", async () => asked() > before + 2 || undefined);
  expect(ordersOf()).toEqual([]);
  expect((await http.ask("GET", `/leads/${lead_id}`)).body["status"]).toBe("BACKLOG");
  room = FREE;
  const order = await until("the order", async () => ordersOf()[0]);
  expect(order["spend_ceilings"]).toEqual({ merchant: CEILING, reseller: OF_RESELLER });
});

test("without a ceiling the order names none", async () => {
  await put("merchants", null, "reseller");
  await put("resellers", null, "admin");
  // schedulers keep what they read of merchants for 2 s, or until they hear of the change
  await until("an order without ceilings", async () => {
    const lead_id = await pushed(true);
    const order = await until("its order", async () => orders().find((o) => o["lead_id"] === lead_id));
    return !("spend_ceilings" in order) || undefined;
  });
});
