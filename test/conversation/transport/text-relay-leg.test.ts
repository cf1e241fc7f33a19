import { EventEmitter } from "node:events";
import { MAX_FRAME_BYTES, type LegSocket } from "../../../services/conversation/transport/leg-socket.ts";
import type { TextLegEvents } from "../../../services/conversation/transport/port.ts";
import { readRelayFrame, textRelayLeg } from "../../../services/conversation/transport/text-relay-leg.ts";
import {
  upgradeRequestOf,
  mediaPath,
  startMediaServer,
} from "../../../services/conversation/transport/media-server.ts";
import { webRequester } from "../../../services/conversation/providers/web-request.ts";
import { createServer } from "node:http";
import { RelayCaller } from "../fixtures/relay-caller.ts";
import { readEnv } from "../../../shared/env.ts";
import { rootLog } from "../../../shared/log.ts";

/** A socket that remembers what was done to it. */
class FakeSocket extends EventEmitter {
  bufferedAmount = 0;
  readonly sent: unknown[] = [];
  readonly closes: (number | "terminated" | undefined)[] = [];
  send(data: string): void {
    this.sent.push(JSON.parse(data));
  }
  close(code?: number): void {
    this.closes.push(code);
  }
  terminate(): void {
    this.closes.push("terminated");
  }
  get<T>(data: T): void {
    this.emit("message", Buffer.from(typeof data === "string" ? data : JSON.stringify(data)), false);
  }
}

const recorder = (): { seen: unknown[][]; events: TextLegEvents } => {
  const seen: unknown[][] = [];
  const note =
    (name: string) =>
    (...args: unknown[]): void => {
      seen.push([name, ...args]);
    };
  return {
    seen,
    events: {
      ready: note("ready"),
      prompt: note("prompt"),
      digit: note("digit"),
      interrupt: note("interrupt"),
      speaking: note("speaking"),
      customer: note("customer"),
      silence: note("silence"),
      fault: note("fault"),
      closed: note("closed"),
    },
  };
};

test.each([
  [{ type: "setup", sessionId: "VX1", callSid: "CA1", from: "+1", to: "+2" }, ["ready", "CA1"]],
  [{ type: "setup" }, ["ready", null]],
  [{ type: "prompt", voicePrompt: "Yes.", lang: "en", last: true }, ["prompt", "Yes.", true]],
  [{ type: "prompt", voicePrompt: "Ye", last: false }, ["prompt", "Ye", false]],
  [{ type: "prompt", voicePrompt: 5 }, ["prompt", "", true]],
  [{ type: "dtmf", digit: "#" }, ["digit", "#"]],
  [
    { type: "interrupt", utteranceUntilInterrupt: "Ada, do", durationUntilInterruptMs: "460" },
    ["interrupt", "Ada, do"],
  ],
  [{ type: "info", name: "agentSpeaking", value: "off", ts: 1 }, ["speaking", false]],
  [{ type: "info", name: "clientSpeaking", value: "on" }, ["customer", true]],
  [{ type: "error", description: "Invalid message received: secret words" }, ["fault"]],
])("%j is told", (frame, expected) => {
  const { seen, events } = recorder();
  readRelayFrame(JSON.stringify(frame))?.(events);
  expect(seen).toEqual([expected]);
});

test.each([
  "",
  "{",
  "null",
  "[]",
  "5",
  '{"type":"play"}',
  '{"type":"dtmf","digit":"12"}',
  '{"type":"dtmf"}',
  '{"type":"info","name":"tokensPlayed","value":"x"}',
  JSON.stringify({ type: "prompt", voicePrompt: "x".repeat(MAX_FRAME_BYTES) }),
])("%.40s is ignored", (data) => {
  expect(readRelayFrame(data)).toBeNull();
});

describe("the leg", () => {
  const open = () => {
    const socket = new FakeSocket();
    const leg = textRelayLeg(socket as unknown as LegSocket);
    return { socket, leg, ...recorder() };
  };
  test("what came before anybody listened is told first, the closing last and once", () => {
    const { socket, leg, seen, events } = open();
    socket.get({ type: "setup", callSid: "CA1" });
    socket.get({ type: "prompt", voicePrompt: "Hello?" });
    socket.emit("close");
    socket.emit("close");
    leg.listen(events);
    expect(seen).toEqual([["ready", "CA1"], ["prompt", "Hello?", true], ["closed"]]);
  });
  test("early events are bounded, yet the closing is told", () => {
    const { socket, leg, seen, events } = open();
    for (let i = 0; i < 300; i++) socket.get({ type: "dtmf", digit: "1" });
    socket.emit("close");
    leg.listen(events);
    expect(seen.length).toBe(100);
    expect(seen.at(-1)).toEqual(["closed"]);
  });
  test("tokens, end and close as the protocol wants them; nothing after the end", () => {
    const { socket, leg } = open();
    leg.say("Hel", { last: false, interruptible: true });
    leg.say("lo.", { last: true, interruptible: false });
    leg.end();
    leg.say("late", { last: true, interruptible: true });
    leg.end();
    leg.close();
    expect(socket.sent).toEqual([
      { type: "text", token: "Hel", last: false, interruptible: true },
      { type: "text", token: "lo.", last: true, interruptible: false },
      { type: "end" },
    ]);
    expect(socket.closes).toEqual(["terminated"]);
  });
  test("a leg that was not ended is closed in order", () => {
    const { socket, leg } = open();
    leg.close();
    expect(socket.closes).toEqual([1000]);
  });
  test("a side that does not read is let go; binary frames are ignored", () => {
    const { socket, leg, seen, events } = open();
    leg.listen(events);
    socket.emit("message", Buffer.from('{"type":"dtmf","digit":"1"}'), true);
    expect(seen).toEqual([]);
    socket.bufferedAmount = 2_000_000;
    leg.say("x", { last: true, interruptible: true });
    expect(socket.closes).toEqual(["terminated"]);
    expect(socket.sent).toEqual([]);
  });
});

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
  test("holds a bounded number of talks, then answers 503 until one is over; plain HTTP is told to upgrade", async () => {
    const opened: string[] = [];
    const server = await startMediaServer({
      host: "127.0.0.1",
      port: 0,
      log: rootLog(readEnv({ LOG_LEVEL: "silent" })),
      most: 1,
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
        most: 1,
        admit: async () => null,
        onSocket: () => undefined,
      }),
    ).rejects.toMatchObject({ code: "EADDRINUSE" });
    await server.close();
    await second.over();
  });
});

describe("web requests of functions", () => {
  test.each([
    "http://example.com/x",
    "ftp://example.com",
    "https://u:p@example.com",
    "https://10.0.0.1/",
    "https://[::1]/",
    "https://0x7f000001/",
    "https://localhost/",
    "nonsense",
  ])("%s is refused unasked", async (url) =>
    expect(
      await webRequester({ allow_http: false, allow_private: false })(
        { method: "GET", url, body: null },
        new AbortController().signal,
      ),
    ).toEqual({ ok: false, result: "ADDRESS_REFUSED" }),
  );
  test("a name that leads to a private address is refused when connecting", async () => {
    expect(
      await webRequester({ allow_http: true, allow_private: false })(
        { method: "GET", url: "http://localhost:9/", body: null },
        new AbortController().signal,
      ),
    ).toEqual({ ok: false, result: "ADDRESS_REFUSED" });
  });
  test("2xx gives the body, bounded; others their status; redirects are not followed; a dead end its code", async () => {
    const asked: string[] = [];
    const server = createServer((request, response) => {
      let body = "";
      request.on("data", (d: Buffer) => {
        body += d.toString();
      });
      request.on("end", () => {
        asked.push(`${request.method} ${request.url} ${body}`);
        if (request.url === "/big") response.end("x".repeat(300_000));
        else if (request.url === "/moved") response.writeHead(302, { location: "/ok" }).end();
        else if (request.url === "/ok") response.end('{"left":7}');
        else response.writeHead(500).end("secret");
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const port = (server.address() as { port: number }).port;
    const ask = webRequester({ allow_http: true, allow_private: true });
    const signal = new AbortController().signal;
    const at = (path: string) => `http://127.0.0.1:${port}${path}`;
    expect(await ask({ method: "POST", url: at("/ok"), body: { a: 1 } }, signal)).toEqual({
      ok: true,
      result: '{"left":7}',
    });
    expect((await ask({ method: "GET", url: at("/big"), body: null }, signal)).result.length).toBe(65_536);
    expect(await ask({ method: "GET", url: at("/moved"), body: null }, signal)).toEqual({
      ok: false,
      result: "HTTP_302",
    });
    expect(await ask({ method: "GET", url: at("/none"), body: null }, signal)).toEqual({
      ok: false,
      result: "HTTP_500",
    });
    expect(asked).toEqual(['POST /ok {"a":1}', "GET /big ", "GET /moved ", "GET /none "]);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    expect(await ask({ method: "GET", url: at("/ok"), body: null }, signal)).toEqual({
      ok: false,
      result: expect.stringMatching(/^(ECONNREFUSED|ECONNRESET|UND_ERR_SOCKET)$/),
    });
  });
});
