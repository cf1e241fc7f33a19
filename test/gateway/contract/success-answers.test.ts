import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import blacklist from "../../../services/blacklist/blacklist.service.ts";
import config from "../../../services/config/config.service.ts";
import leads from "../../../services/leads/leads.service.ts";
import numbers from "../../../services/numbers/numbers.service.ts";
import webhook from "../../../services/webhook/webhook.service.ts";
import { createdId, ADMIN, setHttpStage, type Answer, type HttpStage } from "../fixtures/http-stage.ts";

/** Sections 2 and 4 of the interface as a table: every endpoint, its success status and the fields it must answer with. Read it beside the document. */
let http: HttpStage;
let template = "";
const made: Record<string, string> = {};

const ISO = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const UUID = expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/);
const TEXT = expect.any(String);
const NUMBER_RECORD = {
  id: UUID,
  phone_number: TEXT,
  provider: "PROVIDER_ONE",
  status: "AVAILABLE",
  channel: "voice",
  max_concurrent_calls: 1,
  created_at: ISO,
  updated_at: ISO,
};
const MERCHANT_RECORD = {
  id: UUID,
  name: TEXT,
  reseller_id: TEXT,
  contact_email: TEXT,
  is_active: true,
  created_at: ISO,
  updated_at: ISO,
};
const LEAD_SUMMARY = {
  id: UUID,
  reseller_id: TEXT,
  merchant_id: TEXT,
  template: "reminder",
  request_id: TEXT,
  status: TEXT,
  outcome: null,
  attempt_count: 0,
};
const LEAD_FIELDS = [
  "id",
  "reseller_id",
  "merchant_id",
  "template",
  "request_id",
  "status",
  "outcome",
  "attempt_count",
  "call_id",
  "call_initiated_time",
  "call_end_time",
  "recording_url",
  "cost",
  "execution_mode",
  "call_direction",
  "outbound_number_id",
  "trace_scores",
  "payload",
  "metaData",
  "created_at",
  "updated_at",
];

beforeAll(async () => {
  http = await setHttpStage([blacklist, config, leads, numbers, webhook]);
  template = await createdId(http, "/templates", {
    reseller_id: http.reseller_id,
    merchant_id: http.merchant_id,
    name: "reminder",
    initial_node: "hello",
    variables: ["customer_name"],
    nodes: [
      {
        name: "hello",
        prompt: "Greet {{customer_name}} and ask.",
        functions: [{ name: "confirm", description: "It suits.", outcome: "confirmed", action: "end_call" }],
      },
    ],
  });
  made["idle_template"] = await createdId(http, "/templates", {
    reseller_id: http.reseller_id,
    name: "idle",
    initial_node: "hello",
    nodes: [{ name: "hello", say: "Hello.", on_enter: [{ type: "end_call" }] }],
  });
});
afterAll(async () => {
  await http.stop();
});

const send =
  (method: string, path: string, body?: unknown, token?: string | null): (() => Promise<Answer>) =>
  () =>
    http.ask(
      method,
      path.replaceAll(/\{(\w+)\}/g, (_m, name: string) => made[name] ?? name),
      {
        ...(body === undefined ? {} : { body: typeof body === "function" ? (body as () => unknown)() : body }),
        ...(token === undefined ? {} : { token }),
      },
    );
const keep =
  (name: string, field: string) =>
  (answer: Answer): void => {
    made[name] = String(answer.body[field]);
  };

const LEAD =
  (over: object = {}) =>
  () => ({
    request_id: "order-4",
    template_id: template,
    reseller_id: http.reseller_id,
    merchant_id: http.merchant_id,
    payload: { customer_name: "Ada", customer_mobile_number: "+14155550123" },
    ...over,
  });
const CONFIGURATION = () => ({
  template_id: template,
  initial_offset: 86_400,
  retry_offset: 60,
  call_start_time: "09:00",
  call_end_time: "18:00",
  max_retry: 1,
  calling_provider: "PROVIDER_ONE",
});

const SECTION_4: [
  endpoint: string,
  status: number,
  ask: () => Promise<Answer>,
  shape: object,
  then?: (answer: Answer) => void,
][] = [
  [
    "POST /login",
    200,
    send("POST", "/login", ADMIN, null),
    {
      access_token: TEXT,
      token_type: "bearer",
      user: { id: TEXT, email: ADMIN.email, role: "admin", reseller_id: null },
    },
  ],
  [
    "POST /s2s-token, role reseller",
    200,
    send("POST", "/s2s-token", () => ({ name: "n", role: "reseller", reseller_id: http.reseller_id })),
    {
      token: expect.stringMatching(/^cag_s2s_/),
      name: "n",
      role: "reseller",
      reseller_id: TEXT,
      merchant_id: null,
      created_at: ISO,
    },
  ],
  [
    "POST /s2s-token, role merchant",
    200,
    send("POST", "/s2s-token", () => ({
      name: "n",
      role: "merchant",
      reseller_id: http.reseller_id,
      merchant_id: http.merchant_id,
    })),
    { token: TEXT, role: "merchant", merchant_id: TEXT },
  ],
  [
    "POST /s2s-token, role user",
    200,
    send("POST", "/s2s-token", () => ({
      name: "n",
      role: "user",
      reseller_id: http.reseller_id,
      merchant_id: http.merchant_id,
    })),
    { token: TEXT, role: "user", merchant_id: TEXT },
  ],

  [
    "POST /leads",
    201,
    send("POST", "/leads", LEAD()),
    { status: "queued", lead_call_tracker_id: UUID, order_id: "order-4", message: TEXT },
    keep("lead_id", "lead_call_tracker_id"),
  ],
  [
    "POST /leads, the same request_id again: a tag, not an idempotency key",
    201,
    send("POST", "/leads", LEAD()),
    { lead_call_tracker_id: UUID },
  ],
  ...["TELEPHONY", "TELEPHONY_TEST", "RTC", "RTC_TEST", "RTC_STREAM"].map(
    (execution_mode): (typeof SECTION_4)[number] => [
      `POST /leads, execution_mode ${execution_mode}`,
      201,
      send("POST", "/leads", LEAD({ execution_mode, request_id: "modes" })),
      { status: "queued" },
    ],
  ),
  [
    "POST /leads, without a number: BACKLOG with no error",
    201,
    send("POST", "/leads", LEAD({ payload: { customer_name: "Ada" }, request_id: "no-number" })),
    { status: "queued", message: expect.stringContaining("customer_mobile_number") },
  ],
  [
    "POST /leads, playground with an override",
    201,
    send(
      "POST",
      "/leads",
      LEAD({ is_playground: true, configurations_override: { max_retry: 0 }, request_id: "playground" }),
    ),
    { status: "queued" },
  ],
  [
    "GET /leads/{lead_id}",
    200,
    send("GET", "/leads/{lead_id}"),
    {
      id: UUID,
      status: "BACKLOG",
      outcome: null,
      attempt_count: 0,
      execution_mode: "TELEPHONY",
      call_direction: "OUTBOUND",
      trace_scores: {},
      payload: { customer_name: "Ada", customer_mobile_number: "+14155550123" },
      metaData: {},
      created_at: ISO,
      updated_at: ISO,
    },
  ],
  [
    "GET /leads/request/{request_id}",
    200,
    send("GET", "/leads/request/order-4"),
    { request_id: "order-4", count: 2, leads: [LEAD_SUMMARY, LEAD_SUMMARY] },
  ],
  [
    "POST /lead/abort",
    200,
    send("POST", "/lead/abort", () => ({
      leads: [
        { lead_id: made["lead_id"], cancellation_reason: "changed" },
        { lead_id: made["lead_id"], cancellation_reason: "again" },
        { lead_id: randomUUID(), cancellation_reason: "x" },
      ],
    })),
    {
      leads: [
        { id: UUID, message: TEXT, status: TEXT },
        { id: UUID, message: TEXT, status: TEXT },
        { id: UUID, status: "error", message: TEXT },
      ],
    },
  ],

  [
    "POST /numbers",
    201,
    send("POST", "/numbers", {
      phone_number: "+14155550100",
      provider: "PROVIDER_ONE",
      status: "AVAILABLE",
      channel: "voice",
    }),
    NUMBER_RECORD,
    keep("number_id", "id"),
  ],
  ["GET /numbers", 200, send("GET", "/numbers"), { count: 1, numbers: [NUMBER_RECORD], next_cursor: null }],
  [
    "PUT /numbers/{number_id}",
    200,
    send("PUT", "/numbers/{number_id}", { max_concurrent_calls: 3 }),
    { ...NUMBER_RECORD, max_concurrent_calls: 3 },
  ],
  ["DELETE /numbers/{number_id}", 204, send("DELETE", "/numbers/{number_id}"), {}],

  [
    "POST /merchants",
    201,
    send("POST", "/merchants", () => ({
      name: "Shop two",
      reseller_id: http.reseller_id,
      contact_email: "two@example.com",
    })),
    MERCHANT_RECORD,
    keep("merchant", "id"),
  ],
  [
    "GET /merchants",
    200,
    send("GET", "/merchants"),
    { count: 2, merchants: [MERCHANT_RECORD, MERCHANT_RECORD], next_cursor: null },
  ],
  [
    "PUT /merchants/{id}",
    200,
    send("PUT", "/merchants/{merchant}", { name: "Shop 2" }),
    { ...MERCHANT_RECORD, name: "Shop 2" },
  ],
  ["DELETE /merchants/{id}", 204, send("DELETE", "/merchants/{merchant}"), {}],

  [
    "POST /blacklist",
    201,
    send("POST", "/blacklist", { phone_numbers: ["+14155550999", "+14155550998"] }),
    { added: 2, already_listed: 0 },
  ],
  ["GET /blacklist", 200, send("GET", "/blacklist"), { count: 2, next_cursor: null }],
  ["DELETE /blacklist", 204, send("DELETE", "/blacklist", { phone_numbers: ["+14155550999"] }), {}],

  [
    "POST /configurations",
    201,
    send("POST", "/configurations", CONFIGURATION),
    {
      id: UUID,
      reseller_id: TEXT,
      template: TEXT,
      merchant_id: TEXT,
      calling_provider: "PROVIDER_ONE",
      enable_calling: true,
      created_at: ISO,
    },
    keep("config_id", "id"),
  ],
  [
    "GET /configurations by template",
    200,
    () => http.ask("GET", `/configurations?template_id=${template}`),
    {
      count: 1,
      configurations: [
        {
          template_id: UUID,
          max_retry: 1,
          enable_international_call: true,
          enable_inbound: false,
          enforce_blacklist: true,
          rate_limit_enabled: false,
          rate_limit_window_seconds: 3600,
          rate_limit_whitelist: [],
          pre_checks: [],
          inbound_block_action: "REJECT",
        },
      ],
    },
  ],
  [
    "GET /configurations by reseller and merchant",
    200,
    () => http.ask("GET", `/configurations?reseller_id=${http.reseller_id}&merchant_id=${http.merchant_id}`),
    { count: 1 },
  ],
  [
    "GET /configurations of another template",
    200,
    send("GET", "/configurations?template_id={idle_template}"),
    { count: 0, configurations: [] },
  ],
  [
    "PUT /configurations/{config_id}",
    200,
    send("PUT", "/configurations/{config_id}", {
      max_retry: 5,
      enable_inbound: true,
      inbound_call_start_time: "09:00",
      inbound_call_end_time: "17:00",
      inbound_call_timezone: "Asia/Kolkata",
      inbound_block_action: "REDIRECT",
      inbound_redirect_number: "+14155550111",
      inbound_block_message: "We are closed.",
    }),
    { max_retry: 5, enable_inbound: true, inbound_block_action: "REDIRECT" },
  ],
];

describe("sections 2 and 4", () => {
  test.each(SECTION_4.map((row) => [row[0], row[1], row] as const))(
    "%s -> %i",
    async (_endpoint, status, [, , ask, shape, then]) => {
      const answer = await ask();
      expect([answer.status, answer.text.slice(0, status === answer.status ? 0 : 600)]).toEqual([status, ""]);
      expect(answer.body).toMatchObject(shape);
      if (status === 204) expect(answer.text).toBe("");
      expect(answer.headers.get("x-api-version")).toMatch(/^\d{4}-\d\d-\d\d$/);
      then?.(answer);
    },
  );

  test("the lead record has every field of 2.1, even those not known yet", async () => {
    expect(Object.keys((await http.ask("GET", `/leads/${made["lead_id"]}`)).body)).toEqual(
      expect.arrayContaining(LEAD_FIELDS),
    );
  });
  test("3.1: an aborted lead is FINISHED, aborting it again says already_aborted", async () => {
    expect((await http.ask("GET", `/leads/${made["lead_id"]}`)).body).toMatchObject({
      status: "FINISHED",
      outcome: "ABORTED",
      metaData: { cancellation: { reason: "changed" } },
    });
    expect(
      (
        await http.ask("POST", "/lead/abort", {
          body: { leads: [{ lead_id: made["lead_id"], cancellation_reason: "x" }] },
        })
      ).body,
    ).toMatchObject({ leads: [{ status: "already_aborted" }] });
  });
});
