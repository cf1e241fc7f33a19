import { until } from "../../../local/harness/stage.ts";
import { BulkServer, rows, textOf, type Line } from "../fixtures/bulk-server.ts";

const bulk = new BulkServer();
beforeAll(() => bulk.start());
afterAll(() => bulk.http.close(0));
beforeEach(() => bulk.reset());

describe("bounds", () => {
  test("rows past 10,000 are refused, and what comes after 1,000 of those by one last line", async () => {
    const some = await bulk.send(rows(10_003, () => "1"));
    expect(
      some
        .lines()
        .slice(9999)
        .map((l) => [l.index, l.status, l.code, l.http_status]),
    ).toEqual([
      [9999, "queued", undefined, undefined],
      ...[10_000, 10_001, 10_002].map((i) => [i, "refused", "BODY_TOO_LARGE", 413]),
    ]);
    expect(bulk.batches.flatMap((b) => b.rows)).toHaveLength(10_000);
    const many = (await bulk.send(rows(20_000, () => "1"))).lines();
    expect([many.length, many.at(-1)?.message]).toEqual([11_001, expect.stringContaining("all that follow")]);
  });
  test("ten rows cost a unit of the tenant's allowance, and the rows past it are refused", async () => {
    bulk.units = 1 + 20; // the request itself, and two batches of a hundred
    const lines = (await bulk.send(rows(350))).lines();
    expect(lines.slice(0, 200).every((line) => line.status === "queued")).toBe(true);
    expect(lines.slice(200).map(({ code, http_status }) => [code, http_status])).toEqual(
      Array.from({ length: 150 }, () => ["RATE_LIMITED", 429]),
    );
    expect(bulk.batches.flatMap((b) => b.rows)).toHaveLength(200);
  });
  test("rows that are none cost as much as leads", async () => {
    bulk.units = 1 + 20;
    const lines = (await bulk.send("no lead\n".repeat(350))).lines();
    expect([lines[199]?.code, lines[200]?.code]).toEqual(["MALFORMED_JSON", "MALFORMED_JSON"]);
    expect(bulk.units).toBeLessThan(0);
  });
  test("others are attended to between batches, also where every row is refused at once", async () => {
    let [turns, ended] = [0, false];
    const turn = (): void => {
      turns++;
      if (!ended) setImmediate(turn);
    };
    const body = Buffer.from("x\n".repeat(10_000));
    const { req, answer } = bulk.open({ "Content-Length": String(body.length) });
    req.end(body);
    setImmediate(turn);
    await textOf(await answer);
    ended = true;
    expect(turns).toBeGreaterThan(50);
  });
  test("a body that grows past 8 MiB: the rows before are answered, a last line says so", async () => {
    const { req, answer } = bulk.open();
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
    const { req, answer } = bulk.open();
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
    bulk.answerBatch = ({ rows: all }) => ({
      results: all.map((_, index) => ({
        index,
        status: "refused",
        code: "PAYLOAD_INVALID",
        message: "x".repeat(2000),
      })),
    });
    const { req, answer } = bulk.open();
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
    const { req, answer } = bulk.open();
    req.on("error", () => undefined);
    answer.catch(() => undefined);
    req.write(`${rows(300)}\n`);
    await until("the first batches", () => (bulk.batches.length >= 3 ? true : undefined));
    req.destroy();
    await bulk.idle();
    expect(bulk.batches.length).toBe(3);
  });
});

test("a body that never comes is cut off in time, also when its answer is there already", async () => {
  const { req, answer } = bulk.open({ "Content-Type": "text/plain", "Content-Length": "10" });
  req.on("error", () => undefined);
  req.flushHeaders();
  const res = await answer;
  res.resume().on("error", () => undefined);
  expect(res.statusCode).toBe(415);
  await bulk.idle();
});
