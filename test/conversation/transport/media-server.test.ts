import { connect } from "node:net";
import { once } from "node:events";
import {
  type MediaServerOptions,
  upgradeRequestOf,
  mediaPath,
  startMediaServer,
} from "../../../services/conversation/transport/media-server.ts";
import { RelayCaller } from "../fixtures/relay-caller.ts";
import { textRelayLeg } from "../../../services/conversation/transport/text-relay-leg.ts";
import { arrivalAllowance, CATCH_UP_MS } from "../../../services/conversation/transport/arrival-allowance.ts";
import { FRAME_MS } from "../../../services/conversation/transport/port.ts";
import { until } from "../../../local/harness/stage.ts";
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

const token = "0123456789abcdef0123456789abcdef";
/** A server whose tickets are the tokens. */
const serverOf = (over: Partial<MediaServerOptions<string>> = {}) =>
  startMediaServer<string>({
    host: "127.0.0.1",
    port: 0,
    log: rootLog(readEnv({ LOG_LEVEL: "silent" })),
    clock: { monotonicMs: () => 0 },
    maxSockets: 1,
    isAwaited: () => false,
    admit: async ({ token }) => token,
    onSocket: () => undefined,
    onFlood: () => undefined,
    ...over,
  });

describe("what one socket may send", () => {
  const from = (over: { ms: number }) => arrivalAllowance({ monotonicMs: () => over.ms });
  const FRAME_BYTES = 300;
  const taken = (allows: (bytes: number) => boolean, bytes: number, most = 10_000) => {
    let count = 0;
    while (count < most && allows(bytes)) count++;
    return count;
  };

  test("a stall of a network is caught up at once; sound in real time is taken for ever", () => {
    const at = { ms: 0 };
    const allows = from(at);
    expect(taken(allows, FRAME_BYTES, CATCH_UP_MS / FRAME_MS)).toBe(CATCH_UP_MS / FRAME_MS);
    let refused = 0;
    for (let n = 0; n < 100_000; n++) {
      at.ms += FRAME_MS;
      if (!allows(FRAME_BYTES)) refused++;
    }
    expect(refused).toBe(0);
  });
  test("a flood is refused after that: of messages, and of bytes", () => {
    expect(taken(from({ ms: 0 }), 1)).toBe(CATCH_UP_MS / FRAME_MS);
    expect(taken(from({ ms: 0 }), 64_000)).toBe(CATCH_UP_MS / 400);
  });
  test("three times real time is refused in the end; time in which nothing came counts up to the longest stall", () => {
    const at = { ms: 0 };
    const allows = from(at);
    let n = 0;
    while (n < 100_000 && allows(FRAME_BYTES)) if (++n % 3 === 0) at.ms += FRAME_MS;
    expect(n).toBeLessThan(100_000);
    at.ms += 10 * CATCH_UP_MS;
    expect(taken(allows, FRAME_BYTES)).toBe(CATCH_UP_MS / FRAME_MS);
  });
});

describe("the media server", () => {
  test("holds a bounded number of sockets, then answers 503 until one closes; plain HTTP gets 426", async () => {
    const opened: string[] = [];
    const server = await serverOf({
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
    await expect(serverOf({ port: server.port })).rejects.toMatchObject({ code: "EADDRINUSE" });
    await server.close();
    await second.over();
  });

  test("a socket that floods is cut as one that broke off, what is behind it unread; its neighbour goes on", async () => {
    const [heard, ends, floods] = [new Map<string, number>(), [] as unknown[], [] as string[]];
    const server = await serverOf({
      maxSockets: 2,
      onSocket: (socket, ticket) => {
        const ended = (how: unknown) => ends.push([ticket, how]);
        const unheard = {
          speaking: () => undefined,
          customer: () => undefined,
          interrupt: () => undefined,
          silence: () => undefined,
        };
        textRelayLeg(socket).listen({
          ...unheard,
          ready: () => undefined,
          prompt: () => undefined,
          digit: () => heard.set(ticket, (heard.get(ticket) ?? 0) + 1),
          fault: () => undefined,
          closed: ended,
        });
      },
      onFlood: (ticket) => floods.push(ticket),
    });
    const other = token.replace("0", "a");
    const open = (of: string) => RelayCaller.connect(`ws://127.0.0.1:${server.port}${mediaPath("PROVIDER_ONE", of)}`);
    const [bad, good] = [await open(token), await open(other)];
    for (let n = 0; n < 10_000; n++) bad.press("1");
    await bad.over();
    good.press("1");
    await until("the neighbour to be heard", () => heard.get(other) === 1 || undefined);
    // with the one that was too much
    expect([heard.get(token), ends, floods]).toEqual([CATCH_UP_MS / FRAME_MS + 1, [[token, "broken"]], [token]]);
    await server.close();
  });

  const byte = (first: number, second = 0x80) => Buffer.from([first, second, 0, 0, 0, 0]);
  test.each<[string, Buffer, number]>([
    ["a frame of four pebibytes, announced", Buffer.from([0x82, 0xff, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), 1009],
    ["a frame above 64 KiB", Buffer.from([0x82, 0xff, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0]), 1009],
    ["a message in more pieces than any carrier makes, without content", Buffer.concat([byte(1), ...Array.from({ length: 16 }, () => byte(0))]), 1008],
    ["a compressed frame, which was not agreed on", byte(0xc1), 1002],
    ["a frame without a mask", byte(0x81, 0), 1002],
    ["a ping in pieces", byte(0x09), 1002],
  ])("%s ends its socket before it is read", async (_what, frame, code) => {
    const server = await serverOf({
      onSocket: (socket) => socket.on("error", () => undefined).on("message", () => heard.push("a message")),
    });
    const heard: string[] = [];
    const socket = connect(server.port, "127.0.0.1");
    socket.write(
      `GET ${mediaPath("PROVIDER_ONE", token)} HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n`,
    );
    await once(socket, "data");
    socket.write(frame);
    const [close] = (await once(socket, "data")) as [Buffer];
    expect([close[0], close.readUInt16BE(2), heard]).toEqual([0x88, code, []]);
    socket.destroy();
    await server.close();
  }); // prettier-ignore

  test("a token that is awaited is let in while strangers, more than there is room for, are looked into", async () => {
    const looked: (() => void)[] = [];
    const server = await serverOf({
      isAwaited: (knock) => knock.token === token,
      admit: (knock) =>
        knock.token === token
          ? Promise.resolve(token)
          : new Promise((resolve) => {
              looked.push(() => resolve(null));
            }),
    });
    const address = (of: string) => `ws://127.0.0.1:${server.port}${mediaPath("PROVIDER_ONE", of)}`;
    const strangers = ["1", "2", "3"].map((digit) =>
      RelayCaller.connect(address(token.replace("0", digit))).catch(() => "refused"),
    );
    await until("the strangers to be looked into", () => looked.length === strangers.length || undefined);
    await RelayCaller.connect(address(token));
    for (const none of looked) none();
    expect(await Promise.all(strangers)).toEqual(["refused", "refused", "refused"]);
    await server.close();
  });

  test.each([
    ["half a request", "GET /media HTTP/1.1\r\nHost: a\r\n", "408 Request Timeout"],
    ["half a body", "POST /media HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nx", "426 Upgrade Required"],
  ])("%s is not waited for: the connection is closed", async (_what, sent, status) => {
    const server = await serverOf({ request_ms: 50 });
    const socket = connect(server.port, "127.0.0.1").setEncoding("utf8");
    let answered = "";
    socket.on("data", (text: string) => (answered += text));
    socket.on("error", () => undefined);
    socket.write(sent);
    await once(socket, "close");
    expect(answered).toContain(status);
    await server.close();
  });
});
