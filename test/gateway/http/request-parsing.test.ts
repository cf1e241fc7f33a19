import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { readBytes } from "../../../services/gateway/http/body.ts";
import { request } from "node:http";
import { fail, type ErrorCode } from "../../../shared/errors.ts";
import { setHttpStage, type AskOptions, type HttpStage } from "../fixtures/http-stage.ts";

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

const TEMPLATE = "7f9c24e8-3b12-4fef-91e0-5a4d8c2b1a00";
const lead = (over: Record<string, unknown> = {}) => ({
  request_id: "o-1",
  template_id: TEMPLATE,
  reseller_id: http.reseller_id,
  payload: { customer_mobile_number: "+14155550100" },
  ...over,
});
const fails = (code: ErrorCode, data?: Parameters<typeof fail>[2]) => () =>
  fail(code, "what was wrong, and what to do", data);

describe("queries", () => {
  test.each([
    ["status[$ne]=FINISHED"],
    ["template_id[$gt]="],
    ["a[$ne]=1"],
    ["status=BACKLOG&status=RETRY"],
    ["unknown=1"],
    ["__proto__=x"],
    ["by=x"],
    ["limit=abc"],
    ["limit=0"],
    ["limit=501"],
    ["include_test=yes"],
    ["status=NOPE"],
    ["merchant_id="],
    ["cursor="],
  ])("GET /leads?%s is 400", async (query) => {
    const answer = await http.ask("GET", `/leads?${query}`);
    expect([answer.status, answer.body["code"]]).toEqual([400, "VALIDATION_FAILED"]);
    expect(http.calls).toEqual([]);
  });

  test("values come in their types", async () => {
    await http.ask("GET", "/leads?limit=5&include_test=true&status=RETRY");
    expect(http.calls[0]?.params).toEqual({ limit: 5, include_test: true, status: "RETRY", by: expect.anything() });
  });

  test("a query never reaches into a body", async () => {
    const answer = await http.ask("POST", "/s2s-token?role=admin", {
      body: { name: "x", role: "user", reseller_id: http.reseller_id, merchant_id: http.merchant_id },
    });
    expect([answer.status, answer.body["code"]]).toEqual([422, "VALIDATION_FAILED"]);
  });
});

describe("bodies", () => {
  const cases: [string, AskOptions, number, string][] = [
    ["broken JSON", { body: '{"email": ' }, 400, "MALFORMED_JSON"],
    ["bytes that are no UTF-8", { body: Uint8Array.from([0x22, 0xff, 0x22]) }, 400, "MALFORMED_JSON"],
    [
      "another content type",
      { body: "a=1", headers: { "Content-Type": "application/x-www-form-urlencoded" } },
      415,
      "UNSUPPORTED_MEDIA_TYPE",
    ],
    [
      "another charset",
      { body: "{}", headers: { "Content-Type": "application/json; charset=latin1" } },
      415,
      "UNSUPPORTED_MEDIA_TYPE",
    ],
    ["compressed bytes", { body: "{}", headers: { "Content-Encoding": "gzip" } }, 415, "UNSUPPORTED_MEDIA_TYPE"],
    ["one byte too many", { body: `"${"x".repeat(262_143)}"` }, 413, "BODY_TOO_LARGE"],
    ["too deep", { body: `${'{"a":'.repeat(100)}1${"}".repeat(100)}` }, 400, "VALIDATION_FAILED"],
  ];
  test.each(cases)("%s", async (_, options, status, code) => {
    const answer = await http.ask("POST", "/resellers", options);
    expect([answer.status, answer.body["code"]]).toEqual([status, code]);
  });

  test.each([
    ['{"name" "Shop"}', "It is not valid JSON at line 1, column 9; check quotes, commas and brackets."],
    ['{\n  "name": "Shop",\n}', "It is not valid JSON at line 3, column 1; check quotes, commas and brackets."],
    ['{"name": ', "It is not valid JSON: it ends too early; check quotes, commas and brackets."],
    ["secret", "It is not valid JSON; check quotes, commas and brackets."],
  ])("%j is refused with the place where the parser tells it, and quoted nowhere", async (body, detail) => {
    expect((await http.ask("POST", "/resellers", { body })).body["detail"]).toBe(detail);
  });

  test("charset utf-8 is taken, however it is written", async () => {
    for (const type of ["application/json; charset=utf-8", 'Application/JSON;charset="UTF-8"']) {
      expect(
        (await http.ask("POST", "/resellers", { body: '{"name":"Ünïcode"}', headers: { "Content-Type": type } })).body[
          "name"
        ],
      ).toBe("Ünïcode");
    }
  });

  test("a body without a length that grows past the limit is cut off with 413", async () => {
    const { port } = new URL(http.origin);
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const req = request(
        {
          port,
          method: "POST",
          path: "/agent/voice/callagent/leads",
          headers: { "Content-Type": "application/json", Authorization: `Bearer ${http.tokens.admin}` },
        },
        (res) => {
          res.resume();
          resolve(res.statusCode);
        },
      );
      req.on("error", reject);
      for (let i = 0; i < 6; i++) req.write(Buffer.alloc(65_536, 0x20));
      req.end();
    });
    expect(status).toBe(413);
  });

  test("constructor and the like are inert, wherever they stand", async () => {
    const body = `{"request_id":"o-1","template_id":"${TEMPLATE}","reseller_id":"r","payload":{"constructor":{"prototype":{"polluted":true}},"$where":"1","a.b":1}}`;
    expect((await http.ask("POST", "/leads", { body })).status).toBe(201);
    const sent = (http.calls[0]!.params["lead"] as { payload: Record<string, unknown> }).payload;
    expect(Object.keys(sent)).toEqual(["constructor", "$where", "a.b"]);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  test.each([
    ["a property named __proto__", '{"__proto__":{"polluted":true}}', "__proto__"],
    ["half of a character in a text", '{"a":["\\ud800"]}', "half of a character"],
    ["half of a character in a name", '{"\\udc00x":1}', "half of a character"],
  ])("%s is refused with 400, and nothing is asked", async (_what, payload, reason) => {
    const body = `{"request_id":"o-1","template_id":"${TEMPLATE}","reseller_id":"r","payload":${payload}}`;
    const answer = await http.ask("POST", "/leads", { body });
    expect([answer.status, answer.body["code"], http.calls.length]).toEqual([400, "VALIDATION_FAILED", 0]);
    expect(answer.body["detail"]).toContain(reason);
  });
  test("a name that an object has twice is refused with its path, in bulk for its row alone", async () => {
    const twice = `{"request_id":"o-1","template_id":"${TEMPLATE}","reseller_id":"r","payload":{"a":1,"a":2}}`;
    const one = await http.ask("POST", "/leads", { body: twice });
    const errors = [{ path: "payload.a", message: "is given more than once in the same object" }];
    expect([one.status, one.body["code"], one.body["errors"], http.calls]).toEqual([400, "MALFORMED_JSON", errors, []]);
    http.script["leads.pushMany"] = () => ({ results: [{ index: 0, status: "queued" }] });
    const many = await http.ask("POST", "/leads/bulk", { body: `[${twice},${JSON.stringify(lead())}]` });
    expect(JSON.parse(many.text)).toEqual([
      { index: 0, status: "refused", code: "MALFORMED_JSON", http_status: 400, message: expect.any(String), errors },
      expect.objectContaining({ index: 1, status: "queued" }),
    ]);
  });
  test("a whole character written as an escape is taken", async () => {
    const body = `{"request_id":"o-1","template_id":"${TEMPLATE}","reseller_id":"r","payload":{"a":"\\ud83d\\ude00"}}`;
    expect((await http.ask("POST", "/leads", { body })).status).toBe(201);
  });

  test("an empty Idempotency-Key is refused alike for one lead and for many", async () => {
    const headers = { "Idempotency-Key": "" };
    const one = await http.ask("POST", "/leads", { body: lead({}), headers });
    const many = await http.ask("POST", "/leads/bulk", { body: JSON.stringify([lead({})]), headers });
    expect([one.status, one.body["code"], many.status, many.body["code"], http.calls.length]).toEqual([
      422,
      "VALIDATION_FAILED",
      422,
      "VALIDATION_FAILED",
      0,
    ]);
  });

  test("a client that hangs up in mid-body is no fault of ours", async () => {
    const req = new IncomingMessage(new Socket());
    const read = readBytes(req);
    req.destroy(new Error("aborted"));
    await expect(read).rejects.toMatchObject({ type: "MALFORMED_JSON" });
  });

  test.each([
    ["/leads?phone_number=1", "phone_number is not a known query parameter; did you mean phone?"],
    ["/leads?offset=1", "offset is not a known query parameter; there are status, outcome, template_id,"],
    ["/templates/7f9c24e8-3b12-4fef-91e0-5a4d8c2b1a00?x=1", "x is not a known query parameter; there are none here"],
  ])("GET %s says which there are: %s", async (path, detail) => {
    const { status, body } = await http.ask("GET", path);
    expect([status, body["detail"]]).toEqual([400, expect.stringContaining(detail)]);
  });

  test("a misspelled field comes with the one that was probably meant; thousands of them cost no more", async () => {
    const { request_id, ...rest } = lead({});
    const told = await http.ask("POST", "/leads", {
      body: { ...rest, requestId: request_id },
      token: http.tokens.user,
    });
    expect(told.body["errors"]).toContainEqual({
      path: "requestId",
      message: "is not a known field; did you mean request_id?",
    });
    const many = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`request_i${i}`, 1]));
    const errors = (await http.ask("POST", "/leads", { body: { ...lead({}), ...many }, token: http.tokens.user })).body[
      "errors"
    ];
    expect((errors as { message: string }[]).filter(({ message }) => message.includes("did you mean"))).toHaveLength(3);
  });

  test("who asks can't be said in a body", async () => {
    const by = { kind: "user", id: "x", role: "admin", reseller_id: null, merchant_id: null };
    const answer = await http.ask("POST", "/merchants", {
      body: { name: "x", reseller_id: "other", contact_email: "a@example.com", by },
      token: http.tokens.reseller,
    });
    expect([answer.status, answer.body["errors"]]).toEqual([400, [{ path: "by", message: "is not a known field" }]]);
    expect((await http.ask("POST", "/leads", { body: lead({ by }), token: http.tokens.user })).status).toBe(400);
  });
});

describe("unknown endpoints and methods", () => {
  test.each([
    ["GET", "/nothing"],
    ["GET", ""],
    ["GET", "/leads/dueOf"],
    ["POST", "/leads.dueOf"],
    ["GET", "/LEADS"],
    ["POST", "/auth/identify"],
    ["POST", "/gateway/rest"],
    ["GET", "/~node/list"],
    ["GET", "/$node/list"],
  ])("%s %s below the base path", async (method, path) => {
    http.script["leads.get"] = fails("LEAD_NOT_FOUND");
    const answer = await http.ask(method, path, method === "POST" ? { body: {} } : {});
    expect([answer.status, answer.body["code"]]).toEqual([
      404,
      path === "/leads/dueOf" ? "LEAD_NOT_FOUND" : "ROUTE_NOT_FOUND",
    ]);
  });
  test.each([
    "/leads",
    "/gateway/listAliases",
    "/gateway/list-aliases",
    "/~node/services",
    "/$node/services",
    "/leads/push",
    "/auth/login",
    "/merchants/list",
    "/%zz",
  ])("GET and POST %s beside it", async (path) => {
    for (const method of ["GET", "POST"]) {
      const answer = await http.ask(method, path, { origin: true, ...(method === "POST" ? { body: {} } : {}) });
      expect([answer.status, answer.body["code"]]).toEqual([404, "ROUTE_NOT_FOUND"]);
    }
    expect(http.calls).toEqual([]);
  });
  test.each([
    ["DELETE", "/leads", "GET, HEAD, POST"],
    ["PUT", "/login", "POST"],
    ["GET", "/lead/abort", "POST"],
    ["PATCH", "/templates/x", "DELETE, GET, HEAD, PUT"],
    ["POST", "/leads/x/", "GET, HEAD"],
  ])("%s %s is 405 with Allow: %s", async (method, path, allow) => {
    const answer = await http.ask(method, path);
    expect([answer.status, answer.body["code"], answer.headers.get("allow")]).toEqual([
      405,
      "METHOD_NOT_ALLOWED",
      allow,
    ]);
  });
  test("OPTIONS lists the methods and runs none of them", async () => {
    const answer = await http.ask("OPTIONS", "/leads", {
      headers: { "Access-Control-Request-Method": "POST", Origin: "https://evil.example" },
    });
    expect([answer.status, answer.headers.get("allow"), answer.headers.get("access-control-allow-origin")]).toEqual([
      204,
      "GET, HEAD, POST",
      null,
    ]);
    expect(http.calls).toEqual([]);
    expect((await http.ask("OPTIONS", "/nothing")).status).toBe(404);
  });
  test("HEAD answers like GET, without the body", async () => {
    const answer = await http.ask("HEAD", "/merchants");
    expect([answer.status, answer.text]).toEqual([200, ""]);
  });
});
