import { randomUUID } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import blacklist from "../../../services/blacklist/blacklist.service.ts";
import config from "../../../services/config/config.service.ts";
import leads from "../../../services/leads/leads.service.ts";
import numbers from "../../../services/numbers/numbers.service.ts";
import webhook from "../../../services/webhook/webhook.service.ts";
import { until } from "../../../local/harness/stage.ts";
import { namedReminder, createdId, setHttpStage, type Answer, type HttpStage } from "../fixtures/http-stage.ts";

/** The lead endpoints with the services themselves; only the dialer and the conversation are stand-ins. */
let http: HttpStage;
let template = "";
let sink: Server;
let hook = "";
const webhookIds: string[] = [];

beforeAll(async () => {
  sink = createServer((req, res) => {
    webhookIds.push(String(req.headers["webhook-id"]));
    req.resume().on("end", () => {
      res.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => {
    sink.listen(0, "127.0.0.1", resolve);
  });
  hook = `http://127.0.0.1:${(sink.address() as AddressInfo).port}/`;
  http = await setHttpStage(
    [blacklist, config, leads, numbers, webhook],
    {},
    { WEBHOOK_ALLOW_HTTP: "true", WEBHOOK_ALLOW_PRIVATE: "true", SWEEP_INTERVAL_MS: "200" },
  );
  http.script["dialer.history"] = () => ({ calls: [], carrier_events: [] });
  template = await createdId(http, "/templates", namedReminder(http));
});
afterAll(async () => {
  await http.stop();
  sink.closeAllConnections();
  sink.close();
});

const lead = (over: Record<string, unknown> = {}) => ({
  request_id: "order-1",
  template_id: template,
  reseller_id: http.reseller_id,
  merchant_id: http.merchant_id,
  payload: { customer_name: "Ada", customer_mobile_number: "+14155550123" },
  ...over,
});
const push = (over: Record<string, unknown> = {}, key?: string, token = http.tokens.user) =>
  http.ask("POST", "/leads", {
    body: lead(over),
    token,
    ...(key === undefined ? {} : { headers: { "Idempotency-Key": key } }),
  });
const code = (a: Answer) => [a.status, a.body["code"]];
const idOf = (a: Answer): string => String(a.body["lead_call_tracker_id"]);
const ids = async (query: string): Promise<string[]> =>
  ((await http.ask("GET", `/leads?${query}`, { token: http.tokens.merchant })).body["leads"] as { id: string }[]).map(
    (l) => l.id,
  );
const abort = (lead_id: string) =>
  http.ask("POST", "/lead/abort", {
    body: { leads: [{ lead_id, cancellation_reason: "no need any more" }] },
    token: http.tokens.user,
  });

describe("Idempotency-Key on POST /leads", () => {
  test("the first answer again, and a header that says so", async () => {
    const [first, again] = [
      await push({ request_id: "once" }, "order/once"),
      await push({ request_id: "once" }, "order/once"),
    ];
    expect([
      first.status,
      first.headers.get("idempotency-replayed"),
      again.status,
      again.headers.get("idempotency-replayed"),
    ]).toEqual([201, null, 201, "true"]);
    expect(again.body).toEqual(first.body);
    expect((await http.ask("GET", "/leads/request/once")).body["count"]).toBe(1);
  });
  test("another lead under it: 409", async () => {
    await push({ request_id: "one" }, "order/reused");
    expect(code(await push({ request_id: "two" }, "order/reused"))).toEqual([409, "IDEMPOTENCY_KEY_REUSED"]);
  });
  test("a failure is not remembered", async () => {
    expect(code(await push({ payload: {} }, "order/mended"))).toEqual([422, "PAYLOAD_INVALID"]);
    expect((await push({}, "order/mended")).status).toBe(201);
  });
  test("another token's is another push", async () => {
    const [mine, theirs] = [
      await push({ request_id: "both" }, "order/both"),
      await push({ request_id: "both" }, "order/both", http.tokens.merchant),
    ];
    expect([theirs.headers.get("idempotency-replayed"), idOf(theirs) === idOf(mine)]).toEqual([null, false]);
  });
  test("without it, and with request_id alone, every push makes a lead", async () => {
    const [a, b] = [await push({ request_id: "tag" }), await push({ request_id: "tag" })];
    expect(idOf(a)).not.toBe(idOf(b));
  });
  test("too long: refused, nothing queued", async () => {
    expect((await push({ request_id: "long-key" }, "k".repeat(256))).status).toBe(422);
    expect((await http.ask("GET", "/leads/request/long-key")).status).toBe(404);
  });
});

describe("GET /leads", () => {
  test("by phone, mode, period and the rest", async () => {
    const phone = "+14155550155";
    const id = idOf(
      await push({
        request_id: "filtered",
        execution_mode: "RTC",
        payload: { customer_name: "Bea", customer_mobile_number: phone },
      }),
    );
    const other = idOf(await push({ request_id: "beside" }));
    const { created_at } = (await http.ask("GET", `/leads/${id}`)).body as { created_at: string };
    const later = new Date(Date.parse(created_at) + 1).toISOString();
    for (const query of [
      `phone=${encodeURIComponent(phone)}`,
      "mode=RTC",
      `template_id=${template}&mode=RTC`,
      `from=${created_at}&to=${later}&mode=RTC`,
      `status=BACKLOG&phone=${encodeURIComponent("+1 (415) 555-0155")}`,
    ]) {
      expect([query, (await ids(query)).includes(id), (await ids(query)).includes(other)]).toEqual([
        query,
        true,
        false,
      ]);
    }
    expect(await ids(`from=${later}&mode=RTC`)).not.toContain(id);
    expect(await ids(`to=${created_at}`)).not.toContain(id);
  });
  test("tests and playgrounds only when asked for", async () => {
    const id = idOf(await push({ is_playground: true }));
    expect([(await ids("limit=500")).includes(id), (await ids("limit=500&include_test=true")).includes(id)]).toEqual([
      false,
      true,
    ]);
  });
  test.each([
    ["phone=5", "INVALID_PHONE_NUMBER"],
    ["phone=+14155550155", "INVALID_PHONE_NUMBER"],
    ["mode=FAX", "VALIDATION_FAILED"],
    ["from=yesterday", "VALIDATION_FAILED"],
    ["to=2026-13-01T00:00:00Z", "VALIDATION_FAILED"],
    ["from[$gt]=x", "VALIDATION_FAILED"],
  ])("%s is 400 %s", async (query, why) => {
    expect(code(await http.ask("GET", `/leads?${query}`))).toEqual([400, why]);
  });
});

describe("a finished lead", () => {
  let id = "";
  beforeAll(async () => {
    id = idOf(await push({ request_id: "finished", reporting_webhook_url: hook }));
    await abort(id);
    await until(
      "its report",
      async () =>
        ((await http.ask("GET", `/leads/${id}/deliveries`)).body["deliveries"] as { state: string }[])[0]?.state ===
          "delivered" || undefined,
    );
  });
  test("has a timeline from the push to the report", async () => {
    const { status, body } = await http.ask("GET", `/leads/${id}/timeline`, { token: http.tokens.user });
    const events = body["events"] as { at: string; source: string; event: string; details: Record<string, unknown> }[];
    expect([status, body["lead_id"], body["count"]]).toEqual([200, id, events.length]);
    expect(events.map((e) => `${e.source}:${e.event}`)).toEqual([
      "leads:queued",
      "leads:aborted",
      "webhook:report_queued",
      "webhook:report_tried",
    ]);
    expect(events.map((e) => e.at)).toEqual(events.map((e) => e.at).sort());
  });
  test("has its report sent again, with the same id", async () => {
    const answer = await http.ask("POST", `/leads/${id}/deliveries/replay`, { token: http.tokens.merchant });
    expect([answer.status, answer.body["id"], answer.body["state"]]).toEqual([200, `msg_${id}`, "pending"]);
    await until("the second one", () => webhookIds.filter((w) => w === `msg_${id}`).length === 2 || undefined);
  });
  test("is in the audit log as aborted, and as sent again", async () => {
    const { body } = await http.ask("GET", `/audit?subject=${id}`, { token: http.tokens.reseller });
    const { reseller_id, merchant_id } = http;
    expect(body["entries"]).toMatchObject([
      { action: "delivery.replayed", reseller_id, merchant_id, actor: { kind: "s2s", role: "merchant" } },
      {
        action: "lead.aborted",
        reseller_id,
        merchant_id,
        actor: { kind: "s2s", role: "user" },
        details: { aborted: 1, statuses: { success: 1 } },
      },
    ]);
  });
});

describe("replay", () => {
  test("of a lead without a report: 404; of an unknown one: 404; by a user: 403", async () => {
    const id = idOf(await push());
    expect(code(await http.ask("POST", `/leads/${id}/deliveries/replay`))).toEqual([404, "DELIVERY_NOT_FOUND"]);
    expect(code(await http.ask("POST", `/leads/${randomUUID()}/deliveries/replay`))).toEqual([404, "LEAD_NOT_FOUND"]);
    expect(code(await http.ask("POST", `/leads/${id}/deliveries/replay`, { token: http.tokens.user }))).toEqual([
      403,
      "FORBIDDEN",
    ]);
  });
});

describe("GET /analytics/summary", () => {
  test("counts this merchant's leads, tests left out", async () => {
    const before = (await http.ask("GET", "/analytics/summary", { token: http.tokens.user })).body as { leads: number };
    await push();
    await push({ is_playground: true });
    await push({ execution_mode: "TELEPHONY_TEST" });
    const { status, body } = await http.ask("GET", "/analytics/summary", { token: http.tokens.user });
    expect([status, body["leads"], body["cost_currency"]]).toEqual([200, before.leads + 1, "USD"]);
    expect(body["by_status"]).toMatchObject({ BACKLOG: expect.any(Number), FINISHED: expect.any(Number) });
    expect(body["templates"]).toEqual([
      expect.objectContaining({ template_id: template, template: "reminder", leads: body["leads"] }),
    ]);
    expect((await http.ask("GET", `/analytics/summary?template_id=${randomUUID()}`)).body["leads"]).toBe(0);
  });
  test.each(["from=2026-01-01T00:00:00Z&to=2025-01-01T00:00:00Z", "from=2020-01-01T00:00:00Z", "from=now"])(
    "%s is 400",
    async (query) => {
      expect(code(await http.ask("GET", `/analytics/summary?${query}`))).toEqual([400, "VALIDATION_FAILED"]);
    },
  );
});

describe("sessions", () => {
  test.each([
    ["join", undefined],
    ["tts-speak", { text: "One moment." }],
  ])("%s of a lead that is dialled is 409, of an unknown one 404", async (what, body) => {
    const asked = async (id: string) => code(await http.ask("POST", `/leads/${id}/${what}`, body ? { body } : {}));
    expect(await asked(idOf(await push()))).toEqual([409, "WRONG_MODE"]);
    expect(await asked(randomUUID())).toEqual([404, "LEAD_NOT_FOUND"]);
  });
  test("nothing is spoken where nobody has joined: 409; a text without words or with too many is 400", async () => {
    const id = idOf(await push({ execution_mode: "RTC_STREAM" }));
    const asked = async (body: object) => code(await http.ask("POST", `/leads/${id}/tts-speak`, { body }));
    expect(await asked({ text: "One moment.", voice: "alloy" })).toEqual([409, "SESSION_NOT_LIVE"]);
    for (const body of [{ text: "" }, { text: "x".repeat(2001) }, { text: "x", voice: "" }, {}])
      expect(await asked(body)).toEqual([400, "VALIDATION_FAILED"]);
  });
  test("the page behind a join link may reach nothing but its own files and the media port; a link that leads nowhere is said to be dead before anything is pressed", async () => {
    const { origin } = new URL(http.base);
    const page = await fetch(`${origin}/r/any-link`);
    const policy = page.headers.get("content-security-policy") ?? "";
    expect([page.status, page.headers.get("cache-control")]).toEqual([404, "no-store"]);
    expect(policy).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self' wss?:\/\/[^ ;]+;/,
    );
    const html = await page.text();
    expect(html).not.toMatch(/https?:|<script>|style=|onclick|data-refused=""/);
    for (const [, file] of html.matchAll(/(?:src|href)="([^"]+)"/g))
      expect((await fetch(`${origin}${file}`)).status).toBe(200);
    const answer = await fetch(`${origin}/r/any-link`, { method: "POST", body: "{}" });
    expect(answer.headers.get("access-control-allow-origin")).toBe("*"); // who has the link, from any origin
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([404, "LEAD_NOT_FOUND"]);
  });
  test("a recording of an unknown call: 404", async () => {
    expect(code(await http.ask("GET", "/leads/recording/CA0123456789"))).toEqual([404, "RECORDING_NOT_FOUND"]);
  });
});

describe("webhook secret rotation", () => {
  test("a new secret for writers of the merchant, the one before still named valid for a day", async () => {
    const body = { reseller_id: http.reseller_id, merchant_id: http.merchant_id };
    const read = async () =>
      (await http.ask("GET", `/webhook-secret?reseller_id=${http.reseller_id}&merchant_id=${http.merchant_id}`)).body[
        "secret"
      ];
    const before = await read();
    const answer = await http.ask("POST", "/webhook-secret/rotate", { body, token: http.tokens.merchant });
    expect([answer.status, answer.body["secret"] === before, await read()]).toEqual([
      200,
      false,
      answer.body["secret"],
    ]);
    expect(Date.parse(String(answer.body["previous_valid_until"])) - Date.now()).toBeGreaterThan(86_000_000);
    expect(code(await http.ask("POST", "/webhook-secret/rotate", { body, token: http.tokens.user }))).toEqual([
      403,
      "FORBIDDEN",
    ]);
    expect(
      code(await http.ask("POST", "/webhook-secret/rotate", { body: { ...body, reseller_id: randomUUID() } })),
    ).toEqual([404, "RESELLER_NOT_FOUND"]);
    expect(code(await http.ask("POST", "/webhook-secret/rotate", { body: { merchant_id: http.merchant_id } }))).toEqual(
      [400, "VALIDATION_FAILED"],
    );
  });
});
