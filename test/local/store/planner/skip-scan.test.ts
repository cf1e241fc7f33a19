import * as fc from "fast-check";
import type { Document, Sort } from "mongodb";
import { partEnd } from "../../../../local/store/indexes/key-decoder.ts";
import { encodeKey } from "../../../../local/store/indexes/key-encoder.ts";
import type { Value } from "../../../../local/store/bson/values.ts";
import { Binary, BSONRegExp, Code, Decimal128, Double, Long, MaxKey, MinKey, ObjectId, Timestamp } from "bson";
import { storeUnderTest, type StoreUnderTest } from "../fixtures/store-under-test.ts";

let t: StoreUnderTest;
beforeAll(async () => {
  t = await storeUnderTest();
});
afterAll(async () => {
  await t.stop();
});

interface Seen {
  index: string | undefined;
  keys: number;
  docs: number;
  n: number;
}

async function seen(command: Document): Promise<Seen> {
  const out = await t.client.db("test").command({ explain: command, verbosity: "executionStats" });
  const { winningPlan } = out["queryPlanner"];
  const stats = out["executionStats"];
  const scan = winningPlan.stage === "SORT" ? winningPlan.inputStage : winningPlan;
  return {
    index: scan.inputStage?.indexName,
    keys: stats.totalKeysExamined,
    docs: stats.totalDocsExamined,
    n: stats.nReturned,
  };
}

test("every part of a key ends where the next begins", () => {
  const kinds: Value[] = [
    null,
    true,
    false,
    0,
    -1.5,
    new Double(Number.NaN),
    Long.fromString("9007199254740993"),
    Decimal128.fromString("0.1"),
    "",
    "a",
    "a\0b\0",
    "\0\0",
    "ünï",
    new Date(0),
    new Date(-5),
    new ObjectId("0123456789abcdef01234567"),
    new Binary(Buffer.from([0, 1, 255])),
    new Timestamp({ t: 1, i: 2 }),
    new BSONRegExp("a.b", "i"),
    new Code("f()"),
    new Code("f()", { a: 1 }),
    new MinKey(),
    new MaxKey(),
    {},
    { a: 1, b: { c: "x", d: [1, "y"] } },
    [],
    [1, [null, "z"], { k: true }],
  ];
  const parts = fc.array(fc.tuple(fc.constantFrom(...kinds), fc.boolean()), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(parts, (list) => {
      const key = encodeKey(
        list.map(([v]) => v),
        list.map(([, d]) => d),
      );
      let from = 0;
      for (const [v, d] of list) {
        const end = partEnd(key, from, d);
        expect(Buffer.from(key.subarray(from, end)).toString("hex")).toBe(
          Buffer.from(encodeKey([v], [d])).toString("hex"),
        );
        from = end;
      }
      expect(from).toBe(key.length);
    }),
    { numRuns: 1000 },
  );
});

const QUEUES = 40;
const EACH = 250;

test("the heads of many queues are found without walking what is parked", async () => {
  const c = await t.fresh();
  const now = Date.now();
  // In every fourth queue two leads are due, all others later.
  await c.insertMany(
    Array.from({ length: QUEUES * EACH }, (_, i) => {
      const [queue, nth] = [i % QUEUES, Math.floor(i / QUEUES)];
      return {
        queue: `q${String(queue).padStart(2, "0")}`,
        due_at: new Date(queue % 4 === 0 && nth < 2 ? now - 1000 - nth : now + 60_000 + nth),
      };
    }),
  );
  await c.createIndex({ due_at: 1, _id: 1 }, { name: "due" });
  await c.createIndex(
    { queue: 1, due_at: 1, _id: 1 },
    { name: "due_by_queue", partialFilterExpression: { due_at: { $exists: true } } },
  );
  const due = { $lte: new Date(now) };
  const sort = { queue: 1, due_at: 1 };
  expect(
    await seen({
      find: c.collectionName,
      filter: { queue: { $gt: "q00" }, due_at: due },
      sort,
      limit: 1,
      hint: "due_by_queue",
    }),
  ).toMatchObject({ n: 1, docs: 1, keys: expect.any(Number) });
  const heads = [];
  let last = "";
  let keys = 0;
  for (;;) {
    const command = {
      find: c.collectionName,
      filter: { queue: { $gt: last, $lt: "q99" }, due_at: due },
      sort,
      limit: 1,
      hint: "due_by_queue",
    };
    keys += (await seen(command)).keys;
    const [head] = await c
      .find(command.filter)
      .sort(sort as Sort)
      .limit(1)
      .hint("due_by_queue")
      .toArray();
    if (head === undefined) break;
    heads.push(head["queue"]);
    last = head["queue"];
  }
  expect(heads).toEqual(Array.from({ length: QUEUES / 4 }, (_, i) => `q${String(i * 4).padStart(2, "0")}`));
  expect(keys).toBeLessThanOrEqual(QUEUES * 4);
  // All that is due, forwards and backwards, equality and $in before the ranges.
  const all = { queue: { $gte: "q00" }, due_at: due };
  expect(await seen({ find: c.collectionName, filter: all, sort, hint: "due_by_queue" })).toMatchObject({
    n: QUEUES / 2,
    docs: QUEUES / 2,
  });
  const backwards = await seen({
    find: c.collectionName,
    filter: all,
    sort: { queue: -1, due_at: -1 },
    hint: "due_by_queue",
  });
  expect(backwards.n).toBe(QUEUES / 2);
  expect(backwards.keys).toBeLessThanOrEqual(QUEUES * 64);
  expect(
    (await c.find(all).sort({ queue: -1, due_at: -1 }).hint("due_by_queue").toArray()).map((d) => d["_id"]),
  ).toEqual(
    (
      await c
        .find(all)
        .sort(sort as Sort)
        .hint({ $natural: 1 })
        .toArray()
    )
      .map((d) => d["_id"])
      .reverse(),
  );
  expect(await c.countDocuments(all)).toBe(QUEUES / 2);
});
