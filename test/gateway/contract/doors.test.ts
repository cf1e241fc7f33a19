import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import config from "../../../services/config/config.service.ts";
import leads from "../../../services/leads/leads.service.ts";
import { fail, type ErrorCode } from "../../../shared/errors.ts";
import { isRecord } from "../../../shared/json.ts";
import { asAdmin } from "../../../local/harness/stage.ts";
import { setHttpStage, type Answer, type HttpStage } from "../fixtures/http-stage.ts";

/** Doors: how they are made, and how a visitor of a website calls through one. */
const PAGE = "https://shop.example.com";
const ADMITTED = {
  verdict: "admitted",
  gate: null,
  detail: "",
  outcome: null,
  plan: { template_version: 1, max_call_seconds: 120, record: true, engine: null },
};
const HELD = {
  ...ADMITTED,
  verdict: "deferred",
  gate: "deployment",
  detail: "The merchant Shop is paused.",
  plan: null,
};
const lines: string[] = [];
let http: HttpStage;
let template_id = "";
let ruling: object = ADMITTED;
let refused: ErrorCode | null = null;

beforeAll(async () => {
  const access = {
    url: "wss://media",
    token: "t".repeat(40),
    room_name: "rtc-x",
    expires_at: "2026-01-01T00:00:00.000Z",
  };
  http = await setHttpStage([config, leads], {}, { PUBLIC_HTTP_URL: "https://calls.example.com" }, {}, (line) => {
    lines.push(line);
  });
  http.script["scheduler.admitSession"] = () => ruling;
  http.script["dialer.openSession"] = () =>
    refused ? fail(refused, "The merchant's spend ceiling is reached.") : access;
  http.script["dialer.rejoinSession"] = () => access;
  http.script["dialer.history"] = () => ({ calls: [], carrier_events: [] });
  http.script["webhook.deliveries"] = () => ({ deliveries: [] });
  template_id = await sample();
});
afterAll(() => http.stop());
beforeEach(() => {
  ruling = ADMITTED;
  refused = null;
});

/** A template whose pages may give a name. */
async function sample(): Promise<string> {
  const { body } = await http.ask("POST", "/templates", {
    body: {
      reseller_id: http.reseller_id,
      merchant_id: http.merchant_id,
      name: "call us",
      initial_node: "hello",
      nodes: [{ name: "hello", say: "Hello {{name}}.", on_enter: [{ type: "end_call" }] }],
      payload_schema: {
        type: "object",
        properties: { name: { type: "string", maxLength: 20 } },
        additionalProperties: false,
      },
    },
  });
  return String(body["id"]);
}
const make = async (over: object = {}, token?: string): Promise<Answer> =>
  http.ask("POST", "/doors", { body: { template_id, origins: [PAGE], ...over }, ...(token ? { token } : {}) });
const keyOf = async (over: object = {}): Promise<string> => String((await make(over)).body["key"]);
/** What a page of this origin is answered; null: a program without one. */
const call = (key: string, over: { origin?: string | null; body?: unknown; address?: string } = {}): Promise<Answer> =>
  http.ask("POST", `/r/call/${key}`, {
    origin: true,
    token: null,
    ...(over.body === undefined ? {} : { body: over.body as object }),
    headers: {
      ...(over.origin === null ? {} : { Origin: over.origin ?? PAGE }),
      ...(over.address === undefined ? {} : { "X-Forwarded-For": over.address }),
    },
  });
const allowed = ({ headers }: Answer): string | null => headers.get("access-control-allow-origin");
const leadsOf = async (door_id: unknown): Promise<Record<string, unknown>[]> => {
  const { body } = await http.ask("GET", `/leads/request/door:${String(door_id)}`);
  return Array.isArray(body["leads"]) ? body["leads"].filter(isRecord) : [];
};

describe("a door", () => {
  test("is made, listed and withdrawn by who may write its template, and audited", async () => {
    const made = await make({ calls_per_day: 5 }, http.tokens.merchant);
    expect([made.status, made.body]).toEqual([
      201,
      expect.objectContaining({ template_id, origins: [PAGE], calls_per_address_hour: 20, calls_per_day: 5 }),
    ]);
    expect((await make({}, http.tokens.user)).status).toBe(403);
    const listed = async (): Promise<string> =>
      (await http.ask("GET", `/doors?template_id=${template_id}`, { token: http.tokens.user })).text;
    expect(await listed()).toContain(String(made.body["key"]));
    expect((await call(String(made.body["key"]))).status).toBe(201);
    const { status } = await http.ask("DELETE", `/doors/${String(made.body["id"])}`, { token: http.tokens.merchant });
    expect([status, (await listed()).includes(String(made.body["key"]))]).toEqual([204, false]);
    const { status: after, body } = await call(String(made.body["key"]));
    expect([after, body["code"]]).toEqual([404, "DOOR_NOT_FOUND"]);
    expect((await http.ask("GET", "/audit?limit=20")).text).toMatch(/door\.withdrawn[^]*door\.made/);
  });

  test.each([
    "http://shop.example.com",
    "https://shop.example.com/",
    "https://*.example.com",
    "https://a.example:443",
    "null",
  ])("%s is no website that one can be made for", async (origin) => {
    expect((await make({ origins: [origin] })).status).toBe(400);
  });

  test("is of no use while its merchant or template is switched off, and goes with the template", async () => {
    const owner = { reseller_id: http.reseller_id };
    const merchant = await http.ask("POST", "/merchants", {
      body: { ...owner, name: "Other", contact_email: "o@example.com" },
    });
    const merchant_id = String(merchant.body["id"]);
    const nodes = [{ name: "a", say: "Hello.", on_enter: [{ type: "end_call" }] }];
    const flow = { ...owner, merchant_id, name: "other", initial_node: "a", nodes };
    const other = String((await http.ask("POST", "/templates", { body: flow })).body["id"]);
    const key = await keyOf({ template_id: other });
    const active = (is_active: boolean) =>
      http.stage.bus.call("merchants.update", { by: asAdmin, id: merchant_id, is_active });
    expect((await call(key)).status).toBe(201);
    await active(false);
    expect((await call(key)).body["code"]).toBe("SESSION_HELD");
    await active(true);
    await http.stage.bus.call("config.updateTemplate", { by: asAdmin, id: other, template: { is_active: false } });
    expect((await call(key)).body["code"]).toBe("SESSION_HELD");
    const [unused, left] = [await sample(), await keyOf()];
    const gone = await keyOf({ template_id: unused });
    await http.stage.bus.call("config.deleteTemplate", { by: asAdmin, id: unused });
    expect([(await call(gone)).status, (await call(left)).status]).toEqual([404, 201]);
  });
});

describe("a visitor", () => {
  test("calls without a token: an inbound lead, joined by the link with the secret that was answered, and by nobody else", async () => {
    const made = await make();
    const answer = await call(String(made.body["key"]), { body: { variables: { name: "Ada" } } });
    expect([
      answer.status,
      allowed(answer),
      answer.headers.get("cache-control"),
      Object.keys(answer.body).sort(),
    ]).toEqual([201, PAGE, "no-store", ["expires_at", "resume", "url"]]);
    const [{ id } = { id: "" }] = await leadsOf(made.body["id"]);
    const { body: lead, text } = await http.ask("GET", `/leads/${String(id)}`);
    expect(lead).toMatchObject({
      status: "PROCESSING",
      call_direction: "INBOUND",
      execution_mode: "RTC",
      merchant_id: http.merchant_id,
      payload: { name: "Ada" },
      metaData: { door: { id: made.body["id"], origin: PAGE } },
    });
    const [url, resume] = [String(answer.body["url"]), String(answer.body["resume"])];
    const enter = (body: object) =>
      http.ask("POST", new URL(url).pathname, { origin: true, token: null, body, headers: { Origin: PAGE } });
    expect([(await enter({})).status, (await enter({ resume })).body["token"]]).toEqual([409, "t".repeat(40)]);
    const { text: explained } = await http.ask("GET", `/leads/${String(id)}/explain`);
    expect(explained).toContain("The customer called us");
    expect((await http.ask("GET", `/leads/${String(id)}/timeline`)).status).toBe(200);
    for (const secret of [resume, new URL(url).pathname.slice("/r/".length), String(made.body["key"])])
      expect(`${text}${lines.join("")}`).not.toContain(secret);
  });

  test("of another website, or none, is answered 403 and may not read it; only its own may", async () => {
    const key = await keyOf();
    for (const origin of [
      "https://evil.example",
      "https://shop.example.com.evil.example",
      "http://shop.example.com",
      "null",
      null,
    ]) {
      const answer = await call(key, { origin });
      expect([answer.status, answer.body["code"], allowed(answer), answer.headers.get("vary")]).toEqual([
        403,
        "FORBIDDEN",
        null,
        "Origin",
      ]);
    }
    const preflight = (Origin: string) =>
      http.ask("OPTIONS", `/r/call/${key}`, {
        origin: true,
        token: null,
        headers: { Origin, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type" },
      });
    const [own, evil] = [await preflight(PAGE), await preflight("https://evil.example")];
    expect([own.status, allowed(own), own.headers.get("access-control-allow-headers")]).toEqual([
      204,
      PAGE,
      "Content-Type",
    ]);
    expect([evil.status, allowed(evil)]).toEqual([403, null]);
  });

  test("gives variables that the template's schema allows, and nothing of who is called and where it is reported", async () => {
    const key = await keyOf();
    const bad: [unknown, number][] = [
      [{ variables: { name: 7 } }, 422],
      [{ variables: { other: "x" } }, 422],
      [{ variables: { customer_mobile_number: "+14155550100" } }, 422],
      [{ variables: { reporting_webhook_url: "https://evil.example" } }, 422],
      [{ variables: { "name\0": "x" } }, 400],
      [{ variables: "Ada" }, 400],
      [{ template_id: "x" }, 400],
      ["{", 400],
      [{ variables: { name: "x".repeat(9000) } }, 400],
      [{ variables: { name: "x".repeat(20_000) } }, 413],
    ];
    for (const [body, status] of bad) expect([body, (await call(key, { body })).status]).toEqual([body, status]);
    expect((await call(key, { body: { variables: { name: "Ada" } } })).status).toBe(201);
  });

  test("calls so often from one address, and no website more often than its door allows", async () => {
    const key = await keyOf({
      origins: [PAGE, "http://localhost:8080"],
      calls_per_address_hour: 2,
      calls_per_origin_hour: 3,
    });
    const from = async (address: string, origin = PAGE) => {
      const { status, headers } = await call(key, { address, origin });
      return [status, Number(headers.get("retry-after")) > 0];
    };
    // the last entry is what our proxy saw; whatever stands before it is the client's own tale
    expect([await from("10.200.0.1"), await from("9.9.9.9, 10.200.0.1"), await from("8.8.8.8, 10.200.0.1")]).toEqual([
      [201, false],
      [201, false],
      [429, true],
    ]);
    expect([
      await from("10.200.0.2"),
      await from("10.200.0.3"),
      await from("10.200.0.4", "http://localhost:8080"),
    ]).toEqual([
      [201, false],
      [429, true],
      [201, false],
    ]);
    const daily = await keyOf({ calls_per_day: 1 });
    expect([(await call(daily)).status, (await call(daily)).status]).toEqual([201, 429]);
  });

  test("is told nothing of the tenant where calls are held, and counts and leaves no lead", async () => {
    const made = await make({ calls_per_day: 1 });
    ruling = HELD;
    const answer = await call(String(made.body["key"]));
    expect([answer.status, answer.body["code"], answer.text.includes("Shop")]).toEqual([409, "SESSION_HELD", false]);
    expect(await leadsOf(made.body["id"])).toEqual([]);
    ruling = ADMITTED;
    expect((await call(String(made.body["key"]))).status).toBe(201);
  });

  test.each([
    ["BUSY", 503],
    ["SESSION_HELD", 409],
  ] as const)("who finds no place (%s) is answered %i, and the lead says so", async (code, status) => {
    refused = code;
    const made = await make();
    const answer = await call(String(made.body["key"]));
    expect([
      answer.status,
      answer.headers.has("retry-after"),
      allowed(answer),
      answer.text.includes("ceiling is"),
    ]).toEqual([status, code === "BUSY", PAGE, code === "BUSY"]);
    const [lead] = await leadsOf(made.body["id"]);
    expect(lead).toMatchObject({ status: "FINISHED", outcome: "failed", attempt_count: 0 });
  });

  test("who guesses keys is shut out for a minute", async () => {
    const guess = () => call("A".repeat(24), { address: "10.201.0.1" }).then(({ status }) => status);
    const first = await guess();
    const rest = await Promise.all(Array.from({ length: 70 }, guess));
    expect([first, rest.at(-1)]).toEqual([404, 429]);
  });
});
