import { INBOUND_CALL } from "../../../services/gateway/docs/example-leads.ts";
import { setHttpStage, type HttpStage } from "../fixtures/http-stage.ts";

let http: HttpStage;
beforeAll(async () => {
  http = await setHttpStage();
});
afterAll(async () => {
  await http.stop();
});
beforeEach(() => {
  http.calls.length = 0;
  http.script["dialer.inboundCalls"] = () => ({ count: 1, inbound_calls: [INBOUND_CALL], next_cursor: null });
});

const asked = () => http.calls.filter((c) => c.action === "dialer.inboundCalls").map((c) => c.params);

describe("GET /inbound-calls", () => {
  test.each(["admin", "reseller", "merchant", "user"] as const)(
    "a token of role %s reads its own scope's",
    async (role) => {
      const answer = await http.ask("GET", "/inbound-calls", { token: http.tokens[role] });
      expect([answer.status, answer.body]).toEqual([
        200,
        { count: 1, inbound_calls: [INBOUND_CALL], next_cursor: null },
      ]);
      expect(asked()).toMatchObject([{ by: { role, reseller_id: role === "admin" ? null : http.reseller_id } }]);
    },
  );

  test("hands its filters on", async () => {
    const query = `merchant_id=${http.merchant_id}&template_id=${INBOUND_CALL.template_id}&verdict=REDIRECTED&from=2026-11-01T00:00:00.000Z&to=2026-12-01T00:00:00.000Z&limit=7&cursor=abc`;
    expect((await http.ask("GET", `/inbound-calls?${query}`)).status).toBe(200);
    expect(asked()).toEqual([
      {
        by: expect.anything(),
        merchant_id: http.merchant_id,
        template_id: INBOUND_CALL.template_id,
        verdict: "REDIRECTED",
        from: "2026-11-01T00:00:00.000Z",
        to: "2026-12-01T00:00:00.000Z",
        limit: 7,
        cursor: "abc",
      },
    ]);
  });

  test.each(["verdict=MAYBE", "from=yesterday", "limit=0", "limit=501", "colour=red"])("refuses ?%s", async (query) => {
    const answer = await http.ask("GET", `/inbound-calls?${query}`);
    expect([answer.status, answer.body["code"]]).toEqual([400, "VALIDATION_FAILED"]);
  });

  test("is not for strangers", async () =>
    expect((await http.ask("GET", "/inbound-calls", { token: null })).status).toBe(401));
});

describe("the carrier's webhook of a number", () => {
  test("reaches the dialer as it came, without a token, and its document goes back", async () => {
    http.script["dialer.carrierEvent"] = () => ({ content_type: "text/xml", body: "<Response><Reject/></Response>" });
    const body = "CallSid=CA1&From=%2B14155552601&Direction=inbound";
    const answer = await http.ask("POST", "/carriers/PROVIDER_TWO/inbound/new", {
      origin: true,
      token: null,
      body,
      headers: { "content-type": "application/x-www-form-urlencoded" },
    });
    expect([answer.status, answer.text]).toEqual([200, "<Response><Reject/></Response>"]);
    expect(http.calls.at(-1)).toMatchObject({
      action: "dialer.carrierEvent",
      params: { provider: "PROVIDER_TWO", kind: "inbound", ref: "new", body },
    });
  });
});
