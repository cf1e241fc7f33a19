import { randomUUID } from "node:crypto";
import blacklist from "../../../services/blacklist/blacklist.service.ts";
import config from "../../../services/config/config.service.ts";
import leads from "../../../services/leads/leads.service.ts";
import numbers from "../../../services/numbers/numbers.service.ts";
import webhook from "../../../services/webhook/webhook.service.ts";
import { namedReminder, createdId, setHttpStage, type Answer, type HttpStage } from "../fixtures/http-stage.ts";

/** From push to abort with the real services; nothing is dialled. */
let http: HttpStage;
let template: string;
let foreign: { reseller_id: string; template: string };

const flow = (reseller_id: string, merchant_id?: string) =>
  namedReminder({ reseller_id, ...(merchant_id ? { merchant_id } : {}) });
const window = {
  initial_offset: 0,
  retry_offset: 60,
  call_start_time: "00:00",
  call_end_time: "00:00",
  max_retry: 1,
  calling_provider: "PROVIDER_ONE",
};
const lead = (over: Record<string, unknown> = {}) => ({
  request_id: "order-1",
  template_id: template,
  reseller_id: http.reseller_id,
  merchant_id: http.merchant_id,
  payload: { customer_name: "Ada", customer_mobile_number: "+14155550123" },
  ...over,
});
const code = (answer: Answer): [number, unknown] => [answer.status, answer.body["code"]];
const push = (over?: Record<string, unknown>, token = http.tokens.merchant) =>
  http.ask("POST", "/leads", { body: lead(over), token });

beforeAll(async () => {
  http = await setHttpStage([blacklist, config, leads, numbers, webhook]);
  template = await createdId(http, "/templates", flow(http.reseller_id, http.merchant_id));
  const reseller_id = await createdId(http, "/resellers", { name: "Other" });
  foreign = {
    reseller_id,
    template: await createdId(http, "/templates", flow(reseller_id)),
  };
});
afterAll(async () => {
  await http.stop();
});

test("push, read, find by request_id, list and abort", async () => {
  const pushed = await push({ request_id: "whole-road" });
  expect([pushed.status, pushed.body]).toEqual([
    201,
    { status: "queued", lead_call_tracker_id: expect.any(String), order_id: "whole-road", message: expect.any(String) },
  ]);
  const id = String(pushed.body["lead_call_tracker_id"]);
  const read = await http.ask("GET", `/leads/${id}`, { token: http.tokens.user });
  expect(read.body).toMatchObject({
    id,
    request_id: "whole-road",
    status: "BACKLOG",
    execution_mode: "TELEPHONY",
    call_direction: "OUTBOUND",
    template: "reminder",
    attempt_count: 0,
  });
  expect((await http.ask("GET", "/leads/request/whole-road")).body).toMatchObject({
    request_id: "whole-road",
    count: 1,
    leads: [{ id }],
  });
  expect(
    (
      (await http.ask("GET", "/leads?status=BACKLOG&limit=500", { token: http.tokens.reseller })).body["leads"] as {
        id: string;
      }[]
    ).map((l) => l.id),
  ).toContain(id);
  expect((await http.ask("GET", `/leads/${id}/deliveries`)).body).toEqual({ deliveries: [] });
  const aborted = await http.ask("POST", "/lead/abort", {
    body: {
      leads: [
        { lead_id: id, cancellation_reason: "changed" },
        { lead_id: randomUUID(), cancellation_reason: "x" },
      ],
    },
    token: http.tokens.user,
  });
  expect([aborted.status, (aborted.body["leads"] as { status: string }[]).map((l) => l.status)]).toEqual([
    200,
    ["success", "error"],
  ]);
  expect((await http.ask("GET", `/leads/${id}`)).body).toMatchObject({ status: "FINISHED", outcome: "ABORTED" });
});

describe("POST /leads", () => {
  test("a payload without a number is taken, and says so", async () => {
    const answer = await push({ payload: { customer_name: "Ada" } });
    expect([answer.status, answer.body["message"]]).toEqual([201, expect.stringContaining("customer_mobile_number")]);
  });
  test("a template that is unknown, or no id at all: 400", async () => {
    for (const template_id of [randomUUID(), "reminder", ""]) expect((await push({ template_id })).status).toBe(400);
    expect(code(await push({ template_id: randomUUID() }))).toEqual([400, "TEMPLATE_UNKNOWN"]);
  });
  test("a template of another reseller or merchant: 404", async () => {
    expect(code(await push({ template_id: foreign.template }))).toEqual([404, "TEMPLATE_NOT_FOUND"]);
    expect(code(await push({ merchant_id: randomUUID() }, http.tokens.admin))).toEqual([404, "TEMPLATE_NOT_FOUND"]);
  });
  test("merchant_id missing where the template belongs to a merchant: 400", async () => {
    const answer = await http.ask("POST", "/leads", {
      body: { ...lead(), merchant_id: undefined },
      token: http.tokens.reseller,
    });
    expect([code(answer), (answer.body["errors"] as { path: string }[])[0]?.path]).toEqual([
      [400, "VALIDATION_FAILED"],
      "merchant_id",
    ]);
  });
  test("a payload that does not fit: 422 with every path", async () => {
    const answer = await push({ payload: { customer_mobile_number: "+14155550123" } });
    expect([code(answer), answer.body["errors"]]).toEqual([
      [422, "PAYLOAD_INVALID"],
      [{ path: "payload.customer_name", message: "is required" }],
    ]);
    expect(code(await push({ payload: { customer_name: "Ada", customer_mobile_number: "12" } }))).toEqual([
      422,
      "INVALID_PHONE_NUMBER",
    ]);
  });
  test("an override, or a payload as it is stored, that is too large: 422 with its path", async () => {
    const override = (body: string): object => ({ pre_checks: [{ name: "check", enabled: false, body }] });
    const filler = "b".repeat(8 * 1024 - JSON.stringify(override("")).length);
    const playground = (over: object) => push({ is_playground: true, configurations_override: over });
    expect((await playground(override(filler))).status).toBe(201);
    const large = await playground(override(`${filler}b`));
    expect([code(large), (large.body["errors"] as { path: string }[]).map((e) => e.path)]).toEqual([
      [422, "VALIDATION_FAILED"],
      ["configurations_override"],
    ]);
    // a number that is short in the body, and long in JSON as the service writes it
    const payload = JSON.stringify({ ...lead(), payload: { customer_name: "Ada" } }).replace(
      `"Ada"`,
      `"Ada","n":[${"1e20,".repeat(20_000)}0]`,
    );
    const body = await http.ask("POST", "/leads", { body: payload, token: http.tokens.merchant });
    expect([code(body), (body.body["errors"] as { path: string }[]).map((e) => e.path)]).toEqual([
      [422, "VALIDATION_FAILED"],
      ["payload"],
    ]);
  });
  test("a webhook address that is not allowed: 422", async () => {
    expect(code(await push({ reporting_webhook_url: "https://127.0.0.1/hook" }))).toEqual([
      422,
      "WEBHOOK_ADDRESS_REFUSED",
    ]);
  });
  test("another reseller's id: 403, and nothing is queued", async () => {
    expect(
      code(
        await push(
          { reseller_id: foreign.reseller_id, template_id: foreign.template, request_id: "theft" },
          http.tokens.reseller,
        ),
      ),
    ).toEqual([403, "FORBIDDEN"]);
    expect((await http.ask("GET", "/leads/request/theft")).status).toBe(404);
  });
  test("a listed number: 403", async () => {
    const listed = "+14155550177";
    expect(
      (await http.ask("POST", "/blacklist", { body: { phone_numbers: [listed] }, token: http.tokens.reseller })).status,
    ).toBe(201);
    expect(code(await push({ payload: { customer_name: "Ada", customer_mobile_number: listed } }))).toEqual([
      403,
      "NUMBER_BLACKLISTED",
    ]);
    expect(
      (
        (await http.ask("GET", "/blacklist", { token: http.tokens.merchant })).body["entries"] as {
          phone_number: string;
        }[]
      ).map((e) => e.phone_number),
    ).toContain(listed);
  });
});

describe("what belongs to others is not there", () => {
  test("leads, templates and lists", async () => {
    const mine = String((await push({ request_id: "mine" })).body["lead_call_tracker_id"]);
    const token = await createdId(
      http,
      "/s2s-token",
      { name: "other", role: "reseller", reseller_id: foreign.reseller_id },
      "token",
    );
    for (const path of [
      `/leads/${mine}`,
      "/leads/request/mine",
      `/leads/${mine}/deliveries`,
      `/templates/${template}`,
    ]) {
      const [theirs, nobodys] = [
        await http.ask("GET", path, { token }),
        await http.ask(
          "GET",
          path.replace(mine, randomUUID()).replace(template, randomUUID()).replace("/mine", "/none"),
          { token },
        ),
      ];
      expect(theirs.status).toBe(404);
      expect({ ...theirs.body, request_id: "" }).toEqual({ ...nobodys.body, request_id: "" });
    }
    for (const path of ["/leads", "/configurations", "/numbers", "/blacklist", "/merchants"])
      expect((await http.ask("GET", path, { token })).body["count"]).toBe(0);
    const aborted = await http.ask("POST", "/lead/abort", {
      body: { leads: [{ lead_id: mine, cancellation_reason: "x" }] },
      token,
    });
    expect((aborted.body["leads"] as { status: string }[])[0]?.status).toBe("error");
    expect((await http.ask("GET", `/leads/${mine}`)).body["status"]).toBe("BACKLOG");
  });
});

describe("configurations, numbers, templates, secrets", () => {
  test("a configuration is made once per template", async () => {
    const made = await http.ask("POST", "/configurations", {
      body: { template_id: template, ...window },
      token: http.tokens.merchant,
    });
    expect([made.status, made.body]).toEqual([
      201,
      expect.objectContaining({
        id: expect.any(String),
        reseller_id: http.reseller_id,
        merchant_id: http.merchant_id,
        calling_provider: "PROVIDER_ONE",
        enable_calling: true,
      }),
    ]);
    expect(code(await http.ask("POST", "/configurations", { body: { template_id: template, ...window } }))).toEqual([
      409,
      "CONFIGURATION_EXISTS",
    ]);
    expect((await http.ask("GET", `/configurations?template_id=${template}`)).body["count"]).toBe(1);
  });
  test.each([
    ["call_start_time", "9:00"],
    ["max_retry", -1],
    ["calling_provider", "PIGEON"],
    ["timezone", "Mars/Olympus"],
    ["reseller_id", "x"],
  ])("a configuration with %s %j: 400", async (field, value) => {
    expect(
      code(
        await http.ask("POST", "/configurations", {
          body: { template_id: foreign.template, ...window, [field]: value },
        }),
      ),
    ).toEqual([400, "VALIDATION_FAILED"]);
  });
  test("numbers: 201, 409 the second time, 400 for no number", async () => {
    const body = { phone_number: "+14155550199", provider: "PROVIDER_ONE", reseller_id: http.reseller_id };
    expect(code(await http.ask("POST", "/numbers", { body, token: http.tokens.reseller }))).toEqual([403, "FORBIDDEN"]);
    expect((await http.ask("POST", "/numbers", { body })).body).toMatchObject({
      phone_number: body.phone_number,
      status: "AVAILABLE",
      channel: "voice",
      max_concurrent_calls: 1,
      reseller_id: http.reseller_id,
    });
    expect(code(await http.ask("POST", "/numbers", { body }))).toEqual([409, "NUMBER_EXISTS"]);
    expect(code(await http.ask("POST", "/numbers", { body: { ...body, phone_number: "12345" } }))).toEqual([
      400,
      "INVALID_PHONE_NUMBER",
    ]);
    expect(code(await http.ask("POST", "/blacklist", { body: { phone_numbers: ["12345"] } }))).toEqual([
      400,
      "INVALID_PHONE_NUMBER",
    ]);
  });
  test("an invalid template is refused with every issue", async () => {
    const broken = { ...flow(http.reseller_id), initial_node: "nowhere" };
    const answer = await http.ask("POST", "/templates", { body: broken });
    expect([code(answer), (answer.body["errors"] as unknown[]).length > 0]).toEqual([[400, "TEMPLATE_INVALID"], true]);
  });
  test("the webhook secret is shown to its owners only", async () => {
    const path = `/webhook-secret?reseller_id=${http.reseller_id}&merchant_id=${http.merchant_id}`;
    expect((await http.ask("GET", path, { token: http.tokens.merchant })).body["secret"]).toMatch(/^whsec_/);
    expect((await http.ask("GET", path, { token: http.tokens.user })).status).toBe(403);
    expect(
      (await http.ask("GET", `/webhook-secret?reseller_id=${foreign.reseller_id}`, { token: http.tokens.reseller }))
        .status,
    ).toBe(403);
    expect((await http.ask("GET", "/webhook-secret")).status).toBe(400);
    expect((await http.ask("GET", `/webhook-secret?reseller_id=${randomUUID()}`)).status).toBe(404);
  });
});
