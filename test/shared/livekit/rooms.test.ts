import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { decodeJwt } from "jose";
import { codeOf } from "../../../shared/errors.ts";
import { livekitAccount, livekitRooms, type LivekitRooms } from "../../../shared/livekit/rooms.ts";
import { EnvironmentError, readEnv } from "../../../shared/process/env.ts";

/** LiveKit's HTTP API, as far as rooms need it. */
let server: Server;
let rooms: LivekitRooms;
let asked: { method: string; body: Record<string, unknown>; authorization: string }[] = [];
let answers: (method: string) => { status: number; body: object };
const SECRET = "a-secret-for-tests-0123456789-0123456789";

beforeAll(async () => {
  server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => void (body += String(chunk)));
    request.on("end", () => {
      const method = request.url?.split("/").at(-1) ?? "";
      const authorization = request.headers.authorization ?? "";
      asked.push({ method, body: JSON.parse(body) as Record<string, unknown>, authorization });
      const { status, body: answer } = answers(method);
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  rooms = livekitRooms({ url: `ws://127.0.0.1:${port}`, public_url: "ws://x", key: "key", secret: SECRET });
});
afterAll(() => void server.close());
beforeEach(() => {
  asked = [];
  answers = () => ({ status: 200, body: {} });
});

describe("the rooms of a LiveKit server", () => {
  test("are made with times after which they end by themselves, and end with everybody put out", async () => {
    await rooms.create("rtc-1");
    await rooms.remove("rtc-1", ["client"]);
    expect(asked.map(({ method, body }) => [method, body["name"] ?? body["room"], body["identity"]])).toEqual([
      ["CreateRoom", "rtc-1", undefined],
      ["RemoveParticipant", "rtc-1", "client"],
      ["DeleteRoom", "rtc-1", undefined],
    ]);
    expect(asked[0]?.body).toMatchObject({ emptyTimeout: 150, departureTimeout: 30 });
  });

  test("that are gone are removed already, and nobody is in them", async () => {
    answers = () => ({ status: 404, body: { code: "not_found", msg: "requested room does not exist" } });
    await rooms.remove("rtc-1", ["client"]);
    expect(await rooms.identities("rtc-1")).toEqual([]);
    answers = () => ({ status: 200, body: { participants: [{ identity: "agent" }, { identity: "client" }] } });
    expect(await rooms.identities("rtc-1")).toEqual(["agent", "client"]);
  });

  test.each([
    ["refuses", 401],
    ["fails", 500],
  ])(
    "are out of reach where the server %s, and no word of its answer, which holds a token, is told",
    async (_how, status) => {
      answers = () => ({ status, body: { code: "unauthenticated", msg: `invalid token: ${asked[0]?.authorization}` } });
      for (const request of [rooms.create("r"), rooms.remove("r", ["client"]), rooms.identities("r")]) {
        const error = await request.then(
          () => null,
          (e: unknown) => e,
        );
        expect(codeOf(error)).toBe("DEPENDENCY_DOWN");
        expect(`${String(error)}${JSON.stringify(error)}`).not.toMatch(/eyJ|invalid token/);
      }
    },
  );

  test("are joined with a token for one room that publishes a microphone, hears and exchanges data, and nothing else", async () => {
    const claims = decodeJwt(await rooms.token("rtc-1", "client", 120));
    expect(claims.exp).toBeLessThanOrEqual(Date.now() / 1000 + 121);
    expect([claims.iss, claims.sub]).toEqual(["key", "client"]);
    expect(claims["video"]).toEqual({
      room: "rtc-1",
      roomJoin: true,
      canPublish: true,
      canPublishSources: ["microphone"],
      canSubscribe: true,
      canPublishData: true,
      canUpdateOwnMetadata: false,
    });
  });

  test("are configured by three variables together or none; what is missing is named", () => {
    const all = { LIVEKIT_URL: "ws://x", LIVEKIT_API_KEY: "k", LIVEKIT_API_SECRET: "s" };
    const account = (env: Record<string, string>) => livekitAccount(readEnv(env));
    expect([account({}), account(all)]).toEqual([null, { url: "ws://x", public_url: "ws://x", key: "k", secret: "s" }]);
    expect(account({ ...all, LIVEKIT_PUBLIC_URL: "wss://y" })?.public_url).toBe("wss://y");
    for (const name of Object.keys(all)) {
      const { [name]: _left, ...rest } = all as Record<string, string>;
      expect(() => readEnv(rest)).toThrow(EnvironmentError);
      expect(() => readEnv(rest)).toThrow(`${name} missing`);
    }
    expect(() => readEnv({ ...all, LIVEKIT_URL: "http://x" })).toThrow("ws://");
  });
});
