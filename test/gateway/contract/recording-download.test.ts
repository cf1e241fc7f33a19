import { request } from "node:http";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { json } from "node:stream/consumers";
import blacklist from "../../../services/blacklist/blacklist.service.ts";
import config from "../../../services/config/config.service.ts";
import leads from "../../../services/leads/leads.service.ts";
import { randomIds } from "../../../shared/ids.ts";
import { localFolder } from "../../../shared/storage/local-folder.ts";
import { asAdmin, until } from "../../../local/harness/stage.ts";
import { S3_ACCOUNT, startS3, type S3Server } from "../../fixtures/s3-server.ts";
import { reminderTemplate, createdId, setHttpStage, type Answer, type HttpStage } from "../fixtures/http-stage.ts";

/** GET /leads/recording/{call_sid} with leads themselves, a folder and a bucket; where recordings are, the dialer's stand-in says. */
let http: HttpStage;
let bucket: S3Server;
let dir = "";
let lead_id = "";
let strangers = "";
let kept: object = {};
const BYTES = Buffer.from(Uint8Array.from({ length: 100_000 }, (_, i) => (i * 31) % 256));
const PLACE = { state: "stored", key: "2026/call.wav", content_type: "audio/wav", bytes: BYTES.length, where: "local" };
const NOWHERE = { key: null, content_type: null, bytes: null, where: null };

beforeAll(async () => {
  [bucket, dir] = [await startS3(), await mkdtemp(join(tmpdir(), "recording-http-"))];
  http = await setHttpStage([blacklist, config, leads], {
    RECORDINGS_DIR: join(dir, "kept"),
    UPLOAD_CALL_RECORDINGS_TO_CLOUD: "true",
    S3_BUCKET: S3_ACCOUNT.bucket,
    S3_ENDPOINT: bucket.url,
    S3_ACCESS_KEY_ID: S3_ACCOUNT.access_key_id,
    S3_SECRET_ACCESS_KEY: S3_ACCOUNT.secret_access_key,
    CORS_ORIGINS: "https://app.example.com",
  });
  http.script["webhook.checkAddresses"] = () => ({ refusals: [] });
  const template_id = await createdId(http, "/templates", reminderTemplate(http));
  lead_id = await createdId(
    http,
    "/leads",
    {
      request_id: "o",
      template_id,
      reseller_id: http.reseller_id,
      merchant_id: http.merchant_id,
      payload: { customer_mobile_number: "+14155550123" },
    },
    "lead_call_tracker_id",
  );
  const merchant = await http.stage.bus.call("merchants.create", {
    by: asAdmin,
    name: "Another",
    reseller_id: http.reseller_id,
    contact_email: "b@example.com",
  });
  strangers = (
    await http.stage.bus.call("auth.issueS2s", {
      by: asAdmin,
      name: "s",
      role: "merchant",
      reseller_id: http.reseller_id,
      merchant_id: merchant.id,
    })
  ).token;
  await localFolder({ dir: join(dir, "kept"), clock: { now: () => new Date() }, ids: randomIds }).put(
    PLACE.key,
    Readable.from([BYTES]),
    "audio/wav",
    BYTES.length,
  );
  await writeFile(join(dir, "secret.txt"), "outside of the folder");
});
afterAll(async () => {
  await http.stop();
  await bucket.stop();
  await rm(dir, { recursive: true, force: true });
});
beforeEach(() => {
  kept = { ...PLACE, lead_id };
  http.script["dialer.recordingOf"] = ({ call_id }) => ({ recording: call_id === "CA1" ? kept : null });
  Object.assign(bucket, { failing: 0, breakAfter: null });
});

const PATH = "/leads/recording/CA1";
const code = ({ status, body }: Answer): unknown[] => [status, body["code"]];

/** The raw answer: bytes as they came. */
async function fetched(
  headers: Record<string, string> = {},
  method = "GET",
  token = http.tokens.user,
): Promise<{ status: number; headers: Headers; bytes: Buffer }> {
  const answer = await fetch(http.base + PATH, { method, headers: { authorization: `Bearer ${token}`, ...headers } });
  return { status: answer.status, headers: answer.headers, bytes: Buffer.from(await answer.arrayBuffer()) };
}

/** Asks for a path exactly as written: fetch resolves dots, encoded ones too. */
const exactly = (path: string): Promise<unknown[]> =>
  new Promise((resolve, reject) => {
    const { hostname, port, pathname } = new URL(http.base);
    request(
      { hostname, port, path: `${pathname}${path}`, headers: { authorization: `Bearer ${http.tokens.admin}` } },
      (answer) => {
        void json(answer).then((body) => resolve([answer.statusCode, (body as { code?: string }).code]), reject);
      },
    )
      .on("error", reject)
      .end();
  });

describe("the whole recording", () => {
  test.each(["admin", "reseller", "merchant", "user"] as const)("for %s", async (role) => {
    const { status, headers, bytes } = await fetched({}, "GET", http.tokens[role]);
    expect([status, bytes.equals(BYTES)]).toEqual([200, true]);
    expect(
      Object.fromEntries(
        [
          "content-type",
          "content-length",
          "content-disposition",
          "accept-ranges",
          "x-content-type-options",
          "cache-control",
        ].map((name) => [name, headers.get(name)]),
      ),
    ).toEqual({
      "content-type": "audio/wav",
      "content-length": "100000",
      "content-disposition": 'attachment; filename="CA1.wav"',
      "accept-ranges": "bytes",
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
    });
  });
  test("HEAD: the same headers and nothing more", async () => {
    const { status, headers, bytes } = await fetched({}, "HEAD");
    expect([
      status,
      headers.get("content-length"),
      headers.get("accept-ranges"),
      headers.get("etag"),
      bytes.length,
    ]).toEqual([200, "100000", "bytes", expect.stringMatching(/^"[0-9a-f]{32}"$/), 0]);
  });
  test("pages of allowed origins can read what a player needs", async () => {
    expect(
      (await fetched({ origin: "https://app.example.com" })).headers.get("access-control-expose-headers"),
    ).toContain("Content-Range");
  });
});

describe("parts", () => {
  test.each([
    ["bytes=0-0", 0, 0],
    ["bytes=1000-1999", 1000, 1999],
    ["bytes=99999-", 99_999, 99_999],
    ["bytes=-10", 99_990, 99_999],
    ["bytes=50000-900000", 50_000, 99_999],
  ])("%s", async (range, start, end) => {
    const { status, headers, bytes } = await fetched({ range });
    expect([
      status,
      headers.get("content-range"),
      headers.get("content-length"),
      bytes.equals(BYTES.subarray(start, end + 1)),
    ]).toEqual([206, `bytes ${start}-${end}/100000`, String(end - start + 1), true]);
  });
  test.each(["bytes=100000-", "bytes=-0", "bytes=200000-300000"])("%s is beyond: 416", async (range) => {
    const answer = await http.ask("GET", PATH, { headers: { range } });
    expect([...code(answer), answer.headers.get("content-range")]).toEqual([
      416,
      "RANGE_NOT_SATISFIABLE",
      "bytes */100000",
    ]);
  });
  test.each(["bytes=0-1,4-5", "bytes=9-1", "lines=0-1", "bytes"])("%s is served whole", async (range) => {
    expect((await fetched({ range })).status).toBe(200);
  });
  test("If-Range: the same recording in part, another one whole", async () => {
    const etag = String((await fetched()).headers.get("etag"));
    expect([
      (await fetched({ range: "bytes=0-9", "if-range": etag })).status,
      (await fetched({ range: "bytes=0-9", "if-range": '"another"' })).status,
    ]).toEqual([206, 200]);
  });
});

describe("who may not have it, and what is no call", () => {
  test("a call id that no carrier gives is refused before anybody looks for it", async () => {
    expect(code(await http.ask("GET", `/leads/recording/${"C".repeat(301)}`))).toEqual([400, "VALIDATION_FAILED"]);
    expect(code(await http.ask("GET", `/leads/recording/${"C".repeat(300)}`))).toEqual([404, "RECORDING_NOT_FOUND"]);
  });
  test("another tenant gets the answer of an unknown call; without a token nothing is served", async () => {
    expect(code(await http.ask("GET", PATH, { token: strangers }))).toEqual([404, "RECORDING_NOT_FOUND"]);
    expect((await http.ask("GET", PATH, { token: null })).status).toBe(401);
    expect((await http.ask("GET", `${PATH}?x=1`)).status).toBe(400);
  });
  test.each([
    "CA2",
    "..",
    "%2e%2e",
    "%2e%2e%2fsecret.txt",
    "..%2f..%2fsecret.txt",
    "CA1%00",
    "%00",
    "CA1%0d%0aX:y",
    "x".repeat(300),
    "%E2%82%AC",
    "CA1%20",
    "2026%2fcall.wav",
  ])("/%s", async (id) => {
    expect(await exactly(`/leads/recording/${id}`)).toEqual([404, "RECORDING_NOT_FOUND"]);
  });
  test.each(["../secret.txt", "../../secret.txt", "a/b", "%zz"])("/%s is no endpoint", async (id) => {
    expect((await exactly(`/leads/recording/${id}`))[0]).toBe(404);
  });
  test.each([
    ["wanted", 404, "RECORDING_NOT_READY"],
    ["fetching", 404, "RECORDING_NOT_READY"],
    ["absent", 404, "RECORDING_NOT_FOUND"],
    ["failed", 502, "RECORDING_FAILED"],
  ])("one that is %s: %d %s", async (state, status, said) => {
    kept = { lead_id, state, ...NOWHERE };
    const answer = await http.ask("GET", PATH);
    expect([...code(answer), answer.headers.get("retry-after")]).toEqual([
      status,
      said,
      said === "RECORDING_NOT_READY" ? "15" : null,
    ]);
  });
});

describe("sources that fail", () => {
  const away = { key: "2026/away.wav", where: "cloud", state: "uploaded" };
  const inBucket = () => bucket.objects.set(away.key, { body: BYTES, content_type: "audio/wav" });

  test("an uploaded recording comes from the bucket, in parts too", async () => {
    kept = { ...PLACE, lead_id, ...away };
    inBucket();
    expect((await fetched()).bytes.equals(BYTES)).toBe(true);
    const { status, bytes } = await fetched({ range: "bytes=10-19" });
    expect([status, bytes.equals(BYTES.subarray(10, 20))]).toEqual([206, true]);
  });
  test("one that moved between the look and the read is found where it is", async () => {
    kept = { ...PLACE, lead_id, key: away.key, where: "local" };
    inBucket();
    expect((await fetched()).status).toBe(200);
    kept = { ...PLACE, lead_id, where: "cloud" };
    expect((await fetched()).status).toBe(200);
  });
  test.each([
    ["gone everywhere", { key: "2026/none.wav" }],
    ["of another length", { bytes: 5 }],
    ["a key that is none", { key: "../secret.txt" }],
  ])("%s: 502", async (_what, over) => {
    kept = { ...PLACE, lead_id, ...over };
    const answer = await http.ask("GET", PATH);
    expect([...code(answer), answer.text.includes("outside")]).toEqual([502, "RECORDING_FAILED", false]);
  });
  test("a bucket that is down: 502", async () => {
    kept = { ...PLACE, lead_id, ...away };
    bucket.failing = 100;
    expect(code(await http.ask("GET", PATH))).toEqual([502, "RECORDING_FAILED"]);
  });
  test("one that breaks off in the middle cuts the client off, for half of it is not all of it", async () => {
    kept = { ...PLACE, lead_id, ...away };
    inBucket();
    bucket.breakAfter = 1000;
    await expect(fetched()).rejects.toThrow();
  });
});

test("a client that reads slowly holds the source back; when it goes, the source is closed", async () => {
  const large = Buffer.alloc(64_000_000, 7);
  bucket.objects.set("2026/large.wav", { body: large, content_type: "audio/wav" });
  kept = { ...PLACE, lead_id, key: "2026/large.wav", where: "cloud", state: "uploaded", bytes: large.length };
  const before = process.memoryUsage().arrayBuffers;
  const sent = await new Promise<{ abandon(): void; received(): number }>((resolve) => {
    let received = 0;
    const asked = request(http.base + PATH, { headers: { authorization: `Bearer ${http.tokens.user}` } }, (answer) => {
      answer.once("data", (chunk: Buffer) => {
        received += chunk.length;
        answer.pause();
        resolve({ abandon: () => asked.destroy(), received: () => received });
      });
    });
    asked.on("error", () => undefined);
    asked.end();
  });
  const already = bucket.cut;
  expect(bucket.open()).toBe(1);
  expect(sent.received()).toBeLessThan(1_000_000);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(large.length);
  sent.abandon();
  await until("the bucket's answer to be cut", async () => (bucket.cut > already ? true : undefined), 8000);
});
