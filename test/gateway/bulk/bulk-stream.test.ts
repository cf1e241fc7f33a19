import { request, type ClientRequest, type IncomingMessage } from "node:http";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { bulkEndpoint } from "../../../services/gateway/bulk/push-endpoint.ts";
import { refuser } from "../../../services/gateway/http/exchange.ts";
import { openHttpServer, type HttpServer } from "../../../services/gateway/http/server.ts";
import type { Row } from "../../../services/gateway/routes/row.ts";
import type { Bus } from "../../../shared/bus.ts";
import { readEnv } from "../../../shared/env.ts";
import { Failure } from "../../../shared/errors.ts";
import { randomIds } from "../../../shared/ids.ts";
import { rootLog } from "../../../shared/log.ts";
import { asMerchant, until } from "../../../local/harness/stage.ts";

/** The bulk endpoint over real HTTP, with a service behind it that follows a script. */
interface Batch {
  rows: unknown[];
  idempotency_key?: string;
  by: unknown;
}
let server: HttpServer;
let batches: Batch[] = [];
let behind: (batch: Batch) => Promise<unknown> | unknown;

const queued = ({ rows }: Batch) => ({
  results: rows.map((_, index) => ({
    index,
    status: "queued",
    lead_call_tracker_id: "7f9c24e8-3b12-4fef-91e0-5a4d8c2b1a00",
    order_id: "o-1",
  })),
});
const row: Row = {
  method: "POST",
  path: "/leads/bulk",
  action: "leads.push",
  roles: ["merchant"],
  success: 200,
  body: "rows",
  headers: { "idempotency-key": "idempotency_key" },
  answers: "push",
  tag: "Leads",
  summary: "",
};
const bus: Bus = {
  call: (async (_: string, params: Batch) => {
    batches.push(params);
    return behind(params);
  }) as unknown as Bus["call"],
  emit: () => undefined,
  broadcast: () => undefined,
};

beforeAll(async () => {
  const refused = refuser(rootLog(readEnv({ LOG_LEVEL: "silent" })), "https://calls.example.com/docs");
  const handle = bulkEndpoint(row, {
    refused,
    identifier: {
      identify: async (_, token) =>
        token ? asMerchant("r", "m") : Promise.reject(new Failure("UNAUTHENTICATED", "no token")),
    },
    limits: { countRequest: () => undefined, countAttempt: () => () => undefined },
  });
  server = await openHttpServer({
    host: "127.0.0.1",
    port: 0,
    ids: randomIds,
    https: false,
    requestMs: 300,
    handle: (req, res) => {
      void handle({ req, res, bus, request_id: "r-1", path: {}, target: req.url ?? "/" });
    },
  });
});
afterAll(async () => {
  await server.close(0);
});
beforeEach(() => {
  batches = [];
  behind = queued;
});

const NDJSON = "application/x-ndjson";
const open = (headers: Record<string, string> = {}): { req: ClientRequest; answer: Promise<IncomingMessage> } => {
  const req = request(server.url, {
    method: "POST",
    headers: { "Content-Type": NDJSON, Authorization: "Bearer x", ...headers },
  });
  return {
    req,
    answer: new Promise((resolve, reject) => {
      req.once("response", resolve).on("error", reject);
    }),
  };
};
const textOf = async (res: IncomingMessage): Promise<string> => {
  let text = "";
  for await (const chunk of res.setEncoding("utf8")) text += chunk as string;
  return text;
};
type Line = { index: number; status: string; code?: string; http_status?: number; message?: string };
async function send(body: string | Buffer, headers: Record<string, string> = {}) {
  const { req, answer } = open(headers);
  req.end(body);
  const res = await answer;
  const text = await textOf(res);
  const lines = (): Line[] =>
    res.headers["content-type"] === NDJSON
      ? text
          .trimEnd()
          .split("\n")
          .map((l) => JSON.parse(l) as Line)
      : (JSON.parse(text) as Line[]);
  return { status: res.statusCode, headers: res.headers, text, lines };
}
const rows = (n: number, of: (i: number) => string = (i) => JSON.stringify({ request_id: `o-${i}` })) =>
  Array.from({ length: n }, (_, i) => of(i)).join("\n");

describe("row by row", () => {
  test("lines in, lines out, in order, handed over a hundred at a time with who asks", async () => {
    const answer = await send(rows(250));
    expect([answer.status, answer.headers["content-type"]]).toEqual([200, NDJSON]);
    expect(answer.lines().map((l) => [l.index, l.status])).toEqual(
      Array.from({ length: 250 }, (_, i) => [i, "queued"]),
    );
    expect(batches.map((b) => b.rows.length)).toEqual([100, 100, 50]);
    expect(batches.flatMap((b) => b.rows)).toEqual(Array.from({ length: 250 }, (_, i) => ({ request_id: `o-${i}` })));
    expect(batches[0]).toMatchObject({ by: { role: "merchant", merchant_id: "m" } });
    expect(batches[0]).not.toHaveProperty("idempotency_key");
  });
  test("an array in, an array out; an empty one too", async () => {
    const answer = await send('[{"a":1}, {"a":2}]', { "Content-Type": "application/json" });
    expect([answer.status, answer.headers["content-type"], answer.lines().map((l) => l.index)]).toEqual([
      200,
      "application/json; charset=utf-8",
      [0, 1],
    ]);
    expect((await send("[]", { "Content-Type": "application/json" })).text).toBe("[]\n");
    expect((await send("")).text).toBe("");
  });
  test("a row that can't be read is refused and stops no other", async () => {
    const answer = await send(
      Buffer.concat([
        Buffer.from('{"a":1}\n{broken\n'),
        Buffer.from([0x22, 0xff, 0x22, 0x0a]),
        Buffer.from(`${'{"a":'.repeat(100)}1${"}".repeat(100)}\n{"__proto__":{"x":1},"a":2}\n7`),
      ]),
    );
    expect(answer.lines().map((l) => [l.status, l.code, l.http_status])).toEqual([
      ["queued", undefined, undefined],
      ["refused", "MALFORMED_JSON", 400],
      ["refused", "MALFORMED_JSON", 400],
      ["refused", "VALIDATION_FAILED", 400],
      ["queued", undefined, undefined],
      ["queued", undefined, undefined],
    ]);
    expect(batches[0]?.rows).toEqual([{ a: 1 }, { a: 2 }, 7]);
  });
  test("what the service refuses gets the status a single push would have had", async () => {
    behind = ({ rows: all }) => ({
      results: all.map((_, index) => ({
        index,
        status: "refused",
        code: ["NUMBER_BLACKLISTED", "INVALID_PHONE_NUMBER", "VALIDATION_FAILED"][index],
        message: "why",
        ...(index === 2 ? { errors: [{ path: "request_id", message: "is required" }] } : {}),
      })),
    });
    expect((await send(rows(3))).lines().map((l) => l.http_status)).toEqual([403, 422, 400]);
  });
  test("long rows go in smaller batches, a row past the limit alone is refused", async () => {
    const answer = await send(
      [`"${"a".repeat(200_000)}"`, `"${"b".repeat(200_000)}"`, `"${"c".repeat(300_000)}"`, "1"].join("\n"),
    );
    expect(answer.lines().map((l) => l.code)).toEqual([undefined, undefined, "BODY_TOO_LARGE", undefined]);
    expect(batches.map((b) => b.rows.length)).toEqual([2, 1]);
  });
  test("a batch the service can't take is refused row by row; the next one is tried", async () => {
    behind = (batch) => {
      if (batches.length === 1) throw new Failure("STORE_UNAVAILABLE", "x");
      return queued(batch);
    };
    expect((await send(rows(101))).lines().map((l) => l.code ?? l.status)).toEqual([
      ...Array.from({ length: 100 }, () => "STORE_UNAVAILABLE"),
      "queued",
    ]);
  });
  test("a service that is gone is not asked for every batch", async () => {
    behind = () => {
      throw new Failure("DEPENDENCY_DOWN", "x");
    };
    const answer = await send(rows(2000));
    expect(new Set(answer.lines().map((l) => `${l.code} ${l.http_status}`))).toEqual(new Set(["DEPENDENCY_DOWN 503"]));
    expect([answer.lines().length, batches.length < 7]).toEqual([2000, true]);
  });
  test("a repeated body falls into the same batches, each under a key of its own", async () => {
    const body = rows(205);
    await send(body, { "Idempotency-Key": "k" });
    const first = batches.map((b) => [b.idempotency_key, b.rows.length]);
    batches = [];
    behind = (batch) => ({ ...queued(batch), replayed: true });
    const { req, answer } = open({ "Idempotency-Key": "k" });
    for (let at = 0; at < body.length; at += 777) req.write(body.slice(at, at + 777));
    req.end();
    const res = await answer;
    await textOf(res);
    expect(first).toEqual([
      ["k.0", 100],
      ["k.1", 100],
      ["k.2", 5],
    ]);
    expect([batches.map((b) => [b.idempotency_key, b.rows.length]), res.headers["idempotency-replayed"]]).toEqual([
      first,
      "true",
    ]);
  });
});

describe("refused as a whole, before anything is taken", () => {
  test.each([
    ["no token", "1", { Authorization: "" }, 401, "UNAUTHENTICATED"],
    ["another type", "1", { "Content-Type": "text/plain" }, 415, "UNSUPPORTED_MEDIA_TYPE"],
    ["compressed", "1", { "Content-Encoding": "gzip" }, 415, "UNSUPPORTED_MEDIA_TYPE"],
    ["JSON that is no array", "{}", { "Content-Type": "application/json" }, 400, "MALFORMED_JSON"],
  ])("%s", async (_, body, headers, status, code) => {
    const answer = await send(body, headers);
    expect([answer.status, (JSON.parse(answer.text) as { code: string }).code, batches]).toEqual([status, code, []]);
  });
  test("a length past 8 MiB: 413", async () => {
    const { req, answer } = open({ "Content-Length": String(8_388_609) });
    req.on("error", () => undefined);
    req.write("1\n");
    const res = await answer;
    expect([res.statusCode, batches]).toEqual([413, []]);
    req.destroy();
  });
});

describe("bounds", () => {
  test("rows past 10,000 are refused, and what comes after 1,000 of those by one last line", async () => {
    const some = await send(rows(10_003, () => "1"));
    expect(
      some
        .lines()
        .slice(9999)
        .map((l) => [l.index, l.status, l.code, l.http_status]),
    ).toEqual([
      [9999, "queued", undefined, undefined],
      ...[10_000, 10_001, 10_002].map((i) => [i, "refused", "BODY_TOO_LARGE", 413]),
    ]);
    expect(batches.flatMap((b) => b.rows)).toHaveLength(10_000);
    const many = (await send(rows(20_000, () => "1"))).lines();
    expect([many.length, many.at(-1)?.message]).toEqual([11_001, expect.stringContaining("all that follow")]);
  });
  test("a body that grows past 8 MiB: the rows before are answered, a last line says so", async () => {
    const { req, answer } = open();
    const filler = Buffer.from(`"${"x".repeat(9998)}"\n`.repeat(100));
    const closed = new Promise((resolve) => req.once("close", resolve));
    const feed = (async () => {
      for (let i = 0; i < 12 && !req.destroyed; i++)
        if (!req.write(filler)) await Promise.race([new Promise((resolve) => req.once("drain", resolve)), closed]);
    })();
    req.on("error", () => undefined);
    const lines = (await textOf(await answer))
      .trimEnd()
      .split("\n")
      .map((l) => JSON.parse(l) as Line);
    expect(lines.at(-1)).toMatchObject({
      status: "refused",
      code: "BODY_TOO_LARGE",
      http_status: 413,
      index: lines.length - 1,
    });
    expect(lines.slice(0, -1).every((l) => l.status === "queued")).toBe(true);
    expect(lines.length).toBeGreaterThan(500);
    req.destroy();
    await feed;
  });
});

describe("streaming", () => {
  test("rows are answered while the body is still being sent, however long that takes", async () => {
    const { req, answer } = open();
    req.write(`${rows(100)}\n`);
    const res = await answer;
    const first = await new Promise<string>((resolve) => {
      res.once("data", (chunk: Buffer) => {
        resolve(chunk.toString());
      });
    });
    expect(JSON.parse(first.split("\n")[0] ?? "")).toMatchObject({ index: 0, status: "queued" });
    const began = performance.now();
    await until("longer than the 300 ms that other requests have here", () =>
      performance.now() - began > 400 ? true : undefined,
    );
    req.end(rows(1));
    expect(await textOf(res)).toContain('"index":100');
  });
  test("a client that reads nothing before it has sent all gets its answers too", async () => {
    behind = ({ rows: all }) => ({
      results: all.map((_, index) => ({
        index,
        status: "refused",
        code: "PAYLOAD_INVALID",
        message: "x".repeat(2000),
      })),
    });
    const { req, answer } = open();
    const reading = answer.then((res) => {
      res.pause();
      return res;
    });
    for (let i = 0; i < 100; i++)
      await new Promise<void>((resolve) => {
        req.write(`${rows(100)}\n`, () => {
          resolve();
        });
      });
    req.end();
    expect((await textOf(await reading)).split("\n")).toHaveLength(10_001);
  });
  test("a client that goes away leaves the rest unpushed", async () => {
    const { req, answer } = open();
    req.on("error", () => undefined);
    answer.catch(() => undefined);
    req.write(`${rows(300)}\n`);
    await until("the first batches", () => (batches.length >= 3 ? true : undefined));
    req.destroy();
    await until(
      "the server to be idle",
      () =>
        new Promise<true | undefined>((resolve) => {
          server.server.getConnections((_, n) => {
            resolve(n === 0 ? true : undefined);
          });
        }),
    );
    expect(batches.length).toBe(3);
  });
  test("10,000 rows, 8 MB: memory stays flat", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const used: number[] = [];
    let seen = 0;
    behind = (batch) => {
      batches.length = 0;
      if (seen++ % 5 !== 0) return queued(batch);
      collect();
      const { heapUsed, external } = process.memoryUsage();
      used.push(heapUsed + external);
      return queued(batch);
    };
    const { req, answer } = open();
    const body = (async () => {
      const filler = "x".repeat(760);
      for (let i = 0; i < 10_000; i++)
        if (!req.write(`{"request_id":"o-${i}","payload":{"note":"${filler}"}}\n`))
          await new Promise((resolve) => req.once("drain", resolve));
      req.end();
    })();
    let bytes = 0;
    for await (const chunk of await answer) bytes += (chunk as Buffer).length;
    await body;
    expect(bytes).toBeGreaterThan(1_000_000);
    const [early, late] = [used.slice(2, 7), used.slice(-5)].map(
      (some) => some.reduce((a, b) => a + b, 0) / some.length,
    );
    expect(used.length).toBeGreaterThanOrEqual(20);
    expect((late ?? 0) - (early ?? 0)).toBeLessThan(2_000_000);
    expect(Math.max(...used.slice(2)) - Math.min(...used.slice(2))).toBeLessThan(6_000_000);
  });
});

test("a body that never comes is cut off in time, also when its answer is there already", async () => {
  const { req, answer } = open({ "Content-Type": "text/plain", "Content-Length": "10" });
  req.on("error", () => undefined);
  req.flushHeaders();
  const res = await answer;
  res.resume().on("error", () => undefined);
  expect(res.statusCode).toBe(415);
  await until(
    "the server to be rid of it",
    () =>
      new Promise<true | undefined>((resolve) => {
        server.server.getConnections((_, n) => {
          resolve(n === 0 ? true : undefined);
        });
      }),
  );
});
