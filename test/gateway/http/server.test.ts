import { request } from "node:http";
import { ServiceBroker } from "moleculer";
import gateway from "../../../services/gateway/gateway.service.ts";
import { systemClock } from "../../../shared/clock.ts";
import { readEnv } from "../../../shared/env.ts";
import { fail } from "../../../shared/errors.ts";
import { provideDeps } from "../../../shared/process-deps.ts";
import { randomIds } from "../../../shared/ids.ts";
import { rootLog } from "../../../shared/log.ts";
import { AjvValidator } from "../../../shared/validator.ts";
import { until } from "../../../local/harness/stage.ts";
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

const CALLBACK = "/carriers/PROVIDER_ONE/status/7f9c24e8-3b12-4fef-91e0-5a4d8c2b1a00.1";

describe("carrier callbacks", () => {
  test("POST: path, query, headers and body reach the dialer to the byte, without a token; its document is the answer", async () => {
    http.script["dialer.carrierEvent"] = () => ({ content_type: "text/xml", body: "<Response/>" });
    const body = "CallSid=CA1&To=%2B1415&Note=\u00fc+%20\r\n&&=";
    const answer = await http.ask("POST", `${CALLBACK}?b=2&a=%20x&a=+`, {
      origin: true,
      token: null,
      body,
      headers: {
        "Content-Type": "application/x-www-form-urlencoded",
        "X-Twilio-Signature": "abc=",
        Cookie: "session=1",
      },
    });
    expect([answer.status, answer.headers.get("content-type"), answer.text]).toEqual([200, "text/xml", "<Response/>"]);
    const params = http.calls[0]?.params ?? {};
    expect(params).toMatchObject({
      provider: "PROVIDER_ONE",
      kind: "status",
      ref: "7f9c24e8-3b12-4fef-91e0-5a4d8c2b1a00.1",
      method: "POST",
      path: `${CALLBACK}?b=2&a=%20x&a=+`,
      body,
      headers: { "x-twilio-signature": "abc=", "content-type": "application/x-www-form-urlencoded" },
    });
    expect(Object.keys(params["headers"] as object)).not.toContain("cookie");
  });

  test("GET works too, with an empty body", async () => {
    http.script["dialer.carrierEvent"] = () => ({ content_type: "text/xml", body: "" });
    expect((await http.ask("GET", `${CALLBACK}?x=1`, { origin: true, token: null })).status).toBe(200);
    expect(http.calls[0]?.params).toMatchObject({ method: "GET", path: `${CALLBACK}?x=1`, body: "" });
  });

  test("a byte order mark is kept; bytes that are no text are refused", async () => {
    await http.ask("POST", CALLBACK, { origin: true, body: Uint8Array.from([0xef, 0xbb, 0xbf, 0x61]) });
    expect(Buffer.from(String(http.calls[0]?.params["body"])).toString("hex")).toBe("efbbbf61");
    expect((await http.ask("POST", CALLBACK, { origin: true, body: Uint8Array.from([0xff, 0xfe]) })).status).toBe(404);
  });

  test("a wrong signature is 403, a provider of nobody 404, a body too large 413, another method 405", async () => {
    http.script["dialer.carrierEvent"] = () => fail("SIGNATURE_INVALID", "the signature does not match");
    expect((await http.ask("POST", CALLBACK, { origin: true, body: "a=1" })).status).toBe(403);
    expect((await http.ask("POST", "/carriers/PIGEON/status/x", { origin: true, body: "a=1" })).status).toBe(404);
    expect((await http.ask("POST", CALLBACK, { origin: true, body: "x".repeat(262_145) })).status).toBe(413);
    expect((await http.ask("PUT", CALLBACK, { origin: true, body: "x" })).headers.get("allow")).toBe("GET, POST");
  });
});

describe("documentation", () => {
  test("the OpenAPI document needs no token", async () => {
    const answer = await http.ask("GET", "/openapi.json", { origin: true, token: null });
    expect([answer.status, answer.body["openapi"], answer.body["servers"]]).toEqual([
      200,
      "3.1.0",
      [{ url: "/agent/voice/callagent" }],
    ]);
  });
  test("/docs is one page without script or foreign source", async () => {
    const answer = await http.ask("GET", "/docs", { origin: true, token: null });
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    for (const shown of [
      "/leads/request/{request_id}",
      "reporting_webhook_url",
      "NUMBER_BLACKLISTED",
      "https://calls.example.com/agent/voice/callagent",
    ])
      expect(answer.text).toContain(shown);
    expect(answer.text).not.toMatch(/<script|<link|src=|@import|url\(/);
  });
});

describe("every answer", () => {
  test.each([
    ["/health/live", true],
    ["/nothing", true],
    ["/leads", false],
    ["/docs", true],
  ])("%s carries the common headers", async (path, origin) => {
    const answer = await http.ask("GET", path, { origin, token: null });
    expect(answer.headers.get("x-api-version")).toMatch(/^\d{4}-\d\d-\d\d$/);
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
    expect(answer.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(answer.headers.get("strict-transport-security")).toContain("max-age");
    expect(answer.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  });
  test("a caller's request id comes back, also in the problem; one that could do harm is replaced", async () => {
    const answer = await http.ask("GET", "/leads/x", { token: null, headers: { "X-Request-Id": "order-7.try_2" } });
    expect([answer.headers.get("x-request-id"), answer.body["request_id"]]).toEqual(["order-7.try_2", "order-7.try_2"]);
    for (const bad of ["a b", "<script>", "x".repeat(101)]) {
      expect(
        (await http.ask("GET", "/leads", { headers: { "X-Request-Id": bad } })).headers.get("x-request-id"),
      ).toMatch(/^[0-9a-f-]{36}$/);
    }
    expect(
      (await http.ask("GET", "/leads", { headers: { "X-Correlation-Id": "<x>" } })).headers.get("x-request-id"),
    ).toMatch(/^[0-9a-f-]{36}$/);
  });
  test("a problem's type is a page that explains the code", async () => {
    const { body } = await http.ask("GET", "/nothing");
    expect(body).toEqual({
      type: "https://calls.example.com/docs#ROUTE_NOT_FOUND",
      title: expect.any(String),
      status: 404,
      detail: expect.any(String),
      code: "ROUTE_NOT_FOUND",
      request_id: expect.any(String),
    });
  });
});

describe("the server", () => {
  const on = (port: string) => {
    const env = readEnv({ LOG_LEVEL: "silent", HTTP_HOST: "127.0.0.1", HTTP_PORT: port, SHUTDOWN_GRACE_SECONDS: "1" });
    const broker = new ServiceBroker({ logger: false, validator: new AjvValidator() });
    provideDeps(broker, { env, clock: systemClock, ids: randomIds, log: rootLog(env), random: Math.random });
    broker.createService(gateway);
    return broker;
  };
  test("cuts slow headers after 10 s and anything after 10 min", () => {
    const { server } = http.gateway.getLocalService("gateway") as unknown as {
      server: { headersTimeout: number; requestTimeout: number };
    };
    expect([server.headersTimeout, server.requestTimeout]).toEqual([10_000, 600_000]);
  });
  test("a port that is taken: one line that says what to do", async () => {
    const broker = on(new URL(http.origin).port);
    await expect(broker.start()).rejects.toThrow(
      /^gateway can't listen on 127\.0\.0\.1:\d+: the port is taken; stop the other program or set HTTP_PORT to a free one \(0 picks one\)$/,
    );
    await broker.stop();
  });
  test("offers nothing on the bus that others could call", () => {
    const actions = http.stage.broker.registry
      .getActionList({})
      .map((a) => a.name)
      .filter((name) => name.startsWith("gateway."));
    expect(actions).toEqual([]);
  });
  test("a stop lets the request under way end, and cuts an idle connection", async () => {
    const broker = on("0");
    await broker.start();
    const { port } = (
      broker.getLocalService("gateway") as unknown as { server: { address(): { port: number } } }
    ).server.address();
    const slow = new Promise<number | undefined>((resolve, reject) => {
      const req = request(
        { port, method: "POST", path: CALLBACK, headers: { "Content-Length": 2, Connection: "keep-alive" } },
        (res) => {
          res.resume();
          resolve(res.statusCode);
        },
      );
      req.on("error", reject);
      req.write("a", () => {
        void broker.stop();
        setImmediate(() => req.end("b"));
      });
    });
    expect(await slow).toBe(503);
    await until("the port to be closed", () =>
      fetch(`http://127.0.0.1:${port}/health/live`).then(
        () => undefined,
        () => true,
      ),
    );
  });
});

describe("health", () => {
  test("live and ready", async () => {
    expect((await http.ask("GET", "/health/live", { origin: true, token: null })).body).toEqual({ status: "live" });
    const ready = await http.ask("GET", "/health/ready", { origin: true, token: null });
    expect([ready.status, ready.body["status"]]).toEqual([200, "ready"]);
    expect((ready.body["checks"] as { name: string }[]).map((c) => c.name)).toEqual([
      "auth",
      "blacklist",
      "config",
      "dialer",
      "leads",
      "merchants",
      "numbers",
      "webhook",
      "scheduler",
      "conversation",
      "store",
    ]);
  });

  test("without the scheduler leads are still taken: degraded; without the dialer: 503 with the reason, and carriers are told to come again", async () => {
    const gone = async (name: string) => {
      const service = http.stage.broker.getLocalService(name);
      await http.stage.broker.destroyService(service);
    };
    const status = (wanted: string) =>
      until(`readiness ${wanted}`, async () => {
        const answer = await http.ask("GET", "/health/ready", { origin: true, token: null });
        return answer.body["status"] === wanted ? answer : undefined;
      });
    await gone("scheduler");
    expect((await status("degraded")).status).toBe(200);
    await gone("dialer");
    const answer = await status("not_ready");
    expect(answer.status).toBe(503);
    expect(answer.body["checks"]).toContainEqual({
      name: "dialer",
      ok: false,
      needed: true,
      reason: "no instance of this service is on the bus",
    });
    const callback = await http.ask("POST", CALLBACK, { origin: true, token: null, body: "a=1" });
    expect([callback.status, callback.body["code"], callback.headers.has("retry-after")]).toEqual([
      503,
      "DEPENDENCY_DOWN",
      true,
    ]);
  });
});
