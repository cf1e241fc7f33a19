import {
  upgradeRequestOf,
  mediaPath,
  startMediaServer,
} from "../../../services/conversation/transport/media-server.ts";
import { RelayCaller } from "../fixtures/relay-caller.ts";
import { readEnv } from "../../../shared/process/env.ts";
import { rootLog } from "../../../shared/process/log.ts";

describe("the address of a socket", () => {
  const token = "0123456789abcdef0123456789abcdef";
  const knock = (url: string) =>
    upgradeRequestOf({ url, headers: { host: "a", "x-twilio-signature": "s", "sec-websocket-protocol": "b" } });
  test("provider, token, path as asked, headers as texts", () => {
    expect(knock(mediaPath("PROVIDER_ONE", token))).toEqual({
      provider: "PROVIDER_ONE",
      token,
      path: `/media/PROVIDER_ONE/${token}`,
      headers: { host: "a", "x-twilio-signature": "s", "sec-websocket-protocol": "b" },
    });
    expect(knock(`/media/PROVIDER_TWO/${token}/`)?.path).toBe(`/media/PROVIDER_TWO/${token}/`);
  });
  test.each([
    "/",
    `/media/PROVIDER_NINE/${token}`,
    `/media/PROVIDER_ONE/${token.slice(1)}`,
    `/media/PROVIDER_ONE/${token.toUpperCase()}`,
    `/media/PROVIDER_ONE/${token}/x`,
    `/media/PROVIDER_ONE/${token}?a=1`,
  ])("%s is none of ours", (url) => expect(knock(url)).toBeNull());
});

describe("the media server", () => {
  const token = "0123456789abcdef0123456789abcdef";
  test("holds a bounded number of sockets, then answers 503 until one closes; plain HTTP gets 426", async () => {
    const opened: string[] = [];
    const server = await startMediaServer({
      host: "127.0.0.1",
      port: 0,
      log: rootLog(readEnv({ LOG_LEVEL: "silent" })),
      maxSockets: 1,
      admit: async ({ token }) => token,
      onSocket: (_socket, ticket) => {
        opened.push(ticket);
      },
    });
    const url = `ws://127.0.0.1:${server.port}${mediaPath("PROVIDER_ONE", token)}`;
    const first = await RelayCaller.connect(url);
    expect(opened).toEqual([token]);
    await expect(RelayCaller.connect(url)).rejects.toThrow("answered 503");
    first.hangUp();
    await first.over();
    const second = await RelayCaller.connect(url);
    expect((await fetch(url.replace("ws:", "http:"))).status).toBe(426);
    await expect(
      startMediaServer({
        host: "127.0.0.1",
        port: server.port,
        log: rootLog(readEnv({ LOG_LEVEL: "silent" })),
        maxSockets: 1,
        admit: async () => null,
        onSocket: () => undefined,
      }),
    ).rejects.toMatchObject({ code: "EADDRINUSE" });
    await server.close();
    await second.over();
  });
});
