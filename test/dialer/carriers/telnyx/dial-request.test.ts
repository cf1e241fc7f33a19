import { expect, test } from "@jest/globals";
import { dialBody } from "../../../../services/dialer/carriers/telnyx/dial-request.ts";
import { pathPart } from "../../../../services/dialer/carriers/telnyx/rest.ts";

const REF = "7a1c1a2e-0000-4000-8000-000000000001.2";

test("ids stay within their part of a path", () => {
  expect([pathPart("v3:a-b_c"), pathPart("../x?y#z"), pathPart("a/b c")]).toEqual([
    "v3:a-b_c",
    "..%2Fx%3Fy%23z",
    "a%2Fb%20c",
  ]);
});

test("Telnyx's bounds are kept, and what is not asked for is not sent", () => {
  const request = {
    call_ref: REF,
    to: "+14155550101",
    from: "+14155550999",
    ring_seconds: 900,
    talk_seconds: 20_000,
    media: { kind: "text" as const, url: "wss://x/1", token: "1", language: "en-US", voice: null },
    record: false,
    await_beep: false,
    callback_base: "https://x",
  };
  const body = dialBody("conn", request);
  expect(body).toMatchObject({ timeout_secs: 600, time_limit_secs: 14_400, answering_machine_detection: "detect" });
  expect(Object.keys(body)).not.toContain("record");
  expect(body).toHaveProperty("conversation_relay_config.url");
  expect(body).not.toHaveProperty("conversation_relay_config.voice");
  expect(dialBody("conn", { ...request, talk_seconds: 5 }).time_limit_secs).toBe(30);
});
