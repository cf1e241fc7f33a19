import { Failure } from "../../../shared/errors.ts";
import { BulkServer, NDJSON, queued, rows, textOf } from "../fixtures/bulk-server.ts";

const bulk = new BulkServer();
beforeAll(() => bulk.start());
afterAll(() => bulk.http.close(0));
beforeEach(() => bulk.reset());

describe("row by row", () => {
  test("lines in, lines out, in order, handed over a hundred at a time with who asks", async () => {
    const answer = await bulk.send(rows(250));
    expect([answer.status, answer.headers["content-type"]]).toEqual([200, NDJSON]);
    expect(answer.lines().map((l) => [l.index, l.status])).toEqual(
      Array.from({ length: 250 }, (_, i) => [i, "queued"]),
    );
    expect(bulk.batches.map((b) => b.rows.length)).toEqual([100, 100, 50]);
    expect(bulk.batches.flatMap((b) => b.rows)).toEqual(
      Array.from({ length: 250 }, (_, i) => ({ request_id: `o-${i}` })),
    );
    expect(bulk.batches[0]).toMatchObject({ by: { role: "merchant", merchant_id: "m" } });
    expect(bulk.batches[0]).not.toHaveProperty("idempotency_key");
  });
  test("an array in, an array out; an empty one too", async () => {
    const answer = await bulk.send('[{"a":1}, {"a":2}]', { "Content-Type": "application/json" });
    expect([answer.status, answer.headers["content-type"], answer.lines().map((l) => l.index)]).toEqual([
      200,
      "application/json; charset=utf-8",
      [0, 1],
    ]);
    expect((await bulk.send("[]", { "Content-Type": "application/json" })).text).toBe("[]\n");
    expect((await bulk.send("")).text).toBe("");
  });
  test("a byte order mark belongs to no row: before the first, before each of several files, and before an array", async () => {
    const mark = "\ufeff";
    const lines = await bulk.send(`${mark}{"a":1}\n${mark}{"a":2}\n${mark}\n{"a":3}`);
    expect(lines.lines().map((l) => l.status)).toEqual(["queued", "queued", "queued"]);
    const array = await bulk.send(`${mark}[{"a":4}]`, { "Content-Type": "application/json;odata=verbose" });
    expect(array.lines().map((l) => l.status)).toEqual(["queued"]);
    expect(bulk.batches.flatMap((batch) => batch.rows)).toEqual([{ a: 1 }, { a: 2 }, { a: 3 }, { a: 4 }]);
  });
  test("a number that no double holds is refused with its path, in its row alone", async () => {
    const answer = await bulk.send('{"a":1}\n{"payload":{"order_id":7615917337495251231}}\n{"a":2}');
    expect(answer.lines().map((l) => [l.status, l.code])).toEqual([
      ["queued", undefined],
      ["refused", "VALIDATION_FAILED"],
      ["queued", undefined],
    ]);
    expect(answer.text).toContain('"path":"payload.order_id"');
  });
  test("a row that can't be read is refused and stops no other", async () => {
    const answer = await bulk.send(
      Buffer.concat([
        Buffer.from('{"a":1}\n{broken\n'),
        Buffer.from([0x22, 0xff, 0x22, 0x0a]),
        Buffer.from(`${'{"a":'.repeat(100)}1${"}".repeat(100)}\n{"__proto__":{"x":1},"a":2}\n{"a":2}\n7`),
      ]),
    );
    expect(answer.lines().map((l) => [l.status, l.code, l.http_status])).toEqual([
      ["queued", undefined, undefined],
      ["refused", "MALFORMED_JSON", 400],
      ["refused", "MALFORMED_JSON", 400],
      ["refused", "VALIDATION_FAILED", 400],
      ["refused", "VALIDATION_FAILED", 400],
      ["queued", undefined, undefined],
      ["queued", undefined, undefined],
    ]);
    expect(bulk.batches[0]?.rows).toEqual([{ a: 1 }, { a: 2 }, 7]);
  });
  test("what the service refuses gets the status a single push would have had", async () => {
    bulk.answerBatch = ({ rows: all }) => ({
      results: all.map((_, index) => ({
        index,
        status: "refused",
        code: ["NUMBER_BLACKLISTED", "INVALID_PHONE_NUMBER", "VALIDATION_FAILED"][index],
        message: "why",
        ...(index === 2 ? { errors: [{ path: "request_id", message: "is required" }] } : {}),
      })),
    });
    expect((await bulk.send(rows(3))).lines().map((l) => l.http_status)).toEqual([403, 422, 400]);
  });
  test("long rows go in smaller batches, a row past the limit alone is refused", async () => {
    const answer = await bulk.send(
      [`"${"a".repeat(200_000)}"`, `"${"b".repeat(200_000)}"`, `"${"c".repeat(300_000)}"`, "1"].join("\n"),
    );
    expect(answer.lines().map((l) => l.code)).toEqual([undefined, undefined, "BODY_TOO_LARGE", undefined]);
    expect(bulk.batches.map((b) => b.rows.length)).toEqual([2, 1]);
  });
  test("a batch the service can't take is refused row by row; the next one is tried", async () => {
    bulk.answerBatch = (batch) => {
      if (bulk.batches.length === 1) throw new Failure("STORE_UNAVAILABLE", "x");
      return queued(batch);
    };
    expect((await bulk.send(rows(101))).lines().map((l) => l.code ?? l.status)).toEqual([
      ...Array.from({ length: 100 }, () => "STORE_UNAVAILABLE"),
      "queued",
    ]);
  });
  test("a service that is gone is not asked for every batch", async () => {
    bulk.answerBatch = () => {
      throw new Failure("DEPENDENCY_DOWN", "x");
    };
    const answer = await bulk.send(rows(2000));
    expect(new Set(answer.lines().map((l) => `${l.code} ${l.http_status}`))).toEqual(new Set(["DEPENDENCY_DOWN 503"]));
    expect([answer.lines().length, bulk.batches.length < 7]).toEqual([2000, true]);
  });
  test("a repeated body falls into the same batches, each under a key of its own", async () => {
    const body = rows(205);
    await bulk.send(body, { "Idempotency-Key": "k" });
    const first = bulk.batches.map((b) => [b.idempotency_key, b.rows.length]);
    bulk.batches = [];
    bulk.answerBatch = (batch) => ({ ...queued(batch), replayed: true });
    const { req, answer } = bulk.open({ "Idempotency-Key": "k" });
    for (let at = 0; at < body.length; at += 777) req.write(body.slice(at, at + 777));
    req.end();
    const res = await answer;
    await textOf(res);
    expect(first).toEqual([
      ["k.0", 100],
      ["k.1", 100],
      ["k.2", 5],
    ]);
    expect([bulk.batches.map((b) => [b.idempotency_key, b.rows.length]), res.headers["idempotency-replayed"]]).toEqual([
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
    ["another charset", "1", { "Content-Type": "application/x-ndjson; charset=latin1" }, 415, "UNSUPPORTED_MEDIA_TYPE"],
    ["UTF-16", Buffer.from('\ufeff{"a":1}', "utf16le"), {}, 400, "MALFORMED_JSON"],
    ["JSON that is no array", "{}", { "Content-Type": "application/json" }, 400, "MALFORMED_JSON"],
  ])("%s", async (_, body, headers, status, code) => {
    const answer = await bulk.send(body, headers);
    expect([answer.status, (JSON.parse(answer.text) as { code: string }).code, bulk.batches]).toEqual([
      status,
      code,
      [],
    ]);
  });
  test("a length past 8 MiB: 413", async () => {
    const { req, answer } = bulk.open({ "Content-Length": String(8_388_609) });
    req.on("error", () => undefined);
    req.write("1\n");
    const res = await answer;
    expect([res.statusCode, bulk.batches]).toEqual([413, []]);
    req.destroy();
  });
});
