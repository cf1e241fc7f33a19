import blacklist from "../../../../services/blacklist/blacklist.service.ts";
import config from "../../../../services/config/config.service.ts";
import leads from "../../../../services/leads/leads.service.ts";
import numbers from "../../../../services/numbers/numbers.service.ts";
import scheduler from "../../../../services/scheduler/scheduler.service.ts";
import type { ConfigurationRecord } from "../../../../shared/contracts/records/configuration.ts";
import { namedReminder, setHttpStage, type Answer, type HttpStage } from "../../fixtures/http-stage.ts";

/** Sections 4.2 and 2.8 of the contract: what a playground push may change of its template's configuration, field by field. */
let http: HttpStage;
const CALLEE = "+14155550123";
const TESTER = "+14155550199";
/** Noon of tomorrow: within 09:00-17:00 UTC, and later than every delay here. */
const NOON = `${new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)}T12:00:00.000Z`;

async function made(path: string, body: object): Promise<string> {
  const answer = await http.ask("POST", path, { body });
  if (answer.status !== 201) throw new Error(`POST ${path} answered ${answer.status}: ${answer.text}`);
  return String(answer.body["id"] ?? "");
}

/** A template whose configuration says this. */
async function templateWith(settings: object): Promise<string> {
  const { reseller_id, merchant_id } = http;
  const template_id = await made("/templates", namedReminder({ reseller_id, merchant_id }));
  await made("/configurations", {
    template_id,
    initial_offset: 3600,
    retry_offset: 60,
    call_start_time: "09:00",
    call_end_time: "17:00",
    respect_callee_timezone: false,
    max_retry: 2,
    calling_provider: "PROVIDER_ONE",
    ...settings,
  });
  return template_id;
}

type Role = keyof HttpStage["tokens"];
const push = (template_id: string, over: object, role: Role = "merchant", to = CALLEE): Promise<Answer> =>
  http.ask("POST", "/leads", {
    token: http.tokens[role],
    body: {
      request_id: "playground",
      template_id,
      reseller_id: http.reseller_id,
      merchant_id: http.merchant_id,
      payload: { customer_name: "Ada", customer_mobile_number: to },
      is_playground: true,
      ...over,
    },
  });
const override = (template_id: string, fields: object, role?: Role, to?: string): Promise<Answer> =>
  push(template_id, { configurations_override: fields }, role, to);
const idOf = (pushed: Answer): string => String(pushed.body["lead_call_tracker_id"]);

/** What the scheduler goes by for a pushed lead. */
async function effectiveFor(pushed: Answer, template_id: string): Promise<ConfigurationRecord | null> {
  const { override: kept } = await http.stage.bus.call("leads.overrideOf", { lead_id: idOf(pushed) });
  return (await http.stage.bus.call("config.overridden", { template_id, override: kept ?? {} })).configuration;
}
type Gate = { gate: string; verdict: string; detail: string; values: Record<string, unknown>; until: string | null };
async function gateOf(pushed: Answer, name: string): Promise<Gate | undefined> {
  const { body } = await http.ask("GET", `/leads/${idOf(pushed)}/explain?at=${NOON}`);
  return (body["gates"] as Gate[]).find((g) => g.gate === name);
}
const dueAt = async (pushed: Answer): Promise<number> => {
  const { created_at } = (await http.ask("GET", `/leads/${idOf(pushed)}`)).body;
  const due = await gateOf(pushed, "due");
  return Math.round((Date.parse(String(due?.values["due_at"])) - Date.parse(String(created_at))) / 1000);
};
const errorsOf = (a: Answer): string[] =>
  (a.body["errors"] as { path: string }[] | undefined)?.map((e) => e.path) ?? [];

let template = "";
beforeAll(async () => {
  http = await setHttpStage([blacklist, config, leads, numbers, scheduler], {}, { SWEEP_INTERVAL_MS: "60000" });
  template = await templateWith({});
  const answer = await http.ask("PUT", `/merchants/${http.merchant_id}`, {
    token: http.tokens.reseller,
    body: { test_numbers: [TESTER, TESTER] },
  });
  expect([answer.status, answer.body["test_numbers"]]).toEqual([200, [TESTER]]);
});
afterAll(async () => {
  await http.stop();
});

/** Line of 2.8, a value that is merged, a value that is refused. */
const FIELDS: [field: string, value: unknown, wrong: unknown][] = [
  ["initial_offset", 7, "5m"],
  ["retry_offset", 5, -1],
  ["call_start_time", "10:00", "9:00"],
  ["call_end_time", "16:00", "24:00"],
  ["max_retry", 0, "none"],
  ["calling_provider", "PROVIDER_TWO", "twilio"],
  ["enable_calling", false, "false"],
  ["enable_international_call", false, 0],
  ["enable_inbound", true, "yes"],
  ["inbound_call_timezone", "Europe/Paris", "Mars/Olympus"],
  ["inbound_block_action", "REJECT", "PLAY"],
  ["inbound_redirect_number", "+14155550100", "reception"],
  ["inbound_block_message", "We are closed.", 5],
  ["enforce_blacklist", true, "true"],
  ["rate_limit_enabled", false, 1],
  ["rate_limit_max_calls", 3, 0],
  ["rate_limit_window_seconds", 60, 86_401],
  ["rate_limit_whitelist", [CALLEE], CALLEE],
  ["pre_checks", [{ name: "crm" }], [{ type: "external_api" }]],
  ["timezone", "UTC", "GMT+2"],
];

describe("4.2 configurations_override: a partial configuration (2.8) merged over the template's", () => {
  test.each(FIELDS)("2.8 %s is merged", async (field, value) => {
    const pushed = await override(template, { [field]: value });
    expect([pushed.status, pushed.body["message"]]).toEqual([201, "The lead is queued."]);
    expect(await effectiveFor(pushed, template)).toMatchObject({ [field]: value });
  });
  test.each(FIELDS)("2.8 %s with a value that it can't have: 422 with its path", async (field, _value, wrong) => {
    const answer = await override(template, { [field]: wrong });
    expect([answer.status, answer.body["code"]]).toEqual([422, "PAYLOAD_INVALID"]);
    expect(errorsOf(answer).map((path) => path.split(".").slice(0, 2).join("."))).toContain(
      `configurations_override.${field}`,
    );
  });
  test("2.8 inbound_call_start_time and inbound_call_end_time go together", async () => {
    const hours = { inbound_call_start_time: "09:00", inbound_call_end_time: "10:00" };
    expect(await effectiveFor(await override(template, hours), template)).toMatchObject(hours);
    const half = await override(template, { inbound_call_start_time: "09:00" });
    expect([half.status, errorsOf(half)]).toEqual([422, ["configurations_override.inbound_call_end_time"]]);
  });
  test.each(["template_id", "reseller_id", "merchant_id", "max_retries", "test_number", "colour"])(
    "2.8 %s is no field of it: 422 with its path",
    async (field) => {
      const answer = await override(template, { [field]: "x", max_retry: 0 });
      expect([answer.status, errorsOf(answer)]).toEqual([422, [`configurations_override.${field}`]]);
    },
  );
  test("4.2 what does not go together with the configuration's other fields: 422", async () => {
    const answer = await override(template, { rate_limit_enabled: true });
    expect([answer.status, errorsOf(answer)]).toEqual([422, ["configurations_override.rate_limit_max_calls"]]);
  });
  test("4.2 null counts as absent, of a field and of the whole", async () => {
    const nulls = await override(template, { initial_offset: null, max_retry: 0, colour: null });
    expect([nulls.status, await dueAt(nulls)]).toEqual([201, 3600]);
    expect(await effectiveFor(nulls, template)).toMatchObject({ initial_offset: 3600, max_retry: 0 });
    expect((await push(template, { configurations_override: null })).status).toBe(201);
    expect((await push(template, { configurations_override: null, is_playground: false })).status).toBe(201);
  });
  test("4.2 it is ignored unless is_playground is true, and the answer says so", async () => {
    for (const is_playground of [false, undefined]) {
      const pushed = await push(template, {
        is_playground,
        configurations_override: { initial_offset: 0, max_retries: 0 },
      });
      expect([pushed.status, await dueAt(pushed)]).toEqual([201, 3600]);
      expect(pushed.body["message"]).toMatch(/configurations_override \(is_playground is not true\)/);
      expect((await gateOf(pushed, "configuration"))?.detail).toMatch(/is_playground is not true/);
    }
  });
});

describe("what an override does", () => {
  test("2.8 initial_offset: both ways", async () => {
    expect(await dueAt(await override(template, { initial_offset: 0 }))).toBe(0);
    const atOnce = await templateWith({ initial_offset: 0 });
    expect(await dueAt(await override(atOnce, { initial_offset: 7200 }))).toBe(7200);
    expect(await dueAt(await override(atOnce, { max_retry: 0 }))).toBe(0);
  });
  test("2.8 enable_calling: on where the template's calling is off", async () => {
    const off = await templateWith({ enable_calling: false });
    expect((await gateOf(await override(off, { max_retry: 0 }), "calling_enabled"))?.verdict).toBe("hold");
    expect((await gateOf(await override(off, { enable_calling: true }), "calling_enabled"))?.verdict).toBe("pass");
  });
  test("2.8 rate_limit_*: a changed limit counts in a window of its own, alike for all that change it alike", async () => {
    const limited = await templateWith({
      rate_limit_enabled: true,
      rate_limit_max_calls: 1,
      rate_limit_window_seconds: 3600,
    });
    const windowOf = async (fields: object) =>
      (await effectiveFor(await override(limited, fields), limited))?.rate_window_id ?? null;
    const [same, more, again, other] = [
      await windowOf({ max_retry: 0 }),
      await windowOf({ rate_limit_max_calls: 5 }),
      await windowOf({ rate_limit_max_calls: 5, max_retry: 0 }),
      await windowOf({ rate_limit_max_calls: 6 }),
    ];
    expect([same, more === null, again, other === more]).toEqual([null, false, more, false]);
    expect(await effectiveFor(await override(limited, { rate_limit_enabled: false }), limited)).toMatchObject({
      rate_limit_enabled: false,
    });
  });
  test("a template without a configuration: the delay counts, the rest when it gets one", async () => {
    const { reseller_id, merchant_id } = http;
    const bare = await made("/templates", namedReminder({ reseller_id, merchant_id }));
    const pushed = await override(bare, { initial_offset: 30 });
    expect([pushed.status, await dueAt(pushed)]).toEqual([201, 30]);
    expect(errorsOf(await override(bare, { max_retry: 99 }))).toEqual(["configurations_override.max_retry"]);
  });
});

describe("who may override what", () => {
  const NIGHT = { call_start_time: "20:00", call_end_time: "06:00" };
  test.each(["merchant", "reseller", "admin"] as const)("%s: any field but what protects the callee", async (role) => {
    const pushed = await override(template, { initial_offset: 0, enforce_blacklist: false, ...NIGHT }, role);
    expect([pushed.status, await dueAt(pushed)]).toEqual([201, 0]);
    for (const field of ["call_start_time", "call_end_time", "enforce_blacklist"])
      expect(pushed.body["message"]).toContain(`configurations_override.${field} (`);
    expect(await effectiveFor(pushed, template)).toMatchObject({
      initial_offset: 0,
      call_start_time: "09:00",
      call_end_time: "17:00",
      enforce_blacklist: true,
    });
    const gate = await gateOf(pushed, "configuration");
    expect([gate?.verdict, gate?.detail]).toEqual([
      "pass",
      expect.stringContaining("the merchant's test_numbers only"),
    ]);
    expect(gate?.values["override_left_out"]).toHaveLength(3);
  });
  test("user: nothing; the lead is queued without it, and the answer says so", async () => {
    const pushed = await override(template, { initial_offset: 0, max_retry: 0 }, "user");
    expect([pushed.status, await dueAt(pushed)]).toEqual([201, 3600]);
    expect(pushed.body["message"]).toContain("the role user may not override a configuration");
    expect(await effectiveFor(pushed, template)).toMatchObject({ max_retry: 2, initial_offset: 3600 });
    expect((await gateOf(pushed, "configuration"))?.detail).toContain("the role user may not override");
    expect((await override(template, { max_retry: "x" }, "user")).status).toBe(422);
  });
  test("a number on the merchant's test_numbers is called in a wider window, and although it is listed later", async () => {
    const pushed = await override(template, { enforce_blacklist: false, ...NIGHT }, "merchant", TESTER);
    expect(pushed.body["message"]).toBe("The lead is queued.");
    expect(await effectiveFor(pushed, template)).toMatchObject({ enforce_blacklist: false, ...NIGHT });
    expect((await gateOf(pushed, "window"))?.verdict).toBe("hold");
    expect(
      (await gateOf(await override(template, { timezone: "Asia/Tokyo" }, "user", TESTER), "window"))?.verdict,
    ).toBe("pass");
  });
  test("a rule that becomes stricter after the push holds for all but test numbers", async () => {
    const open = await templateWith({ call_start_time: "00:00", call_end_time: "00:00", enforce_blacklist: false });
    const pushed = await override(open, { enforce_blacklist: false, ...NIGHT });
    expect(await effectiveFor(pushed, open)).toMatchObject({ enforce_blacklist: false, ...NIGHT });
    const { body } = await http.ask("GET", `/configurations?template_id=${open}`);
    const id = (body["configurations"] as { id: string }[])[0]?.id ?? "";
    await http.ask("PUT", `/configurations/${id}`, {
      body: { call_start_time: "09:00", call_end_time: "17:00", enforce_blacklist: true },
    });
    expect(await effectiveFor(pushed, open)).toMatchObject({ enforce_blacklist: true, call_start_time: "09:00" });
  });
});

describe("an emergency or short number is never called", () => {
  test.each([
    ["+2710111", "an emergency number of ZA"],
    ["+49110", "an emergency number of DE"],
    ["+49 116117", "a short number of DE"],
  ])("%s: 422 with the reason, with an override and without one", async (to, what) => {
    for (const over of [{ is_playground: false }, { configurations_override: { enforce_blacklist: false } }]) {
      const answer = await push(template, over, "reseller", to);
      expect([answer.status, answer.body["code"], answer.body["errors"]]).toEqual([
        422,
        "INVALID_PHONE_NUMBER",
        [{ path: "payload.customer_mobile_number", message: `is ${what}, which is never called` }],
      ]);
    }
  });
});

describe("test_numbers of a merchant", () => {
  const put = (test_numbers: unknown, role: Role = "reseller"): Promise<Answer> =>
    http.ask("PUT", `/merchants/${http.merchant_id}`, { token: http.tokens[role], body: { test_numbers } });
  test.each(["merchant", "user"] as const)("are not %s's to change", async (role) => {
    expect((await put([CALLEE], role)).status).toBe(403);
  });
  test.each<[string, unknown, string]>([
    ["what is no number", ["reception"], "test_numbers.0"],
    ["a number that can't be", [TESTER, "+10005550100"], "test_numbers.1"],
    ["an emergency number", [TESTER, "+2710111"], "test_numbers.1"],
    ["more than a hundred", Array.from({ length: 101 }, (_, i) => `+1415555${2000 + i}`), "test_numbers"],
  ])("%s is refused with its path", async (_what, value, path) => {
    const answer = await put(value);
    expect([answer.status, errorsOf(answer)]).toEqual([400, [path]]);
  });
  test("are shown with the merchant, kept in one spelling, and may be given when it is created", async () => {
    const { reseller_id } = http;
    const body = {
      name: "With testers",
      reseller_id,
      contact_email: "t@example.com",
      test_numbers: ["+4402079460958"],
    };
    const id = await made("/merchants", body);
    const read = await http.ask("GET", `/merchants/${id}`, { token: http.tokens.reseller });
    expect(read.body["test_numbers"]).toEqual(["+442079460958"]);
    const audit = await http.ask("GET", "/audit?limit=5");
    expect(audit.text).not.toContain(TESTER);
  });
});
