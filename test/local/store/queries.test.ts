import { Binary, BSONRegExp, Decimal128, Double, Long, MinKey } from "bson";
import type { Document } from "mongodb";
import { refusal, storeUnderTest } from "./fixtures/store-under-test.ts";
import type { StoreUnderTest } from "./fixtures/store-under-test.ts";

let t: StoreUnderTest;
beforeAll(async () => {
  t = await storeUnderTest();
});
afterAll(async () => {
  await t.stop();
});

const people = [
  {
    _id: 1,
    name: "Ada",
    age: 36,
    tags: ["math", "code"],
    home: { city: "London", geo: [1, 2] },
    calls: [
      { n: 1, ok: true },
      { n: 2, ok: false },
    ],
  },
  { _id: 2, name: "Bob", age: 41.5, tags: [], home: { city: "Paris" }, calls: [{ n: 3, ok: true }] },
  { _id: 3, name: "Cyd", age: null, tags: ["code"], calls: [] },
  { _id: 4, name: "Dee", tags: "code", home: null, at: new Date(1000) },
  { _id: 5, name: "Eve", age: Long.fromNumber(36), at: new Date(2000), flags: 6 },
];

const filters: [Document, number[]][] = [
  [{}, [1, 2, 3, 4, 5]],
  [{ age: 36 }, [1, 5]],
  [{ age: null }, [3, 4]],
  [{ age: { $exists: false } }, [4]],
  [{ age: { $gt: 36 } }, [2]],
  [{ age: { $gte: 36, $lt: 41 } }, [1, 5]],
  [{ age: { $ne: 36 } }, [2, 3, 4]],
  [{ age: { $in: [36, null] } }, [1, 3, 4, 5]],
  [{ age: { $nin: [36, null] } }, [2]],
  [{ age: { $type: "long" } }, [5]],
  [{ age: { $type: "number" } }, [1, 2, 5]],
  [{ age: { $type: ["null", "double"] } }, [2, 3]],
  [{ tags: "code" }, [1, 3, 4]],
  [{ tags: ["code"] }, [3]],
  [{ tags: [] }, [2]],
  [{ tags: { $size: 2 } }, [1]],
  [{ tags: { $all: ["code", "math"] } }, [1]],
  [{ "tags.0": "math" }, [1]],
  [{ tags: { $type: "array" } }, [1, 2, 3]],
  [{ "home.city": "Paris" }, [2]],
  [{ home: { city: "Paris" } }, [2]],
  [{ "home.city": null }, [3, 4, 5]],
  [{ "home.geo": 2 }, [1]],
  [{ "home.geo.1": 2 }, [1]],
  [{ calls: { $elemMatch: { n: { $gt: 1 }, ok: true } } }, [2]],
  [{ "calls.n": { $gt: 1 }, "calls.ok": true }, [1, 2]],
  [{ "calls.n": 3 }, [2]],
  [{ "calls.n": null }, [4, 5]],
  [{ "calls.n": { $exists: false } }, [3, 4, 5]],
  [{ name: /^[ab]/i }, [1, 2]],
  [{ name: { $regex: "E", $options: "i" } }, [4, 5]],
  [{ name: { $not: /^[ab]/i } }, [3, 4, 5]],
  [{ name: { $in: [/^A/, "Eve"] } }, [1, 5]],
  [{ name: new BSONRegExp("a # first\n d", "xi") }, [1]],
  [{ $or: [{ age: 36 }, { "home.city": "Paris" }] }, [1, 2, 5]],
  [{ $nor: [{ age: 36 }, { tags: "code" }] }, [2]],
  [{ $and: [{ age: 36 }, { tags: "math" }] }, [1]],
  [{ age: { $not: { $gt: 36 } } }, [1, 3, 4, 5]],
  [{ age: { $mod: [5, 1] } }, [1, 2, 5]],
  [{ flags: { $bitsAllSet: 6 } }, [5]],
  [{ flags: { $bitsAnySet: [0, 1] } }, [5]],
  [{ flags: { $bitsAllClear: [0] } }, [5]],
  [{ at: { $lte: new Date(1000) } }, [4]],
  [{ $expr: { $gt: ["$age", 40] } }, [2]],
  [{ $expr: { $eq: [{ $size: { $ifNull: ["$calls", []] } }, 1] } }, [2]],
  [{ $expr: { $lt: ["$at", "$$NOW"] }, at: { $exists: true } }, [4, 5]],
  [{ age: { $gt: "a" } }, []],
  [{ tags: { $elemMatch: { $eq: "math" } } }, [1]],
  [{ _id: { $in: [5, 1, 9] } }, [1, 5]],
  [{ $comment: "why", _id: 1 }, [1]],
  [{ home: { $gt: {} } }, [1, 2]],
  [{ age: new Double(36) }, [1, 5]],
];

test.each(filters)("filter %j", async (filter, ids) => {
  const c = await t.fresh(people);
  expect((await c.find(filter).sort({ _id: 1 }).toArray()).map((d) => d["_id"])).toEqual(ids);
  expect(await c.countDocuments(filter)).toBe(ids.length);
});

const wide = [
  { _id: 1, n: Long.MAX_VALUE },
  { _id: 2, n: Long.fromString("-9223372036854775807") },
  { _id: 3, n: Decimal128.fromString("9007199254740993") },
  { _id: 4, n: new Binary(Buffer.from([0, 2])) },
  { _id: 5, n: [[7], [[8]]] },
  { _id: 6, n: new Double(1e30) },
];
const exact: [Document, number[]][] = [
  [{ n: { $mod: [2, 1] } }, [1, 3]],
  [{ n: { $mod: [2, -1] } }, [2]],
  [{ n: { $mod: [Long.MAX_VALUE, 0] } }, [1, 2]],
  [{ n: { $bitsAllSet: [62] } }, [1]],
  [{ n: { $bitsAllSet: [200] } }, [2]],
  [{ n: { $bitsAllSet: [9] } }, [1, 4]],
  [{ n: { $bitsAnyClear: Long.MAX_VALUE } }, [2, 3, 4]],
  [{ n: { $elemMatch: { $size: 1 } } }, [5]],
  [{ n: { $elemMatch: { $elemMatch: { $gt: 5 } } } }, [5]],
  [{ n: { $elemMatch: { 0: 7 } } }, [5]],
  [{ missing: { $gt: new MinKey() } }, [1, 2, 3, 4, 5, 6]],
];

test.each(exact)("numbers of 64 bits and arrays in arrays: %j", async (filter, ids) => {
  const c = await t.fresh(wide);
  expect((await c.find(filter).sort({ _id: 1 }).toArray()).map((d) => d["_id"])).toEqual(ids);
});

test("sorts as MongoDB orders types; arrays by least and greatest element; skip and limit", async () => {
  const c = await t.fresh([
    { _id: 1, v: "a" },
    { _id: 2, v: 5 },
    { _id: 3, v: [9, 1] },
    { _id: 4 },
    { _id: 5, v: null },
    { _id: 6, v: true },
    { _id: 7, v: {} },
    { _id: 8, v: new Date(0) },
    { _id: 9, v: [] },
  ]);
  const ids = async (sort: Document): Promise<unknown[]> =>
    (
      await c
        .find({})
        .sort(sort as never)
        .toArray()
    ).map((d) => d["_id"]);
  expect(await ids({ v: 1, _id: 1 })).toEqual([9, 4, 5, 3, 2, 1, 7, 6, 8]);
  expect(await ids({ v: -1, _id: 1 })).toEqual([8, 6, 7, 1, 3, 2, 4, 5, 9]);
  expect((await c.find({}).sort({ _id: -1 }).skip(2).limit(3).toArray()).map((d) => d["_id"])).toEqual([7, 6, 5]);
  expect(
    (
      await c
        .find({})
        .sort({ $natural: -1 } as never)
        .limit(2)
        .toArray()
    ).map((d) => d["_id"]),
  ).toEqual([9, 8]);
});

const shapes: [Document, Document][] = [
  [{ name: 1 }, { _id: 1, name: "Ada" }],
  [
    { _id: 0, name: 1, "home.city": 1 },
    { name: "Ada", home: { city: "London" } },
  ],
  [
    { tags: 0, home: 0, calls: 0, age: 0 },
    { _id: 1, name: "Ada" },
  ],
  [{ _id: 1 }, { _id: 1 }],
  [{ _id: 0, calls: { n: 1 } }, { calls: [{ n: 1 }, { n: 2 }] }],
  [
    { _id: 0, "calls.ok": 0, tags: 0, home: 0 },
    { name: "Ada", age: 36, calls: [{ n: 1 }, { n: 2 }] },
  ],
  [
    { _id: 0, tags: { $slice: -1 }, name: 1 },
    { name: "Ada", tags: ["code"] },
  ],
  [{ _id: 0, calls: { $elemMatch: { ok: false } } }, { calls: [{ n: 2, ok: false }] }],
  [
    { _id: 0, up: { $toUpper: "$name" }, age: 1 },
    { age: 36, up: "ADA" },
  ],
  [
    { _id: 0, "home.zip": "$age", name: 1 },
    { name: "Ada", home: { zip: 36 } },
  ],
  [{ _id: 0, missing: 1 }, {}],
];

test.each(shapes)("projection %j", async (projection, expected) => {
  const c = await t.fresh(people);
  const [doc] = await c.find({ _id: 1 as never }, { projection }).toArray();
  expect(doc).toEqual(expected);
  expect(Object.keys(doc ?? {})).toEqual(Object.keys(expected));
});

test("the positional projection shows the element that matched", async () => {
  const c = await t.fresh(people);
  expect(await c.findOne({ _id: 1 as never, "calls.n": 2 }, { projection: { "calls.$": 1 } })).toEqual({
    _id: 1,
    calls: [{ n: 2, ok: false }],
  });
});

test("cursors: batches, getMore, a limit that ends them, killCursors", async () => {
  const c = await t.fresh(Array.from({ length: 250 }, (_, i) => ({ _id: i })));
  const db = t.client.db("test");
  const cursor = c.find({}).batchSize(7);
  expect((await cursor.toArray()).length).toBe(250);
  const first = await db.command({ find: c.collectionName });
  expect(first["cursor"].firstBatch.length).toBe(101);
  const id: unknown = first["cursor"].id;
  expect(
    (await db.command({ getMore: id as Long, collection: c.collectionName, batchSize: 49 }))["cursor"].nextBatch.length,
  ).toBe(49);
  expect(await db.command({ killCursors: c.collectionName, cursors: [id, Long.fromNumber(5)] })).toMatchObject({
    cursorsKilled: [id],
    cursorsNotFound: [expect.anything()],
  });
  expect(await refusal(db.command({ getMore: id as Long, collection: c.collectionName }))).toEqual([
    43,
    "CursorNotFound",
  ]);
  expect((await db.command({ find: c.collectionName, batchSize: 0 }))["cursor"]).toMatchObject({ firstBatch: [] });
  expect((await db.command({ find: c.collectionName, limit: 101 }))["cursor"].id.toString()).toBe("0");
  expect((await db.command({ find: c.collectionName, batchSize: 3, singleBatch: true }))["cursor"].id.toString()).toBe(
    "0",
  );
});

test("a cursor goes on while documents before and behind it change", async () => {
  const c = await t.fresh(Array.from({ length: 300 }, (_, i) => ({ _id: i, v: i })));
  await c.createIndex({ v: 1 });
  const seen: number[] = [];
  for await (const doc of c
    .find({ v: { $gte: 0 } })
    .sort({ v: 1 })
    .batchSize(50)) {
    seen.push(doc["v"]);
    if (doc["v"] === 60) await c.deleteMany({ v: { $in: [10, 250, 251] } });
  }
  expect(seen.filter((v) => v < 200)).toEqual(Array.from({ length: 200 }, (_, i) => i));
  expect(new Set(seen).size).toBe(seen.length);
});

test("count, distinct, estimatedDocumentCount", async () => {
  const c = await t.fresh(people);
  expect(await c.distinct("tags")).toEqual(["code", "math"]);
  expect(await c.distinct("age", { _id: { $lt: 4 } as never })).toEqual([null, 36, 41.5]);
  expect(await c.distinct("calls.n")).toEqual([1, 2, 3]);
  expect(await c.estimatedDocumentCount()).toBe(5);
  expect(await c.countDocuments({}, { skip: 1, limit: 3 })).toBe(3);
  expect(await t.client.db("test").collection("nothing").countDocuments()).toBe(0);
  expect(await t.client.db("test").collection("nothing").find().toArray()).toEqual([]);
});

test("a time limit ends a long scan", async () => {
  const c = await t.fresh(Array.from({ length: 3000 }, (_, i) => ({ _id: i, v: "x".repeat(50) })));
  const slow = {
    $expr: {
      $eq: [{ $reduce: { input: { $range: [0, 3000] }, initialValue: 0, in: { $add: ["$$value", "$$this"] } } }, -1],
    },
  };
  expect(await refusal(c.find(slow).maxTimeMS(20).toArray())).toEqual([50, "MaxTimeMSExpired"]);
});
