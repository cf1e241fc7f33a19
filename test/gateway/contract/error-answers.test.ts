import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import blacklist from "../../../services/blacklist/blacklist.service.ts";
import config from "../../../services/config/config.service.ts";
import leads from "../../../services/leads/leads.service.ts";
import numbers from "../../../services/numbers/numbers.service.ts";
import webhook from "../../../services/webhook/webhook.service.ts";
import { createdId, ADMIN, setHttpStage, type Answer, type HttpStage } from "../fixtures/http-stage.ts";

/** Section 7 of the interface as a table: one row, its causes as cases. Read it beside the document. */
let http: HttpStage;
let template = "";
let foreignTemplate = "";
let configuration = "";
let number = "";
const LISTED = "+14155550999";

const flow = (reseller_id: string) => ({
  reseller_id,
  name: "reminder",
  initial_node: "hello",
  variables: ["customer_name"],
  payload_schema: {
    type: "object",
    required: ["customer_name"],
    properties: { customer_name: { type: "string" }, customer_mobile_number: { type: "string" } },
  },
  nodes: [
    {
      name: "hello",
      prompt: "Greet {{customer_name}} and ask.",
      functions: [{ name: "confirm", description: "It suits.", outcome: "confirmed", action: "end_call" }],
    },
  ],
});
const settings = (template_id: string, over: object = {}) => ({
  template_id,
  initial_offset: 86_400,
  retry_offset: 60,
  call_start_time: "09:00",
  call_end_time: "18:00",
  max_retry: 1,
  calling_provider: "PROVIDER_ONE",
  ...over,
});
const lead = (over: object = {}) => ({
  request_id: "order-7",
  template_id: template,
  reseller_id: http.reseller_id,
  payload: { customer_name: "Ada", customer_mobile_number: "+14155550123" },
  ...over,
});
const without = (body: object, field: string) => Object.fromEntries(Object.entries(body).filter(([k]) => k !== field));

beforeAll(async () => {
  http = await setHttpStage([blacklist, config, leads, numbers, webhook]);
  const other = await createdId(http, "/resellers", { name: "Other" });
  template = await createdId(http, "/templates", flow(http.reseller_id));
  foreignTemplate = await createdId(http, "/templates", flow(other));
  configuration = await createdId(http, "/configurations", settings(template));
  number = await createdId(http, "/numbers", {
    phone_number: "+14155550100",
    provider: "PROVIDER_ONE",
    status: "AVAILABLE",
    channel: "voice",
    reseller_id: http.reseller_id,
  });
  await http.ask("POST", "/blacklist", { body: { phone_numbers: [LISTED] } });
});
afterAll(async () => {
  await http.stop();
});

interface Case {
  why: string;
  ask: () => Promise<Answer>;
  code: string;
}
const post = (path: string, body: unknown, token?: string | null) =>
  http.ask("POST", path, { body, ...(token === undefined ? {} : { token }) });
const expired = "eyJhbGciOiJFZERTQSIsInR5cCI6ImF0K2p3dCJ9.eyJleHAiOjF9.AAAA";

const SECTION_7: [endpoint: string, status: number, cause: string, cases: Case[]][] = [
  [
    "any protected route",
    401,
    "Missing or expired token (never thrown by /login).",
    [
      { why: "missing", code: "UNAUTHENTICATED", ask: () => http.ask("GET", "/leads", { token: null }) },
      { why: "expired or forged", code: "UNAUTHENTICATED", ask: () => http.ask("GET", "/leads", { token: expired }) },
    ],
  ],
  [
    "any protected route",
    403,
    "Token role lacks permission for the resource.",
    [
      {
        why: "a user creates a number",
        code: "FORBIDDEN",
        ask: () => post("/numbers", { phone_number: "+14155550101", provider: "PROVIDER_ONE" }, http.tokens.user),
      },
      {
        why: "a merchant creates a merchant",
        code: "FORBIDDEN",
        ask: () =>
          post(
            "/merchants",
            { name: "x", reseller_id: http.reseller_id, contact_email: "x@example.com" },
            http.tokens.merchant,
          ),
      },
    ],
  ],
  [
    "POST /login",
    422,
    "E-mail or password missing, malformed or incorrect.",
    [
      { why: "e-mail missing", code: "VALIDATION_FAILED", ask: () => post("/login", { password: "x" }, null) },
      { why: "password missing", code: "VALIDATION_FAILED", ask: () => post("/login", { email: ADMIN.email }, null) },
      {
        why: "e-mail malformed",
        code: "VALIDATION_FAILED",
        ask: () => post("/login", { email: "nonsense", password: "x" }, null),
      },
      {
        why: "operators instead of text",
        code: "VALIDATION_FAILED",
        ask: () => post("/login", { email: { $gt: "" }, password: { $ne: 1 } }, null),
      },
      {
        why: "password incorrect",
        code: "INVALID_CREDENTIALS",
        ask: () => post("/login", { email: ADMIN.email, password: "wrong" }, null),
      },
      {
        why: "e-mail unknown",
        code: "INVALID_CREDENTIALS",
        ask: () => post("/login", { email: "nobody@example.com", password: "wrong" }, null),
      },
    ],
  ],
  [
    "POST /s2s-token",
    403,
    "Caller role cannot issue at the requested scope.",
    [
      {
        why: "a merchant issues",
        code: "FORBIDDEN",
        ask: () =>
          post("/s2s-token", { name: "x", role: "reseller", reseller_id: http.reseller_id }, http.tokens.merchant),
      },
    ],
  ],
  [
    "POST /s2s-token",
    422,
    "merchant_id missing where the role requires it, or unknown reseller_id.",
    [
      {
        why: "merchant_id missing for merchant",
        code: "VALIDATION_FAILED",
        ask: () => post("/s2s-token", { name: "x", role: "merchant", reseller_id: http.reseller_id }),
      },
      {
        why: "merchant_id missing for user",
        code: "VALIDATION_FAILED",
        ask: () => post("/s2s-token", { name: "x", role: "user", reseller_id: http.reseller_id }),
      },
      {
        why: "unknown reseller_id",
        code: "RESELLER_UNKNOWN",
        ask: () => post("/s2s-token", { name: "x", role: "reseller", reseller_id: randomUUID() }),
      },
    ],
  ],
  [
    "POST /leads",
    400,
    "Missing required field, unknown template, or invalid execution_mode.",
    [
      ...["request_id", "template_id", "payload", "reseller_id"].map((field): Case => ({
        why: `${field} missing`,
        code: "VALIDATION_FAILED",
        ask: () => post("/leads", without(lead(), field)),
      })),
      {
        why: "unknown template",
        code: "TEMPLATE_UNKNOWN",
        ask: () => post("/leads", lead({ template_id: randomUUID() })),
      },
      {
        why: "a template's name instead of its id",
        code: "TEMPLATE_UNKNOWN",
        ask: () => post("/leads", lead({ template_id: "reminder" })),
      },
      {
        why: "invalid execution_mode",
        code: "VALIDATION_FAILED",
        ask: () => post("/leads", lead({ execution_mode: "FAX" })),
      },
    ],
  ],
  [
    "POST /leads",
    403,
    "payload.customer_mobile_number is blacklisted.",
    [
      {
        why: "as listed",
        code: "NUMBER_BLACKLISTED",
        ask: () => post("/leads", lead({ payload: { customer_name: "Ada", customer_mobile_number: LISTED } })),
      },
      {
        why: "written otherwise",
        code: "NUMBER_BLACKLISTED",
        ask: () =>
          post("/leads", lead({ payload: { customer_name: "Ada", customer_mobile_number: "+1 (415) 555-0999" } })),
      },
    ],
  ],
  [
    "POST /leads",
    404,
    "template_id does not exist under the reseller/merchant.",
    [
      {
        why: "another reseller's",
        code: "TEMPLATE_NOT_FOUND",
        ask: () => post("/leads", lead({ template_id: foreignTemplate })),
      },
    ],
  ],
  [
    "POST /leads",
    422,
    "Schema validation failure: type mismatch or missing field in payload.",
    [
      {
        why: "field missing in payload",
        code: "PAYLOAD_INVALID",
        ask: () => post("/leads", lead({ payload: { customer_mobile_number: "+14155550123" } })),
      },
      {
        why: "type mismatch in payload",
        code: "PAYLOAD_INVALID",
        ask: () => post("/leads", lead({ payload: { customer_name: 5, customer_mobile_number: "+14155550123" } })),
      },
      {
        why: "no phone number",
        code: "INVALID_PHONE_NUMBER",
        ask: () => post("/leads", lead({ payload: { customer_name: "Ada", customer_mobile_number: "12345" } })),
      },
      { why: "payload is no object", code: "VALIDATION_FAILED", ask: () => post("/leads", lead({ payload: "x" })) },
    ],
  ],
  [
    "GET /leads/request/{request_id}",
    404,
    "No leads for that request_id.",
    [{ why: "unknown", code: "LEAD_NOT_FOUND", ask: () => http.ask("GET", "/leads/request/never-pushed") }],
  ],
  [
    "numbers, merchants, blacklist",
    400,
    "Invalid phone number format or missing required fields.",
    [
      {
        why: "number: bad format",
        code: "INVALID_PHONE_NUMBER",
        ask: () => post("/numbers", { phone_number: "0123", provider: "PROVIDER_ONE" }),
      },
      {
        why: "number: provider missing",
        code: "VALIDATION_FAILED",
        ask: () => post("/numbers", { phone_number: "+14155550101" }),
      },
      {
        why: "number: unknown provider",
        code: "VALIDATION_FAILED",
        ask: () => post("/numbers", { phone_number: "+14155550101", provider: "PROVIDER_NINE" }),
      },
      {
        why: "merchant: name missing",
        code: "VALIDATION_FAILED",
        ask: () => post("/merchants", { reseller_id: http.reseller_id, contact_email: "x@example.com" }),
      },
      {
        why: "merchant: e-mail malformed",
        code: "VALIDATION_FAILED",
        ask: () => post("/merchants", { name: "x", reseller_id: http.reseller_id, contact_email: "x" }),
      },
      {
        why: "blacklist: bad format",
        code: "INVALID_PHONE_NUMBER",
        ask: () => post("/blacklist", { phone_numbers: ["+14155550123", "nonsense"] }),
      },
      { why: "blacklist: phone_numbers missing", code: "VALIDATION_FAILED", ask: () => post("/blacklist", {}) },
      {
        why: "blacklist: removal in bad format",
        code: "INVALID_PHONE_NUMBER",
        ask: () => http.ask("DELETE", "/blacklist", { body: { phone_numbers: ["nonsense"] } }),
      },
    ],
  ],
  [
    "numbers, merchants, blacklist",
    404,
    "Resource id does not exist.",
    [
      {
        why: "number updated",
        code: "NUMBER_NOT_FOUND",
        ask: () => http.ask("PUT", `/numbers/${randomUUID()}`, { body: { channel: "voice" } }),
      },
      { why: "number deleted", code: "NUMBER_NOT_FOUND", ask: () => http.ask("DELETE", `/numbers/${randomUUID()}`) },
      {
        why: "merchant updated",
        code: "MERCHANT_NOT_FOUND",
        ask: () => http.ask("PUT", `/merchants/${randomUUID()}`, { body: { name: "x" } }),
      },
      {
        why: "merchant deleted",
        code: "MERCHANT_NOT_FOUND",
        ask: () => http.ask("DELETE", `/merchants/${randomUUID()}`),
      },
      {
        why: "merchant of an unknown reseller",
        code: "RESELLER_NOT_FOUND",
        ask: () => post("/merchants", { name: "x", reseller_id: randomUUID(), contact_email: "x@example.com" }),
      },
      {
        why: "blacklist entry removed",
        code: "BLACKLIST_ENTRY_NOT_FOUND",
        ask: () => http.ask("DELETE", "/blacklist", { body: { phone_numbers: ["+14155550777"] } }),
      },
    ],
  ],
  [
    "numbers, merchants, blacklist",
    409,
    "Phone number already exists.",
    [
      {
        why: "outbound number",
        code: "NUMBER_EXISTS",
        ask: () =>
          post("/numbers", {
            phone_number: "+1 415 555 0100",
            provider: "PROVIDER_ONE",
            reseller_id: http.reseller_id,
          }),
      },
      {
        why: "every blacklisted number",
        code: "NUMBER_EXISTS",
        ask: () => post("/blacklist", { phone_numbers: [LISTED] }),
      },
    ],
  ],
  [
    "configurations",
    400,
    "Invalid field values or missing required fields.",
    [
      ...[
        "template_id",
        "initial_offset",
        "retry_offset",
        "call_start_time",
        "call_end_time",
        "max_retry",
        "calling_provider",
      ].map((field): Case => ({
        why: `${field} missing`,
        code: "VALIDATION_FAILED",
        ask: () => post("/configurations", without(settings(template), field)),
      })),
      {
        why: "HH:MM malformed",
        code: "VALIDATION_FAILED",
        ask: () => http.ask("PUT", `/configurations/${configuration}`, { body: { call_start_time: "9:00" } }),
      },
      {
        why: "24:00",
        code: "VALIDATION_FAILED",
        ask: () => http.ask("PUT", `/configurations/${configuration}`, { body: { call_end_time: "24:00" } }),
      },
      {
        why: "negative offset",
        code: "VALIDATION_FAILED",
        ask: () => http.ask("PUT", `/configurations/${configuration}`, { body: { retry_offset: -1 } }),
      },
      {
        why: "21 retries",
        code: "VALIDATION_FAILED",
        ask: () => http.ask("PUT", `/configurations/${configuration}`, { body: { max_retry: 21 } }),
      },
      {
        why: "unknown zone",
        code: "VALIDATION_FAILED",
        ask: () => http.ask("PUT", `/configurations/${configuration}`, { body: { timezone: "Mars/Olympus" } }),
      },
      {
        why: "unknown field",
        code: "VALIDATION_FAILED",
        ask: () => http.ask("PUT", `/configurations/${configuration}`, { body: { colour: "red" } }),
      },
      {
        why: "nothing to change",
        code: "VALIDATION_FAILED",
        ask: () => http.ask("PUT", `/configurations/${configuration}`, { body: {} }),
      },
    ],
  ],
  [
    "configurations",
    404,
    "Configuration id does not exist.",
    [
      {
        why: "updated",
        code: "CONFIGURATION_NOT_FOUND",
        ask: () => http.ask("PUT", `/configurations/${randomUUID()}`, { body: { max_retry: 1 } }),
      },
    ],
  ],
  [
    "configurations",
    409,
    "Duplicate reseller plus template combination.",
    [{ why: "a second one", code: "CONFIGURATION_EXISTS", ask: () => post("/configurations", settings(template)) }],
  ],
];

describe.each(SECTION_7)("%s | %i | %s", (_endpoint, status, _cause, cases) => {
  test.each(cases.map((c) => [c.why, c] as const))("%s", async (_why, { ask, code }) => {
    const answer = await ask();
    expect([answer.status, answer.body["code"]]).toEqual([status, code]);
    expect(answer.headers.get("content-type")).toMatch(/^application\/problem\+json/);
    expect(answer.body).toMatchObject({
      type: expect.any(String),
      title: expect.any(String),
      status,
      detail: expect.any(String),
      request_id: answer.headers.get("x-request-id"),
    });
    expect(answer.text).not.toMatch(/mongo|moleculer|at .*\.ts|stack/i);
  });
});

describe("POST /leads | 500 | Database write failed; the lead is not queued; retry.", () => {
  test("the store refuses the write", async () => {
    const down = await setHttpStage();
    down.script["leads.push"] = () => {
      throw Object.assign(new Error("x"), { name: "MongoNetworkError" });
    };
    try {
      const answer = await down.ask("POST", "/leads", { body: { ...lead(), reseller_id: down.reseller_id } });
      expect([answer.status, answer.body["code"]]).toEqual([500, "STORE_UNAVAILABLE"]);
    } finally {
      await down.stop();
    }
  });
});

describe("POST /lead/abort | 200 | Always; failures are per-lead statuses (section 4.2).", () => {
  test("an unknown lead", async () => {
    const answer = await post("/lead/abort", {
      leads: [
        { lead_id: randomUUID(), cancellation_reason: "x" },
        { lead_id: "nonsense", cancellation_reason: "x" },
      ],
    });
    expect([answer.status, (answer.body["leads"] as { status: string }[]).map((l) => l.status)]).toEqual([
      200,
      ["error", "error"],
    ]);
  });
});

test("nothing that was refused has changed anything", async () => {
  expect((await http.ask("GET", "/leads?limit=500&include_test=true")).body["count"]).toBe(0);
  expect((await http.ask("GET", `/configurations/${configuration}`)).body).toMatchObject({
    max_retry: 1,
    call_start_time: "09:00",
    call_end_time: "18:00",
    retry_offset: 60,
  });
  expect((await http.ask("GET", `/numbers/${number}`)).body).toMatchObject({
    phone_number: "+14155550100",
    status: "AVAILABLE",
    channel: "voice",
  });
});
