import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { BAD_TOKENS_PER_ADDRESS } from "../../services/gateway/http/request-limits.ts";
import { fail } from "../../shared/errors.ts";
import { setHttpStage, type HttpStage } from "./fixtures/http-stage.ts";

const LIVEKIT = { LIVEKIT_URL: "ws://livekit:7880", LIVEKIT_API_KEY: "key", LIVEKIT_API_SECRET: "a-secret-for-tests" };
let http: HttpStage;
beforeAll(async () => {
  http = await setHttpStage([], { ...LIVEKIT, LIVEKIT_PUBLIC_URL: "wss://demo.livekit.cloud" });
});
afterAll(() => http.stop());

const get = (path: string) => http.ask("GET", path, { origin: true, token: null });

describe("the page of a deployment with LiveKit", () => {
  test("may reach its room server, and the regions of LiveKit Cloud, besides its own files and the media port", async () => {
    const policy = (await get("/r/any-link")).headers.get("content-security-policy") ?? "";
    expect(policy).toContain(
      " wss://demo.livekit.cloud https://demo.livekit.cloud wss://*.livekit.cloud https://*.livekit.cloud;",
    );
    expect(policy).toContain("script-src 'self';");
  });

  test("gets LiveKit's library from the gateway itself, as a module that asks for no other file", async () => {
    const { status, headers, text } = await get("/r/assets/livekit-client.mjs");
    expect([status, headers.get("access-control-allow-origin")]).toEqual([200, "*"]);
    expect(text).toMatch(/export\s*\{[^}]*\bRoom\b/);
    expect(text).not.toMatch(/^import[\s{*]/m);
  });

  test.each([
    ['{"resume":"s","livekit":true}', { resume: "s", livekit: true }],
    ["{}", { livekit: false }],
  ])("%s: a tab joins in a room only where it says that it can", async (body, params) => {
    http.script["leads.joinByLink"] = () => ({ transport: "livekit" });
    await http.ask("POST", "/r/any-link", { origin: true, token: null, body });
    expect(http.calls.at(-1)).toEqual({ action: "leads.joinByLink", params: { link: "any-link", ...params } });
  });
});

describe("the page behind a link", () => {
  const LINK = "/r/some-link";
  test.each([
    [{ refused: null, name: "Smith & <Sons>" }, 200, "Talk to Smith &amp; &lt;Sons&gt;", ""],
    [{ refused: "SESSION_OVER", name: null }, 200, "Conversation", "SESSION_OVER"],
    [{ refused: "LEAD_NOT_FOUND", name: null }, 404, "Conversation", "LEAD_NOT_FOUND"],
  ])("%j: %d, titled %s, and the page is told %j", async (seen, status, title, refused) => {
    http.script["leads.lookAtLink"] = () => seen;
    const page = await get(LINK);
    expect(page.status).toBe(status);
    expect(page.text).toContain(`<title>${title}</title>`);
    expect(page.text).toContain(`<h1>${title}</h1>`);
    expect(page.text).toContain(`data-refused="${refused}"`);
  });

  test("is there where nobody can say what its link leads to: its button finds out", async () => {
    http.script["leads.lookAtLink"] = () => fail("STORE_UNAVAILABLE", "away");
    const page = await get(LINK);
    expect([page.status, page.text.includes('data-refused=""')]).toEqual([200, true]);
  });

  test("a link that none can look like is dead, and nobody is asked", async () => {
    http.calls.length = 0;
    expect((await get(`/r/${"x".repeat(65)}`)).status).toBe(404);
    expect(http.calls).toEqual([]);
  });

  test("who guesses links is not told any more after a while", async () => {
    http.script["leads.lookAtLink"] = () => ({ refused: "LEAD_NOT_FOUND", name: null });
    const headers = { "X-Forwarded-For": "192.0.2.7" };
    const statuses: number[] = [];
    for (let i = 0; i <= BAD_TOKENS_PER_ADDRESS; i++)
      statuses.push((await http.ask("GET", `/r/guess-${i}`, { origin: true, token: null, headers })).status);
    expect([statuses[0], statuses.at(-1)]).toEqual([404, 200]);
  });
});

test("the icon is there wherever a browser asks for it", async () => {
  for (const path of ["/favicon.ico", "/favicon.svg"]) {
    const { status, headers, text } = await get(path);
    expect([status, headers.get("content-type"), text.startsWith("<svg ")]).toEqual([200, "image/svg+xml", true]);
  }
});
