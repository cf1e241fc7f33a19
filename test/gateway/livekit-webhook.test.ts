import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createHash } from "node:crypto";
import { AccessToken } from "livekit-server-sdk";
import type { Context, ServiceSchema } from "moleculer";
import { until } from "../../local/harness/stage.ts";
import { setHttpStage, type HttpStage } from "./fixtures/http-stage.ts";

const KEY = "key";
const SECRET = "a-secret-for-tests-0123456789-0123456789";
const CALL_REF = "7f9c24e8-3b12-4fef-91e0-5a4d8c2b1a00.1";
let http: HttpStage;
const told: unknown[] = [];
beforeAll(async () => {
  const conversation: ServiceSchema = {
    name: "conversation",
    events: { "room.changed": (ctx: Context) => void told.push(ctx.params) },
  };
  http = await setHttpStage([conversation], {
    LIVEKIT_URL: "ws://127.0.0.1:1",
    LIVEKIT_API_KEY: KEY,
    LIVEKIT_API_SECRET: SECRET,
  });
});
afterAll(() => http.stop());

const bodyOf = (id: string, room = `rtc-${CALL_REF}`): string =>
  JSON.stringify({ event: "participant_left", id, room: { name: room, sid: "RM_1" } });
async function signed(body: string, secret = SECRET): Promise<string> {
  const token = new AccessToken(KEY, secret, { ttl: 60 });
  token.sha256 = createHash("sha256").update(body).digest("base64");
  return token.toJwt();
}
const post = async (body: string, authorization?: string): Promise<number> =>
  (
    await http.ask("POST", "/livekit/webhook", {
      origin: true,
      token: null,
      body,
      headers: {
        "Content-Type": "application/webhook+json",
        ...(authorization === undefined ? {} : { Authorization: authorization }),
      },
    })
  ).status;

describe("LiveKit's notices", () => {
  test("are told to the conversations, once however often they come, and rooms of others to nobody", async () => {
    const body = bodyOf("EV_1");
    expect([await post(body, await signed(body)), await post(body, await signed(body))]).toEqual([200, 200]);
    const other = bodyOf("EV_2", "somebody's room");
    expect(await post(other, await signed(other))).toBe(200);
    await until("the hint", () => told.length > 0 || undefined);
    expect(told).toEqual([{ call_ref: CALL_REF }]);
  });

  test.each([
    ["no signature", async () => undefined],
    ["another's key", (body: string) => signed(body, "another-secret-0123456789-0123456789-0123")],
    ["the signature of another body", () => signed("{}")],
    ["words", async () => "Bearer nothing"],
  ])("with %s are refused with 401 and told to nobody", async (_what, by) => {
    const before = told.length;
    const body = bodyOf("EV_3");
    expect(await post(body, await by(body))).toBe(401);
    expect(told).toHaveLength(before);
  });
});
