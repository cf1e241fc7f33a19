import { request } from "node:http";
import { ServiceBroker } from "moleculer";
import gateway from "../../../services/gateway/gateway.service.ts";
import { systemClock } from "../../../shared/time/clock.ts";
import { readEnv } from "../../../shared/process/env.ts";
import { provideDeps } from "../../../shared/process/process-deps.ts";
import { randomIds } from "../../../shared/ids.ts";
import { rootLog } from "../../../shared/process/log.ts";
import { BusValidator } from "../../../shared/bus/bus-validator.ts";
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

describe("documentation", () => {
  test("the OpenAPI document needs no token", async () => {
    const answer = await http.ask("GET", "/openapi.json", { origin: true, token: null });
    expect([answer.status, answer.body["openapi"], answer.body["servers"]]).toEqual([
      200,
      "3.1.0",
      [{ url: "/agent/voice/callagent" }],
    ]);
  });
  test("/docs is one page without foreign source, and no script but its own", async () => {
    const answer = await http.ask("GET", "/docs", { origin: true, token: null });
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    for (const shown of [
      "/leads/request/{request_id}",
      "reporting_webhook_url",
      "NUMBER_BLACKLISTED",
      "https://calls.example.com/agent/voice/callagent",
    ])
      expect(answer.text).toContain(shown);
    expect(answer.text).not.toMatch(/<script .|<link(?! rel="icon" href="data:)|src=|@import|url\(/);
    expect(answer.text.split("<script>")).toHaveLength(2);
    expect(answer.headers.get("content-security-policy")).toContain("script-src 'sha256-");
  });
});

describe("the page at the root", () => {
  test("leads to the documentation and health, without script or foreign source", async () => {
    const answer = await http.ask("GET", "/", { origin: true, token: null });
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    for (const to of ["/docs", "/openapi.json", "/health/ready"]) expect(answer.text).toContain(`href="${to}"`);
    expect(answer.text).not.toContain("Talk to an agent");
    expect(answer.text).not.toMatch(/<script|src=|@import|url\(/);
    expect(answer.headers.get("content-security-policy")).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; img-src data:; frame-ancestors 'none'/,
    );
  });
  test("/health says what /health/ready says", async () => {
    const [short, long] = [
      await http.ask("GET", "/health", { origin: true, token: null }),
      await http.ask("GET", "/health/ready", { origin: true, token: null }),
    ];
    expect([short.status, short.body]).toEqual([long.status, long.body]);
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
    const broker = new ServiceBroker({ logger: false, validator: new BusValidator() });
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
