import { connect } from "node:net";
import { ADMIN, setHttpStage, type HttpStage } from "../fixtures/http-stage.ts";
import type { IncomingMessage } from "node:http";
import * as fc from "fast-check";
import { addressForm, BAD_TOKENS_PER_ADDRESS, clientAddress } from "../../../services/gateway/http/request-limits.ts";
import { COST } from "../../../services/gateway/routes/row.ts";

const PER_MINUTE = 40;

let http: HttpStage;
beforeAll(async () => {
  http = await setHttpStage([], {
    API_RATE_LIMIT_PER_MINUTE: String(PER_MINUTE),
  });
});
afterAll(async () => {
  await http.stop();
});

describe("rate limits of one client", () => {
  const merchant = (token: string) => http.ask("GET", `/merchants/${http.merchant_id}`, { token });
  test("each answer counts down; past the limit 429 with Retry-After, for every token of the merchant; others are not affected", async () => {
    const seen: number[] = [];
    for (let i = 0; i < PER_MINUTE; i++) {
      const { status, headers } = await merchant(i % 2 === 0 ? http.tokens.user : http.tokens.merchant);
      expect([status, headers.get("ratelimit-limit")]).toEqual([200, String(PER_MINUTE)]);
      seen.push(Number(headers.get("ratelimit-remaining")));
    }
    expect(seen).toEqual(Array.from({ length: PER_MINUTE }, (_, i) => PER_MINUTE - 1 - i));
    for (const token of [http.tokens.user, http.tokens.merchant]) {
      const answer = await merchant(token);
      expect([answer.status, answer.body["code"], answer.headers.get("ratelimit-remaining")]).toEqual([
        429,
        "RATE_LIMITED",
        "0",
      ]);
      expect(answer.headers.get("retry-after")).toBe(answer.headers.get("ratelimit-reset"));
      expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    }
    expect((await merchant(http.tokens.reseller)).status).toBe(200);
  });
  test("what is dear costs more, and one request is served while anything is left", async () => {
    const first = await http.ask("GET", "/merchants");
    expect([first.status, first.headers.get("ratelimit-remaining")]).toEqual([200, String(PER_MINUTE - COST.list)]);
    const sum = await http.ask("GET", "/analytics/summary");
    expect([sum.status, sum.headers.get("ratelimit-remaining")]).toEqual([200, "0"]);
    expect((await http.ask("GET", "/merchants")).status).toBe(429);
  });
  test("who guesses tokens is not answered for long, and holds up nobody who shares the address", async () => {
    const headers = { "X-Forwarded-For": "203.0.113.77" };
    const ask = (token: string) => http.ask("GET", `/resellers/${http.reseller_id}`, { token, headers });
    expect((await ask(http.tokens.reseller)).status).toBe(200);
    const guess = () => ask(`cag_s2s_${"x".repeat(43)}`);
    for (let i = 0; i < BAD_TOKENS_PER_ADDRESS; i++) expect((await guess()).status).toBe(401);
    const held = await guess();
    expect([held.status, held.body["code"], held.headers.has("retry-after")]).toEqual([429, "RATE_LIMITED", true]);
    expect((await ask(http.tokens.reseller)).status).toBe(200);
  });
  test("log-in: ten failed attempts a minute from one address, over all e-mails; successful ones don't count", async () => {
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
  test("a client that never ends its headers is disconnected", async () => {
    const { server } = http.gateway.getLocalService("gateway") as unknown as { server: { headersTimeout: number } };
    server.headersTimeout = 200;
    try {
      expect(await said("GET /health/live HTTP/1.1\r\nHost: x\r\nX-Slow: ")).toMatch(/^HTTP\/1\.1 408 /);
    } finally {
      server.headersTimeout = 10_000;
    }
  });
});

describe("the client's address", () => {
  const from = (remoteAddress: string, forwarded?: string) =>
    ({ headers: { "x-forwarded-for": forwarded }, socket: { remoteAddress } }) as unknown as IncomingMessage;
  test.each([
    ["192.0.2.1", undefined, false, "192.0.2.1"],
    ["192.0.2.1", "198.51.100.7", false, "192.0.2.1"],
    ["192.0.2.1", "198.51.100.7", true, "198.51.100.7"],
    ["192.0.2.1", "forged, 203.0.113.9, 198.51.100.7", true, "198.51.100.7"],
    ["192.0.2.1", "", true, "192.0.2.1"],
    ["192.0.2.1", "x, ", true, "192.0.2.1"],
    ["::ffff:192.0.2.1", undefined, true, "192.0.2.1"],
    ["::1", "198.51.100.7:4711", true, "198.51.100.7"],
    ["::1", "[2001:db8:1:2:3::4]:99", true, "2001:db8:1:2::/64"],
  ] as const)("socket %s, X-Forwarded-For %j, trusted %s: %s", (remote, forwarded, trusted, expected) => {
    expect(clientAddress(from(remote, forwarded), trusted)).toBe(expected);
  });
  test("an IPv6 customer can't multiply", () => {
    expect(addressForm("2001:db8:0:1::1")).toBe(addressForm("2001:db8:0:1:ffff::2"));
  });
  test("no text is too odd, and what is kept is short", () => {
    fc.assert(fc.property(fc.string({ maxLength: 500 }), (text) => addressForm(text).length <= 64));
  });
});
