import { fail } from "../../../shared/errors.ts";
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

  test("a wrong signature is 403, an unknown provider 404, a body too large 413, another method 405", async () => {
    http.script["dialer.carrierEvent"] = () => fail("SIGNATURE_INVALID", "the signature does not match");
    expect((await http.ask("POST", CALLBACK, { origin: true, body: "a=1" })).status).toBe(403);
    http.script["dialer.carrierEvent"] = () =>
      fail("PROVIDER_UNCONFIGURED", "PROVIDER_ONE has no carrier account: TWILIO_AUTH_TOKEN is not set.");
    const unset = await http.ask("POST", CALLBACK, { origin: true, body: "a=1" });
    expect([unset.status, unset.text.includes("TWILIO")]).toEqual([404, false]);
    expect((await http.ask("POST", "/carriers/PIGEON/status/x", { origin: true, body: "a=1" })).status).toBe(404);
    expect((await http.ask("POST", CALLBACK, { origin: true, body: "x".repeat(262_145) })).status).toBe(413);
    expect((await http.ask("PUT", CALLBACK, { origin: true, body: "x" })).headers.get("allow")).toBe("GET, HEAD, POST");
  });
});
