import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createPlainServer, type AddressInfo, type Server as PlainServer, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import {
  webhookClient,
  MAX_ANSWER_BYTES,
  TOTAL_TIMEOUT_MS,
  type WebhookClient,
} from "../../../services/webhook/deliveries/webhook-request.ts";
import { until } from "../../../local/harness/stage.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

const open = { allow_http: true, allow_private: true };
const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()));
});

async function serve(handler: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server: Server = createServer(handler);
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  closers.push(
    () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(resolve);
      }),
  );
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
}
const sender = (clock = virtualClock(), connectTimeoutMs?: number): WebhookClient => {
  const made = webhookClient(open, clock, connectTimeoutMs === undefined ? {} : { connectTimeoutMs });
  closers.unshift(() => made.close());
  return made;
};
const to = (url: string) => ({ url, id: "msg_1", timestampSeconds: 1, signature: "v1,x", body: "{}" });

/** Lets the clock run once the receiver was met, and gives what came of the try. */
async function afterTheBound(url: string, met: () => boolean) {
  const clock = virtualClock();
  let settled = false;
  const sent = sender(clock)
    .send(to(url))
    .finally(() => {
      settled = true;
    });
  await until("the receiver to be met", () => met() || undefined);
  await clock.advance(TOTAL_TIMEOUT_MS - 1);
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  expect(settled).toBe(false);
  await clock.advance(1);
  return sent;
}

test("F45 a receiver that hangs is cut off after 15 s", async () => {
  let [met, gone] = [false, false];
  const url = await serve((request) => {
    met = true;
    request.socket.on("close", () => {
      gone = true;
    });
  });
  expect(await afterTheBound(url, () => met)).toEqual({ status: null, refused: false, error: "no answer within 15 s" });
  await until("the connection to be closed", () => gone || undefined);
});

test("F47 a 200 that comes later than that is a failure", async () => {
  let answer: ServerResponse | null = null;
  const url = await serve((_, response) => {
    answer = response;
  });
  const result = await afterTheBound(url, () => answer !== null);
  (answer as unknown as ServerResponse).writeHead(200).end();
  expect(result).toMatchObject({ status: null, error: "no answer within 15 s" });
});

test.each([301, 302, 303, 307, 308])(
  "F46 a redirect with %i is not followed, nor are its credentials used",
  async (status) => {
    let visited = 0;
    const second = await serve((_, response) => {
      visited++;
      response.end();
    });
    const url = await serve((_, response) => {
      response.writeHead(status, { location: second.replace("http://", "http://user:secret@") }).end();
    });
    expect(await sender().send(to(url))).toMatchObject({ status });
    expect(visited).toBe(0);
  },
);

test.each<[string, (response: ServerResponse) => { stop(): void }]>([
  [
    "endless",
    (response) => {
      const timer = setInterval(() => {
        response.write(Buffer.alloc(16_384, "x"));
      }, 1);
      return { stop: () => clearInterval(timer) };
    },
  ],
  [
    "of declared endless length",
    (response) => {
      response.setHeader("content-length", "10000000000");
      const timer = setInterval(() => {
        response.write(Buffer.alloc(16_384, "x"));
      }, 1);
      return { stop: () => clearInterval(timer) };
    },
  ],
])("F48 of a body that is %s 64 kB are read, and the connection is closed", async (_, begin) => {
  let gone = false;
  const url = await serve((request, response) => {
    const body = begin(response);
    request.socket.on("close", () => {
      body.stop();
      gone = true;
    });
  });
  expect(await sender().send(to(url))).toMatchObject({ status: 200 });
  await until("the connection to be closed", () => gone || undefined);
});

test("F48 a gzip bomb is not unpacked", async () => {
  const bomb = gzipSync(Buffer.alloc(120 * 1024 * 1024));
  expect(bomb.length).toBeGreaterThan(MAX_ANSWER_BYTES);
  const url = await serve((_, response) => {
    response.writeHead(200, { "content-encoding": "gzip" });
    response.end(bomb);
  });
  const before = process.memoryUsage().rss;
  expect(await sender().send(to(url))).toMatchObject({ status: 200 });
  expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1024 * 1024);
});

test("a body that trickles for ever ends with the 15 s, and the answer counts: its head was in time", async () => {
  let met = false;
  const url = await serve((_, response) => {
    response.writeHead(200);
    response.write(".");
    met = true;
  });
  expect(await afterTheBound(url, () => met)).toMatchObject({ status: 200 });
});

test.each<[string, string, number | null]>([
  ["seconds", "120", 120],
  ["a date", "Sat, 21 Nov 2026 10:02:00 GMT", 120],
  ["nonsense", "soon", null],
])("F49 Retry-After as %s is handed on", async (_, header, expected) => {
  const url = await serve((__, response) => {
    response.writeHead(503, { "retry-after": header }).end();
  });
  expect(await sender(virtualClock(new Date("2026-11-21T10:00:00.000Z"))).send(to(url))).toEqual({
    status: 503,
    retry_after_seconds: expected,
  });
});

test("a connection that does not come about is given up after its own bound", async () => {
  const taken = new Set<Socket>();
  const silent: PlainServer = createPlainServer((socket) => {
    taken.add(socket);
  }); // and never says a word of TLS
  await new Promise<void>((resolve) => {
    silent.listen(0, "127.0.0.1", resolve);
  });
  closers.push(
    () =>
      new Promise((resolve) => {
        for (const socket of taken) socket.destroy();
        silent.close(resolve);
      }),
  );
  const result = await sender(virtualClock(), 100).send(
    to(`https://127.0.0.1:${(silent.address() as AddressInfo).port}/`),
  );
  expect(result).toEqual({ status: null, refused: false, error: "UND_ERR_CONNECT_TIMEOUT" });
});

test("a port where nobody listens is a failure, told by its code alone", async () => {
  expect(await sender().send(to("http://127.0.0.1:1/"))).toEqual({
    status: null,
    refused: false,
    error: "ECONNREFUSED",
  });
});
