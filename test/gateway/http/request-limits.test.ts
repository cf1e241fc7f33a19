import { connect } from "node:net";
import { request } from "node:http";
import { gunzipSync } from "node:zlib";
import { readEnv } from "../../../shared/env.ts";
import { ADMIN, setHttpStage, type HttpStage } from "../fixtures/http-stage.ts";

const PAGE = "https://app.example.com";
const PER_MINUTE = 40;

/** The edge with everything switched on. */
let http: HttpStage;
beforeAll(async () => {
  http = await setHttpStage([], {
    CORS_ORIGINS: `${PAGE},https://b.example.com`,
    API_RATE_LIMIT_PER_MINUTE: String(PER_MINUTE),
  });
}, 30_000);
afterAll(async () => {
  await http.stop();
});

describe("pages of other origins", () => {
  test("a preflight of an allowed one is answered with the methods that are there", async () => {
    const answer = await http.ask("OPTIONS", "/leads", {
      token: null,
      headers: {
        Origin: PAGE,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization",
      },
    });
    expect([
      answer.status,
      answer.headers.get("access-control-allow-origin"),
      answer.headers.get("access-control-allow-methods"),
      answer.headers.get("vary"),
    ]).toEqual([204, PAGE, "GET, HEAD, POST", "Origin"]);
    expect(answer.headers.get("access-control-allow-headers")).toContain("Authorization");
    expect(answer.headers.get("access-control-max-age")).toBe("600");
    expect(answer.headers.has("access-control-allow-credentials")).toBe(false);
  });
  test("it may read answers and refusals, and the headers a client needs", async () => {
    for (const [path, token] of [
      ["/merchants", http.tokens.admin],
      ["/merchants", null],
      ["/nothing", null],
    ] as const) {
      const answer = await http.ask("GET", path, { token, headers: { Origin: PAGE } });
      expect([
        answer.headers.get("access-control-allow-origin"),
        answer.headers.get("access-control-allow-credentials"),
      ]).toEqual([PAGE, null]);
      expect(answer.headers.get("access-control-expose-headers")).toContain("Retry-After");
    }
  });
  test.each(["https://app.example.com.evil.example", "https://evil.example", "null", "http://app.example.com"])(
    "%s may not",
    async (Origin) => {
      const preflight = await http.ask("OPTIONS", "/leads", {
        token: null,
        headers: { Origin, "Access-Control-Request-Method": "POST" },
      });
      const answer = await http.ask("GET", "/merchants", { headers: { Origin } });
      for (const { headers } of [preflight, answer])
        expect([...headers.keys()].filter((name) => name.startsWith("access-control-"))).toEqual([]);
      expect([answer.status, answer.headers.get("vary")]).toEqual([200, "Origin"]);
    },
  );
  test("what is no origin is refused at the start", () => {
    for (const wrong of [
      "*",
      "app.example.com",
      "https://app.example.com/",
      "https://app.example.com/x",
      `${PAGE},https://*.example.com:x`,
    ])
      expect(() => readEnv({ CORS_ORIGINS: wrong })).toThrow(/CORS_ORIGINS holds "[^"]+", which is no origin/);
  });
});

describe("compression", () => {
  /** As it comes over the wire: fetch would unpack it. */
  const raw = (path: string, encoding: string | null) =>
    new Promise<{ headers: NodeJS.Dict<string | string[]>; bytes: Buffer }>((resolve, reject) => {
      request(
        `${http.origin}${path}`,
        {
          headers: {
            Authorization: `Bearer ${http.tokens.merchant}`,
            ...(encoding === null ? {} : { "Accept-Encoding": encoding }),
          },
        },
        (res) => {
          const chunks: Buffer[] = [];
          res
            .on("data", (chunk: Buffer) => chunks.push(chunk))
            .on("end", () => {
              resolve({ headers: res.headers, bytes: Buffer.concat(chunks) });
            });
        },
      )
        .on("error", reject)
        .end();
    });
  const LEADS = "/agent/voice/callagent/leads";

  test("a long answer is compressed for whoever takes that, and says what it depends on", async () => {
    http.script["leads.list"] = () => ({ count: 0, leads: [], next_cursor: "x".repeat(50_000) });
    const [packed, plain] = [await raw(LEADS, "br, gzip"), await raw(LEADS, null)];
    expect([
      packed.headers["content-encoding"],
      packed.headers["vary"],
      Number(packed.headers["content-length"]),
    ]).toEqual(["gzip", "Origin, Accept-Encoding", packed.bytes.length]);
    expect(packed.bytes.length).toBeLessThan(plain.bytes.length / 10);
    expect(gunzipSync(packed.bytes).equals(plain.bytes)).toBe(true);
    expect([plain.headers["content-encoding"], plain.headers["vary"]]).toEqual([undefined, "Origin, Accept-Encoding"]);
  });
  test("a short one is not; the documents are", async () => {
    http.script["leads.list"] = () => ({ count: 0, leads: [], next_cursor: null });
    expect((await raw(LEADS, "gzip")).headers["content-encoding"]).toBeUndefined();
    for (const path of ["/openapi.json", "/docs"])
      expect((await raw(path, "gzip")).headers["content-encoding"]).toBe("gzip");
  });
  test("carriers get their documents as they are", async () => {
    http.script["dialer.carrierEvent"] = () => ({
      content_type: "text/xml",
      body: `<Response>${" ".repeat(5000)}</Response>`,
    });
    const { headers, bytes } = await raw("/carriers/PROVIDER_ONE/answer/x", "gzip");
    expect([headers["content-encoding"], bytes.length]).toEqual([undefined, 5021]);
  });
});

describe("how much one client may ask", () => {
  test("each answer counts down; past the limit 429 with Retry-After; other tokens go on", async () => {
    const seen: number[] = [];
    for (let i = 0; i < PER_MINUTE; i++) {
      const { status, headers } = await http.ask("GET", "/merchants", { token: http.tokens.user });
      expect([status, headers.get("ratelimit-limit")]).toEqual([200, String(PER_MINUTE)]);
      seen.push(Number(headers.get("ratelimit-remaining")));
    }
    expect(seen).toEqual(Array.from({ length: PER_MINUTE }, (_, i) => PER_MINUTE - 1 - i));
    const answer = await http.ask("GET", "/merchants", { token: http.tokens.user });
    expect([answer.status, answer.body["code"], answer.headers.get("ratelimit-remaining")]).toEqual([
      429,
      "RATE_LIMITED",
      "0",
    ]);
    expect(answer.headers.get("retry-after")).toBe(answer.headers.get("ratelimit-reset"));
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(30);
    expect((await http.ask("GET", "/merchants", { token: http.tokens.reseller })).status).toBe(200);
  });
  test("log-in: ten failed tries a minute from one address, over all e-mails; rightful ones don't count", async () => {
    const from = (address: string) => ({ "X-Forwarded-For": `198.51.100.99, ${address}` });
    const login = (body: unknown, address: string) =>
      http.ask("POST", "/login", { token: null, body, headers: from(address) });
    for (let i = 0; i < 12; i++) expect((await login(ADMIN, "203.0.113.5")).status).toBe(200);
    for (let i = 0; i < 10; i++)
      expect((await login({ email: `guess-${i}@example.com`, password: "x" }, "203.0.113.5")).status).toBe(422);
    const answer = await login(ADMIN, "203.0.113.5");
    expect([answer.status, answer.body["code"], answer.headers.has("retry-after")]).toEqual([
      429,
      "RATE_LIMITED",
      true,
    ]);
    expect((await login(ADMIN, "203.0.113.6")).status).toBe(200);
  });
});

describe("slow clients", () => {
  const said = (text: string) =>
    new Promise<string>((resolve, reject) => {
      const socket = connect(Number(new URL(http.origin).port), "127.0.0.1", () => {
        socket.write(text);
      });
      let answer = "";
      socket
        .on("data", (chunk) => {
          answer += chunk.toString();
        })
        .on("close", () => {
          resolve(answer);
        })
        .on("error", reject);
    });
  test("one that never ends its headers is cut off", async () => {
    const { server } = http.gateway.getLocalService("gateway") as unknown as { server: { headersTimeout: number } };
    server.headersTimeout = 200;
    try {
      expect(await said("GET /health/live HTTP/1.1\r\nHost: x\r\nX-Slow: ")).toMatch(/^HTTP\/1\.1 408 /);
    } finally {
      server.headersTimeout = 10_000;
    }
  });
});
