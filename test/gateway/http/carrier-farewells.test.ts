import { fail, type ErrorCode } from "../../../shared/errors.ts";
import { until } from "../../../local/harness/stage.ts";
import { setHttpStage, type HttpStage } from "../fixtures/http-stage.ts";

const REF = "7f9c24e8-3b12-4fef-91e0-5a4d8c2b1a00.1";
const WAIT_MS = 10_000;
const at = (kind: string, query = ""): string => `/carriers/PROVIDER_TWO/${kind}/${REF}${query}`;
const documentOf = (kind: string, language: string) => ({
  provider: "PROVIDER_TWO",
  kind,
  language,
  content_type: "text/xml",
  body: `<Response><Speak>${kind} ${language}</Speak><Hangup/></Response>`,
});

describe("a carrier that asks for a document while the dialer is away", () => {
  let http: HttpStage;
  beforeAll(async () => {
    const documents = ["answer", "turn"].flatMap((kind) => ["en", "de"].map((language) => documentOf(kind, language)));
    http = await setHttpStage([], {}, {}, { "dialer.farewells": () => ({ documents }) });
    await until("the documents", () => http.calls.some((c) => c.action === "dialer.farewells") || undefined, WAIT_MS);
  });
  afterAll(async () => {
    await http.stop();
  });
  const answered = async (code: ErrorCode, path: string): Promise<[number, string]> => {
    http.script["dialer.carrierEvent"] = () => fail(code, "for this test");
    const { status, text } = await http.ask("POST", path, { origin: true, token: null, body: "CallUUID=1" });
    return [status, text];
  };

  test.each<ErrorCode>(["DEPENDENCY_DOWN", "TIMEOUT", "STORE_UNAVAILABLE", "BUSY", "INTERNAL", "MESSAGE_TOO_LARGE"])(
    "%s: it gets one that ends the call politely, in the language of the conversation",
    async (code) => {
      expect(await answered(code, at("turn", "?turn=2&lang=de-CH"))).toEqual([200, documentOf("turn", "de").body]);
      expect(await answered(code, at("answer", "?media=abc&lang=fi-FI"))).toEqual([
        200,
        documentOf("answer", "en").body,
      ]);
      expect(await answered(code, at("answer"))).toEqual([200, documentOf("answer", "en").body]);
    },
  );

  test("a notice is to be sent again: 503, or 500", async () => {
    expect((await answered("DEPENDENCY_DOWN", at("status")))[0]).toBe(503);
    expect((await answered("INTERNAL", at("status")))[0]).toBe(500);
  });

  test.each<[ErrorCode, number]>([
    ["SIGNATURE_INVALID", 403],
    ["VALIDATION_FAILED", 404],
  ])("what the dialer refuses stays refused: %s", async (code, status) => {
    expect((await answered(code, at("turn", "?turn=2")))[0]).toBe(status);
  });

  test("a dialer that does not answer is not waited for longer than a callee stays in silence", async () => {
    const { promise, resolve } = Promise.withResolvers<object>();
    http.script["dialer.carrierEvent"] = () => promise;
    const began = performance.now();
    const { status, text } = await http.ask("POST", at("answer", "?lang=en-GB"), { origin: true, body: "CallUUID=1" });
    expect([status, text]).toEqual([200, documentOf("answer", "en").body]);
    expect(performance.now() - began).toBeLessThan(WAIT_MS / 2);
    // a call under way would hold up the stage's end
    resolve({});
  });
});
