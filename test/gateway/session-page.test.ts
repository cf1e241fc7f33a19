import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
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
