import { readEnv } from "../../../shared/process/env.ts";
import { setHttpStage, type HttpStage } from "../fixtures/http-stage.ts";
import { corsHeaders, originsOf, preflightHeaders } from "../../../services/gateway/http/cors.ts";

const PAGE = "https://app.example.com";

let http: HttpStage;
beforeAll(async () => {
  http = await setHttpStage([], { CORS_ORIGINS: `${PAGE},https://b.example.com` });
});
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

describe("headers by origin", () => {
  const allowed = originsOf(" https://app.example.com, https://b.example.com:8443 ,");
  test.each([
    "https://app.example.com.evil.example",
    "https://evil-app.example.com",
    "http://app.example.com",
    "https://app.example.com:443",
    "https://APP.example.com",
    "https://b.example.com",
    "null",
    "",
    "*",
    "https://app.example.com/",
  ])("%s is none of them", (origin) => {
    expect(corsHeaders(origin, allowed)).toEqual({ Vary: "Origin" });
    expect(preflightHeaders(origin, allowed, ["GET"])).toEqual({});
  });
  test("an allowed origin may read, without credentials; none may where none is configured", () => {
    expect(corsHeaders("https://app.example.com", allowed)).toMatchObject({
      "Access-Control-Allow-Origin": "https://app.example.com",
      Vary: "Origin",
    });
    expect(
      Object.keys({
        ...corsHeaders("https://app.example.com", allowed),
        ...preflightHeaders("https://app.example.com", allowed, ["GET"]),
      }),
    ).not.toContain("Access-Control-Allow-Credentials");
    expect(corsHeaders("https://app.example.com", originsOf(undefined))).toEqual({});
  });
});
