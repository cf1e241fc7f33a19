import { Errors } from "moleculer";
import { fail, type ErrorCode } from "../../../shared/errors.ts";
import { setHttpStage, type HttpStage } from "../fixtures/http-stage.ts";

let http: HttpStage;
beforeAll(async () => {
  http = await setHttpStage();
});
afterAll(async () => {
  await http.stop();
});
beforeEach(() => {
  for (const name of Object.keys(http.script)) Reflect.deleteProperty(http.script, name);
  http.calls.length = 0;
});

const TEMPLATE = "7f9c24e8-3b12-4fef-91e0-5a4d8c2b1a00";
const lead = (over: Record<string, unknown> = {}) => ({
  request_id: "o-1",
  template_id: TEMPLATE,
  reseller_id: http.reseller_id,
  payload: { customer_mobile_number: "+14155550100" },
  ...over,
});
const fails = (code: ErrorCode, data?: Parameters<typeof fail>[2]) => () =>
  fail(code, "what was wrong, and what to do", data);

describe("POST /leads answers each refusal with its documented status", () => {
  const without = (key: string) => () => Object.fromEntries(Object.entries(lead()).filter(([k]) => k !== key));
  const rows: [string, () => unknown, number, string, string | null][] = [
    ["request_id missing", without("request_id"), 400, "VALIDATION_FAILED", "request_id"],
    ["template_id missing", without("template_id"), 400, "VALIDATION_FAILED", "template_id"],
    ["payload missing", without("payload"), 400, "VALIDATION_FAILED", "payload"],
    ["reseller_id missing", without("reseller_id"), 400, "VALIDATION_FAILED", "reseller_id"],
    [
      "an invalid execution_mode",
      () => lead({ execution_mode: "CARRIER_PIGEON" }),
      400,
      "VALIDATION_FAILED",
      "execution_mode",
    ],
    ["an unknown field", () => lead({ status: "FINISHED" }), 400, "VALIDATION_FAILED", "status"],
    ["no body", () => undefined, 400, "VALIDATION_FAILED", ""],
    ["an array", () => [lead()], 400, "VALIDATION_FAILED", ""],
    ["null", () => "null", 400, "VALIDATION_FAILED", ""],
    ["request_id of another type", () => lead({ request_id: 7 }), 422, "VALIDATION_FAILED", "request_id"],
    ["payload of another type", () => lead({ payload: "x" }), 422, "VALIDATION_FAILED", "payload"],
    ["is_playground of another type", () => lead({ is_playground: "yes" }), 422, "VALIDATION_FAILED", "is_playground"],
  ];
  test.each(rows)("%s", async (_, body, status, code, path) => {
    const answer = await http.ask("POST", "/leads", { body: body() });
    expect([answer.status, answer.body["code"], (answer.body["errors"] as { path: string }[])[0]?.path]).toEqual([
      status,
      code,
      path,
    ]);
    expect(answer.headers.get("content-type")).toBe("application/problem+json");
    expect(http.calls).toEqual([]);
  });

  const owners: [ErrorCode, number][] = [
    ["TEMPLATE_UNKNOWN", 400],
    ["TEMPLATE_NOT_FOUND", 404],
    ["TEMPLATE_INACTIVE", 409],
    ["PAYLOAD_INVALID", 422],
    ["INVALID_PHONE_NUMBER", 422],
    ["NUMBER_BLACKLISTED", 403],
    ["FORBIDDEN", 403],
    ["WEBHOOK_ADDRESS_REFUSED", 422],
    ["STORE_UNAVAILABLE", 500],
  ];
  test.each(owners)("%s of the leads service is %i", async (code, status) => {
    http.script["leads.push"] = fails(code);
    const answer = await http.ask("POST", "/leads", { body: lead() });
    expect([answer.status, answer.body["code"], answer.body["detail"]]).toEqual([
      status,
      code,
      "what was wrong, and what to do",
    ]);
  });

  test("a failure's own paths are passed on", async () => {
    http.script["leads.push"] = fails("PAYLOAD_INVALID", {
      errors: [{ path: "payload.name", message: "is required" }],
    });
    expect((await http.ask("POST", "/leads", { body: lead() })).body["errors"]).toEqual([
      { path: "payload.name", message: "is required" },
    ]);
  });

  test("201 with the answer of the service; the lead and who asks arrive as they were", async () => {
    http.script["leads.push"] = () => ({
      status: "queued",
      lead_call_tracker_id: TEMPLATE,
      order_id: "o-1",
      message: "queued",
    });
    const answer = await http.ask("POST", "/leads", { body: lead(), token: http.tokens.user });
    expect([answer.status, answer.body]).toEqual([
      201,
      { status: "queued", lead_call_tracker_id: TEMPLATE, order_id: "o-1", message: "queued" },
    ]);
    expect(http.calls).toEqual([
      {
        action: "leads.push",
        params: {
          lead: lead(),
          by: {
            kind: "s2s",
            id: expect.any(String),
            role: "user",
            reseller_id: http.reseller_id,
            merchant_id: http.merchant_id,
          },
        },
      },
    ]);
  });
});

describe("the other endpoints", () => {
  const rows: [string, string, string, unknown, ErrorCode, number][] = [
    [
      "POST",
      "/numbers",
      "numbers.create",
      { phone_number: "+14155550100", provider: "PROVIDER_ONE" },
      "NUMBER_EXISTS",
      409,
    ],
    [
      "POST",
      "/numbers",
      "numbers.create",
      { phone_number: "555", provider: "PROVIDER_ONE" },
      "INVALID_PHONE_NUMBER",
      400,
    ],
    ["POST", "/blacklist", "blacklist.add", { phone_numbers: ["555"] }, "INVALID_PHONE_NUMBER", 400],
    ["GET", "/templates/x", "config.getTemplate", undefined, "TEMPLATE_NOT_FOUND", 404],
    ["GET", "/leads/x", "leads.get", undefined, "LEAD_NOT_FOUND", 404],
    ["GET", "/leads/request/x", "leads.byRequest", undefined, "LEAD_NOT_FOUND", 404],
    ["GET", "/leads", "leads.list", undefined, "STORE_UNAVAILABLE", 503],
    ["GET", "/leads", "leads.list", undefined, "NOT_AVAILABLE", 501],
  ];
  test.each(rows)("%s %s (%s)", async (method, path, action, body, code, status) => {
    http.script[action] = fails(code);
    const answer = await http.ask(method, path, { body });
    expect([answer.status, answer.body["code"]]).toEqual([status, code]);
  });

  test.each([
    ["/numbers", { provider: "PROVIDER_ONE" }, "phone_number"],
    ["/numbers", { phone_number: "+14155550100", provider: "PIGEON" }, "provider"],
    ["/merchants", { name: "x" }, "reseller_id"],
    ["/blacklist", {}, "phone_numbers"],
    ["/blacklist", { phone_numbers: "+14155550100" }, "phone_numbers"],
    ["/configurations", { template_id: TEMPLATE }, "initial_offset"],
    ["/templates", { name: "x" }, "reseller_id"],
    ["/lead/abort", {}, "leads"],
    ["/lead/abort", { leads: { lead_id: "x", cancellation_reason: "y" } }, "leads"],
    ["/resellers", { name: 1 }, "name"],
  ])("POST %s %j is 400, and names %s", async (path, body, fault) => {
    const answer = await http.ask("POST", path, { body });
    expect([answer.status, answer.body["code"]]).toEqual([400, "VALIDATION_FAILED"]);
    expect((answer.body["errors"] as { path: string }[]).map((e) => e.path)).toContain(fault);
  });

  test("POST /lead/abort is 200 with a result per lead", async () => {
    const leads = [
      { id: "a", status: "success", message: "" },
      { id: "b", status: "error", message: "not found" },
    ];
    http.script["leads.abort"] = () => ({ leads });
    const answer = await http.ask("POST", "/lead/abort", {
      body: {
        leads: [
          { lead_id: "a", cancellation_reason: "x" },
          { lead_id: "b", cancellation_reason: "x" },
        ],
      },
    });
    expect([answer.status, answer.body]).toEqual([200, { leads }]);
  });

  test("merchants: 201, 403 for a foreign reseller, 404 for an unknown one, 200 for the list", async () => {
    const body = { name: "Second", reseller_id: http.reseller_id, contact_email: "b@example.com" };
    expect((await http.ask("POST", "/merchants", { body, token: http.tokens.reseller })).status).toBe(201);
    expect(
      (await http.ask("POST", "/merchants", { body: { ...body, reseller_id: "other" }, token: http.tokens.reseller }))
        .body["code"],
    ).toBe("FORBIDDEN");
    const unknown = await http.ask("POST", "/merchants", { body: { ...body, reseller_id: "other" } });
    expect([unknown.status, unknown.body["code"]]).toEqual([404, "RESELLER_NOT_FOUND"]);
    const list = await http.ask("GET", "/merchants?limit=1", { token: http.tokens.reseller });
    expect([list.status, list.body["count"], typeof list.body["next_cursor"]]).toEqual([200, 1, "string"]);
  });

  test("deliveries: the lead's scope is asked for first", async () => {
    http.script["leads.get"] = fails("LEAD_NOT_FOUND");
    expect((await http.ask("GET", "/leads/x/deliveries")).status).toBe(404);
    expect(http.calls.map((c) => c.action)).toEqual(["leads.get"]);
    http.script["leads.get"] = () => ({ id: TEMPLATE });
    http.script["webhook.deliveries"] = () => ({ deliveries: [] });
    const answer = await http.ask("GET", `/leads/${TEMPLATE}/deliveries`);
    expect([answer.status, answer.body]).toEqual([200, { deliveries: [] }]);
    expect(http.calls.at(-2)?.params).toEqual({ lead_id: TEMPLATE, by: expect.objectContaining({ role: "admin" }) });
    expect(http.calls.at(-1)).toEqual({ action: "webhook.deliveries", params: { lead_id: TEMPLATE } });
  });

  test("a lead whose request_id is `deliveries` is found by its request_id", async () => {
    http.script["leads.byRequest"] = () => ({ request_id: "deliveries", count: 0, leads: [] });
    await http.ask("GET", "/leads/request/deliveries");
    expect(http.calls.map((c) => c.action)).toEqual(["leads.byRequest"]);
  });

  test("path parameters are decoded once; a % that begins nothing is no endpoint", async () => {
    await http.ask("GET", "/leads/request/a%2Fb%20%25c");
    expect(http.calls[0]?.params["request_id"]).toBe("a/b %c");
    expect((await http.ask("GET", "/leads/request/%zz")).status).toBe(404);
  });
});

describe("errors behind the gateway", () => {
  const SECRET = "E11000 mongodb://user:pass@db at node services";
  const rows: [string, () => never, number, ErrorCode, boolean][] = [
    [
      "an unexpected error",
      () => {
        throw new TypeError(SECRET);
      },
      500,
      "INTERNAL",
      false,
    ],
    [
      "a framework's error",
      () => {
        throw new Errors.MoleculerError(SECRET, 404, "NOT_FOUND", { secret: SECRET });
      },
      500,
      "INTERNAL",
      false,
    ],
    [
      "a service that is not there",
      () => {
        throw new Errors.ServiceNotAvailableError({ action: "leads.list", nodeID: "n" });
      },
      503,
      "DEPENDENCY_DOWN",
      true,
    ],
    [
      "a time-out",
      () => {
        throw new Errors.RequestTimeoutError({ action: SECRET, nodeID: "n" });
      },
      504,
      "TIMEOUT",
      true,
    ],
    [
      "a driver's error",
      () => {
        throw Object.assign(new Error(SECRET), { name: "MongoServerSelectionError" });
      },
      503,
      "STORE_UNAVAILABLE",
      true,
    ],
    ["no room", fails("BUSY", { retry_after_seconds: 7 }), 503, "BUSY", true],
  ];
  test.each(rows)("%s", async (_, thrower, status, code, retry) => {
    http.script["leads.list"] = thrower;
    const answer = await http.ask("GET", "/leads");
    expect([answer.status, answer.body["code"], answer.headers.has("retry-after")]).toEqual([status, code, retry]);
    expect(answer.text).not.toMatch(/E11000|mongodb|node '|leads\.list|stack/);
    expect(answer.body["request_id"]).toBe(answer.headers.get("x-request-id"));
  });
});
