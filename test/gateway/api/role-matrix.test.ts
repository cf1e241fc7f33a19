import { generateKeyPairSync } from "node:crypto";
import { SignJWT } from "jose";
import { ROUTES } from "../../../services/gateway/routes/index.ts";
import { fail } from "../../../shared/errors.ts";
import { ADMIN, setHttpStage, type HttpStage } from "../fixtures/http-stage.ts";

let http: HttpStage;
beforeAll(async () => {
  http = await setHttpStage();
  http.script["leads.recording"] = () => fail("RECORDING_NOT_FOUND", "a stand-in has no recordings");
});
afterAll(async () => {
  await http.stop();
});

/** Who may do what; the gateway's table is compared with this. */
const MATRIX: Record<string, string> = {
  "POST /login": "anybody",
  "POST /logout": "admin reseller merchant user",
  "POST /password": "admin reseller merchant user",
  "POST /s2s-token": "admin reseller",
  "GET /s2s-tokens": "admin reseller",
  "DELETE /s2s-tokens/{id}": "admin reseller",
  "POST /users": "admin reseller",
  "GET /users": "admin reseller",
  "GET /users/{id}": "admin reseller",
  "PUT /users/{id}": "admin reseller",
  "DELETE /users/{id}": "admin reseller",
  "GET /audit": "admin reseller",
  "POST /erasures": "admin reseller merchant",
  "GET /erasures": "admin reseller merchant",
  "GET /erasures/{id}": "admin reseller merchant",
  "GET /retention": "admin reseller",
  "PUT /retention": "admin reseller",
  "POST /retention/dry-run": "admin reseller",
  "POST /legal-holds": "admin",
  "GET /legal-holds": "admin reseller",
  "GET /legal-holds/{id}": "admin reseller",
  "POST /legal-holds/{id}/lift": "admin",
  "POST /resellers": "admin",
  "GET /resellers": "admin reseller",
  "GET /resellers/{id}": "admin reseller",
  "PUT /resellers/{id}": "admin",
  "DELETE /resellers/{id}": "admin",
  "POST /merchants": "admin reseller",
  "GET /merchants": "admin reseller merchant user",
  "GET /merchants/{id}": "admin reseller merchant user",
  "PUT /merchants/{id}": "admin reseller",
  "DELETE /merchants/{id}": "admin reseller",
  "POST /merchants/{id}/pause": "admin reseller merchant",
  "POST /merchants/{id}/resume": "admin reseller merchant",
  "GET /deployment": "admin",
  "POST /deployment/pause": "admin",
  "POST /deployment/resume": "admin",
  "POST /templates": "admin reseller merchant",
  "GET /templates": "admin reseller merchant user",
  "GET /templates/{id}": "admin reseller merchant user",
  "PUT /templates/{id}": "admin reseller merchant",
  "DELETE /templates/{id}": "admin reseller merchant",
  "GET /templates/{id}/versions": "admin reseller merchant user",
  "POST /configurations": "admin reseller merchant",
  "GET /configurations": "admin reseller merchant user",
  "GET /configurations/{config_id}": "admin reseller merchant user",
  "PUT /configurations/{config_id}": "admin reseller merchant",
  "POST /doors": "admin reseller merchant",
  "GET /doors": "admin reseller merchant user",
  "DELETE /doors/{id}": "admin reseller merchant",
  "PUT /secrets/{name}": "admin reseller merchant",
  "GET /secrets": "admin reseller merchant",
  "DELETE /secrets/{name}": "admin reseller merchant",
  "DELETE /configurations/{config_id}": "admin reseller merchant",
  "POST /numbers": "admin reseller",
  "GET /numbers": "admin reseller merchant user",
  "GET /numbers/{number_id}": "admin reseller merchant user",
  "PUT /numbers/{number_id}": "admin reseller",
  "DELETE /numbers/{number_id}": "admin reseller",
  "POST /blacklist": "admin reseller",
  "GET /blacklist": "admin reseller merchant user",
  "DELETE /blacklist": "admin reseller",
  "POST /leads": "admin reseller merchant user",
  "GET /leads": "admin reseller merchant user",
  "GET /leads/request/{request_id}": "admin reseller merchant user",
  "GET /leads/{lead_id}": "admin reseller merchant user",
  "GET /leads/{lead_id}/deliveries": "admin reseller merchant user",
  "POST /leads/{lead_id}/deliveries/replay": "admin reseller merchant",
  "POST /leads/bulk": "admin reseller merchant user",
  "GET /events": "admin reseller merchant user",
  "GET /leads/{lead_id}/events": "admin reseller merchant user",
  "GET /leads/{lead_id}/timeline": "admin reseller merchant user",
  "GET /leads/{lead_id}/explain": "admin reseller merchant user",
  "POST /leads/{lead_id}/join": "admin reseller merchant user",
  "POST /leads/{lead_id}/join-link": "admin reseller merchant user",
  "POST /leads/{lead_id}/tts-speak": "admin reseller merchant user",
  "GET /leads/recording/{call_sid}": "admin reseller merchant user",
  "POST /lead/abort": "admin reseller merchant user",
  "POST /leads/resume": "admin reseller merchant user",
  "GET /inbound-calls": "admin reseller merchant user",
  "GET /analytics/summary": "admin reseller merchant user",
  "GET /deliveries": "admin reseller merchant user",
  "GET /webhook-secret": "admin reseller merchant",
  "POST /webhook-secret/rotate": "admin reseller merchant",
  "POST /webhook-endpoints": "admin reseller merchant",
  "GET /webhook-endpoints": "admin reseller merchant user",
  "GET /webhook-endpoints/{id}": "admin reseller merchant user",
  "PUT /webhook-endpoints/{id}": "admin reseller merchant",
  "DELETE /webhook-endpoints/{id}": "admin reseller merchant",
  "POST /webhook-endpoints/{id}/secret/rotate": "admin reseller merchant",
  "POST /webhook-endpoints/{id}/test": "admin reseller merchant",
  "GET /webhook-endpoints/{id}/deliveries": "admin reseller merchant user",
  "POST /webhook-endpoints/{id}/deliveries/{delivery_id}/replay": "admin reseller merchant",
};

/** For people alone: they void the token that asks. */
const SESSIONS = ["POST /logout", "POST /password"];

test("every row of the table is in the matrix, and nothing else", () => {
  expect(ROUTES.map((r) => `${r.method} ${r.path}`).sort()).toEqual(Object.keys(MATRIX).sort());
});

describe("each cell of the matrix over HTTP", () => {
  const cells = Object.entries(MATRIX)
    .filter(([, who]) => who !== "anybody")
    .flatMap(([endpoint, who]) =>
      (["admin", "reseller", "merchant", "user"] as const).map(
        (role) => [endpoint, role, who.split(" ").includes(role)] as const,
      ),
    );
  test.each(cells)("%s as %s: %s", async (endpoint, role, allowed) => {
    const [method = "", path = ""] = endpoint.split(" ");
    const answer = await http.ask(method, path.replaceAll(/\{[a-z_]+\}/g, "x"), {
      token: SESSIONS.includes(endpoint) ? await http.logIn(role) : http.tokens[role],
      ...(method === "POST" || method === "PUT" ? { body: {} } : {}),
    });
    if (allowed)
      expect([[401, 403, 405, 500].includes(answer.status), answer.body["code"] === "ROUTE_NOT_FOUND"]).toEqual([
        false,
        false,
      ]);
    else expect([answer.status, answer.body["code"]]).toEqual([403, "FORBIDDEN"]);
  });
  test.each(
    Object.entries(MATRIX)
      .filter(([, who]) => who !== "anybody")
      .map(([endpoint]) => [endpoint]),
  )("%s without a token: 401", async (endpoint) => {
    const [method = "", path = ""] = endpoint.split(" ");
    const answer = await http.ask(method, path.replaceAll(/\{[a-z_]+\}/g, "x"), {
      token: null,
      ...(method === "POST" || method === "PUT" ? { body: "{broken" } : {}),
    });
    expect([answer.status, answer.body["code"], answer.headers.get("www-authenticate")]).toEqual([
      401,
      "UNAUTHENTICATED",
      'Bearer realm="callagent"',
    ]);
  });
});

describe("POST /login", () => {
  test("200 with an access token that opens the other endpoints", async () => {
    const answer = await http.ask("POST", "/login", { token: null, body: ADMIN });
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        access_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
        token_type: "bearer",
        user: { id: expect.any(String), email: ADMIN.email, role: "admin", reseller_id: null },
      },
    ]);
    expect((await http.ask("GET", "/resellers", { token: String(answer.body["access_token"]) })).status).toBe(200);
  });
  test.each([
    ["a wrong password", { email: ADMIN.email, password: "wrong" }, "INVALID_CREDENTIALS"],
    ["an unknown e-mail", { email: "nobody@example.com", password: "wrong" }, "INVALID_CREDENTIALS"],
    ["no password", { email: ADMIN.email }, "VALIDATION_FAILED"],
    ["no e-mail", { password: "x" }, "VALIDATION_FAILED"],
    ["an e-mail that is none", { email: "root", password: "x" }, "VALIDATION_FAILED"],
    ["operators", { email: { $gt: "" }, password: { $ne: 1 } }, "VALIDATION_FAILED"],
    ["an unknown field", { ...ADMIN, role: "admin" }, "VALIDATION_FAILED"],
    ["no object", [], "VALIDATION_FAILED"],
  ])("%s is 422", async (_, body, code) => {
    const answer = await http.ask("POST", "/login", { token: null, body });
    expect([answer.status, answer.body["code"]]).toEqual([422, code]);
    expect(answer.headers.has("www-authenticate")).toBe(false);
  });
  test("an invalid token in the header is ignored", async () => {
    expect((await http.ask("POST", "/login", { token: "rubbish", body: ADMIN })).status).toBe(200);
  });
  test("the eleventh wrong try in a minute is 429 with Retry-After", async () => {
    const body = { email: "mallory@example.com", password: "guess" };
    const guess = () =>
      http.ask("POST", "/login", { token: null, body, headers: { "X-Forwarded-For": "203.0.113.50" } });
    for (let i = 0; i < 10; i++) expect((await guess()).status).toBe(422);
    const answer = await guess();
    expect([answer.status, answer.body["code"]]).toEqual([429, "RATE_LIMITED"]);
    // a minute from the first try, however long the eleven took
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(Number(answer.headers.get("retry-after"))).toBeLessThanOrEqual(60);
  });
});

describe("POST /s2s-token", () => {
  test("200 with a token that works", async () => {
    const body = { name: "crm", role: "merchant", reseller_id: http.reseller_id, merchant_id: http.merchant_id };
    const answer = await http.ask("POST", "/s2s-token", { body, token: http.tokens.reseller });
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        ...body,
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        token: expect.stringMatching(/^cag_s2s_/),
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*\.\d{3}Z$/),
      },
    ]);
    expect((await http.ask("GET", "/merchants", { token: String(answer.body["token"]) })).body["count"]).toBe(1);
  });
  test.each([
    [
      "merchant_id missing",
      () => ({ name: "x", role: "merchant", reseller_id: http.reseller_id }),
      "admin",
      422,
      "VALIDATION_FAILED",
    ],
    [
      "an unknown reseller",
      () => ({ name: "x", role: "reseller", reseller_id: "nobody" }),
      "admin",
      422,
      "RESELLER_UNKNOWN",
    ],
    [
      "an unknown merchant",
      () => ({ name: "x", role: "user", reseller_id: http.reseller_id, merchant_id: "nobody" }),
      "admin",
      422,
      "VALIDATION_FAILED",
    ],
    [
      "the role admin",
      () => ({ name: "x", role: "admin", reseller_id: http.reseller_id }),
      "admin",
      422,
      "VALIDATION_FAILED",
    ],
    ["another reseller", () => ({ name: "x", role: "reseller", reseller_id: "other" }), "reseller", 403, "FORBIDDEN"],
    [
      "a merchant's wish",
      () => ({ name: "x", role: "reseller", reseller_id: http.reseller_id }),
      "merchant",
      403,
      "FORBIDDEN",
    ],
  ] as const)("%s", async (_, body, role, status, code) => {
    const answer = await http.ask("POST", "/s2s-token", { body: body(), token: http.tokens[role] });
    expect([answer.status, answer.body["code"]]).toEqual([status, code]);
  });
});

describe("tokens", () => {
  test.each(["rubbish", "a.b.c", `cag_s2s_${"A".repeat(43)}`, "x".repeat(8000)])(
    "%s is 401 invalid_token",
    async (token) => {
      const answer = await http.ask("GET", "/leads", { token });
      expect([answer.status, answer.headers.get("www-authenticate")]).toEqual([
        401,
        'Bearer realm="callagent", error="invalid_token"',
      ]);
    },
  );
  test("another scheme, or a token with blanks, is 401", async () => {
    for (const Authorization of ["Basic YWRtaW46eA==", `Bearer ${http.tokens.admin} x`, http.tokens.admin])
      expect((await http.ask("GET", "/leads", { token: null, headers: { Authorization } })).status).toBe(401);
  });
  test("the scheme's case does not matter", async () => {
    expect(
      (await http.ask("GET", "/merchants", { token: null, headers: { Authorization: `bearer ${http.tokens.user}` } }))
        .status,
    ).toBe(200);
  });
  test("an expired or forged login token is 401", async () => {
    const now = Math.floor(Date.now() / 1000);
    const forged = await new SignJWT({ role: "admin" })
      .setProtectedHeader({ alg: "EdDSA", typ: "at+jwt", kid: "../../dev/null", jku: "http://127.0.0.1:9/" })
      .setIssuer("callagent")
      .setAudience("callagent-api")
      .setSubject("x")
      .setIssuedAt(now)
      .setExpirationTime(now + 60)
      .sign(generateKeyPairSync("ed25519").privateKey);
    expect((await http.ask("GET", "/leads", { token: forged })).status).toBe(401);
  });
});
