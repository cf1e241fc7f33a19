import { request } from "node:http";
import { gunzipSync } from "node:zlib";
import { setHttpStage, type HttpStage } from "../fixtures/http-stage.ts";
import { takesGzip } from "../../../services/gateway/http/compression.ts";

let http: HttpStage;
beforeAll(async () => {
  http = await setHttpStage([], { CORS_ORIGINS: "https://app.example.com" });
});
afterAll(async () => {
  await http.stop();
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

  test("a long answer is compressed where the client accepts gzip, and varies by that header", async () => {
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

test.each([
  ["gzip", true],
  ["br, gzip;q=0.5", true],
  ["GZIP", true],
  ["*", true],
  ["*;q=0", false],
  ["gzip;q=0, *", false],
  ["gzip; q=0.000", false],
  ["br, deflate", false],
  ["identity", false],
  ["", false],
  [undefined, false],
  ["gzippy", false],
])("Accept-Encoding: %s takes gzip: %s", (header, takes) => {
  expect(takesGzip(header)).toBe(takes);
});
