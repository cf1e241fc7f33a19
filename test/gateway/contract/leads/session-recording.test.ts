import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { fail } from "../../../../shared/errors.ts";
import { randomIds } from "../../../../shared/ids.ts";
import { localFolder } from "../../../../shared/storage/local-folder.ts";
import { setHttpStage, type HttpStage } from "../../fixtures/http-stage.ts";

/** GET /r/{link}/recording: what leads say of it, and the bytes from where they are. */
let http: HttpStage;
let dir = "";
let links = 0;
let link = "";
const BYTES = Buffer.from(Uint8Array.from({ length: 1000 }, (_, i) => (i * 31) % 256));
const KEPT = { key: "2026/session.wav", content_type: "audio/wav", bytes: BYTES.length, where: "local" };
const SECRET = "the-secret-of-a-tab";

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "session-recording-"));
  http = await setHttpStage([], { RECORDINGS_DIR: dir });
  const folder = localFolder({ dir, clock: { now: () => new Date() }, ids: randomIds });
  await folder.put(KEPT.key, Readable.from([BYTES]), KEPT.content_type, BYTES.length);
});
afterAll(async () => {
  await http.stop();
  await rm(dir, { recursive: true, force: true });
});
beforeEach(() => {
  link = `link-${++links}`;
  http.script["leads.recordingByLink"] = (asked) =>
    asked["link"] === link && asked["resume"] === SECRET
      ? { ...KEPT, call_id: "rtc-a.1" }
      : fail("LEAD_NOT_FOUND", "no session of this tab");
});

const get = (token: string | null = SECRET, headers: Record<string, string> = {}) =>
  http.ask("GET", `/r/${link}/recording`, { origin: true, token, headers });
async function bytes(headers: Record<string, string> = {}) {
  const authorization = `Bearer ${SECRET}`;
  const answer = await fetch(`${http.origin}/r/${link}/recording`, { headers: { authorization, ...headers } });
  return { answer, body: Buffer.from(await answer.arrayBuffer()) };
}

describe("the recording of a session that is over", () => {
  test("is sent to the tab that held it, whole or in part, and kept by no cache", async () => {
    const { answer, body } = await bytes();
    expect([answer.status, body.equals(BYTES), answer.headers.get("cache-control")]).toEqual([200, true, "no-store"]);
    expect(answer.headers.get("content-type")).toBe("audio/wav");
    const part = await bytes({ range: "bytes=0-0" });
    expect([part.answer.status, part.body.length, part.answer.headers.get("content-range")]).toEqual([
      206,
      1,
      "bytes 0-0/1000",
    ]);
  });

  test("is not sent without the tab's secret, with another one, with an API token, or by its address", async () => {
    const answers = [await get(null), await get("guessed"), await get(http.tokens.admin), await get("x".repeat(500))];
    expect(answers.map(({ status, body }) => [status, body["code"]])).toEqual([
      [401, "UNAUTHENTICATED"],
      [404, "LEAD_NOT_FOUND"],
      [404, "LEAD_NOT_FOUND"],
      [404, "LEAD_NOT_FOUND"],
    ]);
    const { status } = await http.ask("GET", `/r/${link}/recording?resume=${SECRET}`, { origin: true, token: null });
    expect(status).toBe(401);
  });

  test("can't be read by pages of other origins", async () => {
    const { headers } = await get(SECRET, { origin: "https://elsewhere.example" });
    expect(headers.get("access-control-allow-origin")).toBeNull();
  });

  test.each([
    ["RECORDING_NOT_READY", 404],
    ["RECORDING_NOT_FOUND", 404],
    ["RECORDING_FAILED", 502],
    ["FORBIDDEN", 403],
  ] as const)("%s is told to the page as %d", async (code, status) => {
    http.script["leads.recordingByLink"] = () => fail(code, "as leads say");
    const { body, ...answer } = await get();
    expect([answer.status, body["code"]]).toEqual([status, code]);
  });

  test("secrets are not guessed from one address, and a recording is not asked for without end", async () => {
    const headers = { "X-Forwarded-For": "192.0.2.7" };
    const guessed = new Set<number>();
    for (let i = 0; i < 70; i++) guessed.add((await get("guessed", headers)).status);
    expect([...guessed]).toEqual([404, 429]);
    const asked = new Set<number>();
    for (let i = 0; i < 125; i++) asked.add((await get()).status);
    expect([...asked]).toEqual([200, 429]);
  });
});

test("the page may play what it has fetched, and its files are there", async () => {
  const page = await http.ask("GET", "/r/any-link", { origin: true, token: null });
  expect(page.headers.get("content-security-policy")).toContain(" media-src blob:;");
  expect(page.text).toContain('<audio id="player" controls aria-label="Recording of the conversation" hidden>');
  expect((await http.ask("GET", "/r/assets/recording.js", { origin: true, token: null })).status).toBe(200);
});
