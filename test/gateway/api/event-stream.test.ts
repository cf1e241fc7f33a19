import { get, type IncomingMessage } from "node:http";
import { eventStreamEndpoint } from "../../../services/gateway/api/event-stream.ts";
import { openStreams, STREAMS_PER_TENANT, type OpenStreams } from "../../../services/gateway/api/open-streams.ts";
import { refuser } from "../../../services/gateway/http/exchange.ts";
import { problemOf } from "../../../services/gateway/http/http-errors.ts";
import { openHttpServer, type HttpServer } from "../../../services/gateway/http/server.ts";
import { ROUTES } from "../../../services/gateway/routes/index.ts";
import { sparseLog } from "../../../shared/process/sparse-log.ts";
import { readEnv } from "../../../shared/process/env.ts";
import { Failure } from "../../../shared/errors.ts";
import { randomIds } from "../../../shared/ids.ts";
import { rootLog } from "../../../shared/process/log.ts";
import type { Bus } from "../../../shared/bus/bus.ts";
import { asMerchant, until } from "../../../local/harness/stage.ts";
import { virtualClock, type VirtualClock } from "../../fixtures/virtual-clock.ts";

let http: HttpServer;
let clock: VirtualClock;
let streams: OpenStreams;
/** The events that there are, oldest first; a cursor is the number of events before and with it. */
let events: unknown[];
let asked: Record<string, unknown>[];
let voided: boolean;
let away: boolean;
/** Runs when a page was read, before it is answered. */
let onRead: () => void;

beforeEach(async () => {
  [events, asked, voided, away] = [[{ id: "lead.1" }, { id: "lead.2" }], [], false, false];
  onRead = () => undefined;
  clock = virtualClock();
  streams = openStreams(clock);
  const bus: Bus = {
    call: (async (_name: string, params: { after?: string; limit: number }) => {
      asked.push(params);
      if (away) throw new Failure("DEPENDENCY_DOWN", "leads are away");
      const from = Number(params.after ?? 0);
      const total = events.length;
      const page = events.slice(from, from + params.limit);
      const next_cursor = String(from + page.length);
      onRead();
      return {
        events: page.map((event, i) => ({ cursor: String(from + i + 1), event })),
        next_cursor,
        more: from + page.length < total,
        expired: params.after === "0",
      };
    }) as unknown as Bus["call"],
    emit: () => undefined,
    broadcast: () => undefined,
  };
  const docs = "https://calls.example.com/docs";
  const refused = refuser(rootLog(readEnv({ LOG_LEVEL: "silent" })), docs, sparseLog(clock));
  const row = ROUTES.find(({ action }) => action === "leads.listEvents");
  if (!row) throw new Error("there is no row of events");
  const handle = eventStreamEndpoint(
    row,
    {
      refused,
      identifier: {
        identify: async (_bus, token) =>
          voided ? Promise.reject(new Failure("UNAUTHENTICATED", "it is void")) : asMerchant("r", token ?? ""),
        end: () => undefined,
      },
      limits: {
        countRequest: () => undefined,
        checkBadTokens: () => () => undefined,
        countAttempt: () => () => undefined,
        addressOf: () => "127.0.0.1",
      },
    },
    { clock, bus, streams },
  );
  http = await openHttpServer({
    host: "127.0.0.1",
    port: 0,
    ids: randomIds,
    https: false,
    refuse: (req, res, failure) => {
      refused({ req, res, request_id: "r-1" }, failure, { answers: "plain" });
    },
    problemOf: (failure, request_id) => problemOf(failure, { answers: "plain", request_id, docs }),
    handle: (req, res) => {
      void handle({ req, res, bus, request_id: "r-1", path: {}, target: req.url ?? "/" });
    },
  });
});
afterEach(async () => {
  streams.close();
  await http.close(0);
});

interface Client {
  res: IncomingMessage;
  /** What came so far. */
  text(): string;
  ended(): boolean;
}

/** A client of a tenant. `reads` false: it takes nothing. */
const open = (headers: Record<string, string> = {}, path = "/", tenant = "m", reads = true): Promise<Client> =>
  new Promise((resolve, reject) => {
    const all = { accept: "text/event-stream", authorization: tenant, ...headers };
    get(`${http.url}${path}`, { headers: all }, (res) => {
      let text = "";
      let ended = false;
      res.on("close", () => {
        ended = true;
      });
      if (reads)
        res.setEncoding("utf8").on("data", (some: string) => {
          text += some;
        });
      resolve({ res, text: () => text, ended: () => ended });
    }).on("error", reject);
  });
const said = (client: Client, text: string): Promise<true> =>
  until(`"${text}" on the stream`, async () => {
    await clock.advance(100);
    return client.text().includes(text) || undefined;
  });
const message = (n: number): string => `id: ${n}\ndata: ${JSON.stringify({ id: `lead.${n}` })}\n\n`;

test("a stream gives what there is, then what happens, each event with its cursor; a hint has it looked for at once", async () => {
  const client = await open();
  expect(client.res.headers).toMatchObject({
    "content-type": "text/event-stream; charset=utf-8",
    "x-accel-buffering": "no",
  });
  await said(client, message(2));
  expect(client.text()).toBe(`retry: 2000\n\n${message(1)}${message(2)}`);
  events.push({ id: "lead.3" });
  streams.published();
  await said(client, message(3));
  expect(asked.at(-1)).toMatchObject({ limit: 100, by: { merchant_id: "m" } });
});

test("a hint is acted on at once, also one that comes while the stream reads, and one of other resellers wakes nobody", async () => {
  const client = await open();
  await said(client, message(2));
  const reads = asked.length;
  streams.published(["another"]);
  await clock.advance(1000);
  expect(asked).toHaveLength(reads);
  events.push({ id: "lead.3" });
  onRead = () => {
    onRead = () => undefined;
    events.push({ id: "lead.4" });
    streams.published(["r"]);
  };
  streams.published(["another", "r"]);
  await until("both", async () => {
    await clock.advance(1);
    return client.text().includes(message(4)) || undefined;
  });
  expect(client.text()).toContain(message(3));
  expect(asked).toHaveLength(reads + 2);
});

test("a client that comes back goes on behind its last id, or the cursor of the address; what is no longer kept is said", async () => {
  const back = await open({ "last-event-id": "1" }, "/?after=0");
  await said(back, message(2));
  expect(back.text()).not.toContain("lead.1");
  const late = await open({}, "/?after=0");
  await said(late, message(2));
  expect(late.text()).toContain("event: expired\ndata: {}\n\n");
});

test("without text/event-stream it is a page of JSON", async () => {
  const answer = await fetch(`${http.url}/?limit=1`, { headers: { authorization: "m" } });
  expect([answer.status, await answer.json()]).toEqual([
    200,
    { events: [{ cursor: "1", event: { id: "lead.1" } }], next_cursor: "1", more: true, expired: false },
  ]);
});

test("a quiet stream says so, and one that has lasted an hour ends with its reason", async () => {
  const client = await open();
  await said(client, message(2));
  await said(client, "\n:\n\n");
  await clock.advance(3_600_000);
  await said(client, 'event: end\ndata: {"reason":"time_limit"}\n\n');
  await until("the end", () => client.ended() || undefined);
});

test.each([
  [
    "the token is void",
    "token_ended",
    (): void => {
      voided = true;
    },
  ],
  [
    "the leads service is away",
    "unavailable",
    (): void => {
      away = true;
    },
  ],
  ["the gateway shuts down", "shutdown", (): void => streams.close()],
] as const)("a stream ends with its reason when %s", async (_why, reason, happen) => {
  const client = await open();
  await said(client, message(2));
  happen();
  await clock.advance(30_000);
  await said(client, `event: end\ndata: {"reason":"${reason}"}\n\n`);
});

test("a reader that takes nothing is cut, and finds the reason when it reads after all; then its place is free", async () => {
  events = Array.from({ length: 40 }, (_, i) => ({ id: `lead.${i + 1}`, data: "x".repeat(300_000) }));
  const client = await open({}, "/", "m", false);
  await until("the stream to wait for its reader", () => clock.nextWaitMs() === 10_000 || undefined);
  await clock.advance(10_000);
  const others = Array.from({ length: STREAMS_PER_TENANT }, () => open());
  expect((await Promise.all(others)).map(({ res }) => res.statusCode)).toEqual(others.map(() => 200));
  let tail = "";
  client.res.setEncoding("utf8").on("data", (some: string) => {
    tail = `${tail}${some}`.slice(-100);
  });
  await until("the end", () => client.ended() || undefined);
  expect(tail).toMatch(/event: end\ndata: \{"reason":"slow_reader"\}\n\n$/);
});

test("a tenant has so many streams and no more; one that ends makes room, and other tenants have theirs", async () => {
  const mine = await Promise.all(Array.from({ length: STREAMS_PER_TENANT }, () => open()));
  expect(mine.map(({ res }) => res.statusCode)).toEqual(mine.map(() => 200));
  const refused = await open();
  expect([refused.res.statusCode, refused.res.headers["retry-after"]]).toEqual([429, "5"]);
  expect((await open({}, "/", "another")).res.statusCode).toBe(200);
  mine[0]?.res.destroy();
  await until("a place", async () => {
    await clock.advance(100);
    const again = await open();
    return again.res.statusCode === 200 || undefined;
  });
});
