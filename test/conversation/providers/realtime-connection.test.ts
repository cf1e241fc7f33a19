import { WebSocketServer, type WebSocket } from "ws";
import type { RealtimeEvent } from "../../../services/conversation/providers/realtime/realtime-dialect.ts";
import {
  realtimeConnection,
  type RealtimeAddress,
  type RealtimeConnection,
} from "../../../services/conversation/providers/realtime/realtime-connection.ts";

/** What a server saw of one connection. */
interface Seen {
  socket: WebSocket;
  headers: Record<string, unknown>;
  url: string;
  texts: string[];
}

describe("the line to a realtime model", () => {
  let server: WebSocketServer;
  let seen: Seen[];
  let tried: number;
  /** Connections that are refused before one is taken. */
  let refuses: number;
  let told: RealtimeEvent[];
  let lost: number;
  let link: RealtimeConnection;
  let waits: { ready: () => boolean; resolve: () => void }[];
  const until = (ready: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      if (ready()) resolve();
      else waits.push({ ready, resolve });
    });
  const happened = (): void => {
    for (const w of waits) if (w.ready()) w.resolve();
  };

  beforeEach(async () => {
    [seen, tried, refuses, told, lost, waits] = [[], 0, 0, [], 0, []];
    server = new WebSocketServer({ port: 0, host: "127.0.0.1", verifyClient: () => ++tried > refuses });
    await new Promise<void>((resolve) => {
      server.once("listening", resolve);
    });
    server.on("connection", (socket, request) => {
      const s: Seen = { socket, headers: { ...request.headers }, url: request.url ?? "", texts: [] };
      seen.push(s);
      socket.on("error", () => undefined);
      socket.on("message", (data: Buffer) => {
        s.texts.push(data.toString());
        happened();
      });
      socket.on("close", happened);
      happened();
    });
  });
  afterEach(async () => {
    link.close();
    for (const client of server.clients) client.terminate();
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
  });

  const open = (more: Partial<RealtimeAddress> = {}): void => {
    const address = server.address();
    const base_url = `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}/v1`;
    link = realtimeConnection(
      { base_url, key: "k", model: "m", voice: "v", dialect: "ga", ...more },
      {
        event: (event) => {
          told.push(event);
          happened();
        },
        lost: () => {
          lost++;
          happened();
        },
      },
    );
  };

  test.each([
    ["ga", "k", "Bearer k", undefined],
    ["beta", undefined, undefined, "realtime=v1"],
  ] as const)("asked in dialect %s with key %s", async (dialect, key, authorization, beta) => {
    open({ dialect, key });
    await until(() => seen.length === 1);
    expect([seen[0]?.url, seen[0]?.headers["authorization"], seen[0]?.headers["openai-beta"]]).toEqual([
      "/v1/realtime?model=m",
      authorization,
      beta,
    ]);
  });

  test("what is sent before the line stands goes first, also when it is refused once", async () => {
    refuses = 1;
    open();
    link.send({ n: 1 });
    link.send({ n: 2 });
    await until(() => seen[0]?.texts.length === 2);
    link.send({ n: 3 });
    await until(() => seen[0]?.texts.length === 3);
    expect([seen[0]?.texts, lost, tried]).toEqual([['{"n":1}', '{"n":2}', '{"n":3}'], 0, 2]);
  });

  test("refused twice: lost, once", async () => {
    refuses = 2;
    open();
    await until(() => lost > 0);
    link.send({ n: 1 });
    expect([lost, tried]).toEqual([1, 2]);
  });

  test("cut once it stood: lost, and not tried again; nonsense is not told", async () => {
    open();
    await until(() => seen.length === 1);
    seen[0]?.socket.send("nonsense");
    seen[0]?.socket.send(Buffer.from([1, 2]), { binary: true });
    seen[0]?.socket.send(JSON.stringify({ type: "session.updated" }));
    await until(() => told.length > 0);
    seen[0]?.socket.terminate();
    await until(() => lost > 0);
    expect([told, lost, tried]).toEqual([[{ type: "ready" }], 1, 1]);
  });

  test("closed by us: gone, and nothing told of it", async () => {
    open();
    await until(() => seen.length === 1);
    link.send({ n: 1 });
    await until(() => seen[0]?.texts.length === 1);
    link.close();
    await until(() => server.clients.size === 0);
    expect(lost).toBe(0);
  });
});
