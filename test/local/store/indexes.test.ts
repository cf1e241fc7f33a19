import type { Collection, Document } from "mongodb";
import { startStore } from "../../../local/store/server.ts";
import { MongoClient } from "mongodb";
import { refusal, storeUnderTest } from "./fixtures/store-under-test.ts";
import type { StoreUnderTest } from "./fixtures/store-under-test.ts";

let t: StoreUnderTest;
beforeAll(async () => {
  t = await storeUnderTest();
});
afterAll(async () => {
  await t.stop();
});

interface Seen {
  stage: string;
  index: string | undefined;
  keys: number;
  docs: number;
  n: number;
}

/** What explain says of a command: the index used, and what was looked at. */
async function seen(command: Document): Promise<Seen> {
  const out = await t.client.db("test").command({ explain: command, verbosity: "executionStats" });
  const { winningPlan } = out["queryPlanner"];
  const sorted = winningPlan.stage === "SORT";
  const scan = sorted ? winningPlan.inputStage : winningPlan;
  const stats = out["executionStats"];
  return {
    stage: `${sorted ? "SORT " : ""}${scan.inputStage?.stage ?? scan.stage}`,
    index: scan.inputStage?.indexName,
    keys: stats.totalKeysExamined,
    docs: stats.totalDocsExamined,
    n: stats.nReturned,
  };
}

const DUE = 20_000;

test("a claim over many leads reads only what it returns", async () => {
  const c = await t.fresh();
  const base = Date.now();
  for (let from = 0; from < DUE; from += 5000) {
    await c.insertMany(
      Array.from({ length: 5000 }, (_, i) => ({
        configuration_id: `c${(from + i) % 4}`,
        status: "BACKLOG",
        ...((from + i) % 2 === 0 ? { due_at: new Date(base + from + i) } : {}),
      })),
    );
  }
  await c.createIndex(
    { configuration_id: 1, due_at: 1, _id: 1 },
    { name: "due_by_cfg", partialFilterExpression: { due_at: { $exists: true } } },
  );
  await c.createIndex({ status: 1 });
  const filter = { configuration_id: "c0", due_at: { $lte: new Date(base + DUE) } };
  const claim = { find: c.collectionName, filter, sort: { due_at: 1, _id: 1 }, limit: 200 };
  expect(await seen(claim)).toEqual({ stage: "IXSCAN", index: "due_by_cfg", keys: 200, docs: 200, n: 200 });
  expect(await seen({ ...claim, filter: { ...filter, status: "BACKLOG" } })).toMatchObject({
    stage: "IXSCAN",
    index: "due_by_cfg",
    docs: 200,
  });
  expect(await seen({ ...claim, sort: { due_at: -1, _id: -1 } })).toMatchObject({
    stage: "IXSCAN",
    index: "due_by_cfg",
    docs: 200,
  });
  expect(
    (await c.find(filter).sort({ due_at: 1, _id: 1 }).limit(200).toArray()).map((d) => d["due_at"].getTime()),
  ).toEqual(Array.from({ length: 200 }, (_, i) => base + i * 4));
  expect(await seen({ find: c.collectionName, filter: { configuration_id: "c0" }, limit: 1 })).toMatchObject({
    stage: "COLLSCAN",
  });
  expect(
    await seen({
      aggregate: c.collectionName,
      pipeline: [{ $match: filter }, { $sort: { due_at: 1 } }, { $limit: 10 }],
      cursor: {},
    }),
  ).toMatchObject({ stage: "IXSCAN", docs: 10 });
}, 30_000);

describe("which index is used", () => {
  let c: Collection<Document>;
  beforeAll(async () => {
    c = await t.fresh(
      Array.from({ length: 500 }, (_, i) => ({
        _id: i,
        a: i % 10,
        b: i,
        tags: [`t${i % 7}`, `u${i}`],
        sub: { k: `k${i}` },
        ...(i % 50 === 0 ? { rare: i } : {}),
      })),
    );
    await c.createIndexes([
      { key: { a: 1, b: -1 }, name: "ab" },
      { key: { tags: 1 }, name: "tags" },
      { key: { "sub.k": 1 }, name: "subk", unique: true },
      { key: { rare: 1 }, name: "rare", sparse: true },
    ]);
  });
  const cases: [Document, Document, Partial<Seen>][] = [
    [{ _id: 7 }, {}, { stage: "IXSCAN", index: "_id_", docs: 1, n: 1 }],
    [{ _id: { $in: [1, 2, 3] } }, {}, { stage: "IXSCAN", index: "_id_", docs: 3 }],
    [{ _id: { $gte: 490 } }, { _id: -1 }, { stage: "IXSCAN", docs: 10 }],
    [{ a: 3 }, {}, { index: "ab", docs: 50 }],
    [{ a: 3, b: { $gt: 400 } }, {}, { index: "ab", docs: 10, n: 10 }],
    [{ a: 3, b: 13 }, {}, { index: "ab", docs: 1 }],
    [{ a: 3 }, { b: -1 }, { stage: "IXSCAN", index: "ab" }],
    [{ a: 3 }, { b: 1 }, { stage: "IXSCAN", index: "ab" }],
    [{ a: { $in: [1, 2] } }, { a: 1, b: -1 }, { stage: "IXSCAN", index: "ab", docs: 100 }],
    [{ a: { $in: [1, 2] } }, { b: 1 }, { stage: "SORT IXSCAN", index: "ab" }],
    [{}, { a: -1, b: 1 }, { stage: "IXSCAN", index: "ab", docs: 500 }],
    [{}, { a: 1, b: 1 }, { stage: "SORT COLLSCAN", docs: 500 }],
    [{ tags: "u17" }, {}, { index: "tags", docs: 1, n: 1 }],
    [{ tags: { $in: ["u17", "t3"] } }, {}, { index: "tags", n: 71 }],
    [{ "sub.k": "k40" }, {}, { index: "subk", docs: 1 }],
    [{ rare: { $gte: 0 } }, {}, { index: "rare", docs: 10 }],
    [{ rare: { $exists: true } }, {}, { stage: "IXSCAN", index: "rare", docs: 10 }],
    [{ rare: null }, {}, { stage: "COLLSCAN", n: 490 }],
    [{ b: 3 }, {}, { stage: "COLLSCAN" }],
    [{ $or: [{ _id: 1 }] }, {}, { stage: "COLLSCAN", n: 1 }],
    [{ $and: [{ a: 1 }, { b: { $lt: 100 } }] }, {}, { index: "ab", docs: 10 }],
  ];
  test.each(cases)("%j sorted %j", async (filter, sort, expected) => {
    expect(
      await seen({ find: c.collectionName, filter, ...(Object.keys(sort).length === 0 ? {} : { sort }) }),
    ).toMatchObject(expected);
  });
  test("also by update, delete, findAndModify, count and by hint", async () => {
    expect(
      await seen({
        findAndModify: c.collectionName,
        query: { a: 3, b: { $gte: 0 } },
        sort: { b: -1 },
        update: { $set: { x: 1 } },
      }),
    ).toMatchObject({ stage: "IXSCAN", index: "ab", docs: 1 });
    expect(
      await seen({ update: c.collectionName, updates: [{ q: { a: 3 }, u: { $set: { x: 1 } }, multi: true }] }),
    ).toMatchObject({ index: "ab", docs: 50 });
    expect(await seen({ delete: c.collectionName, deletes: [{ q: { _id: 3 }, limit: 1 }] })).toMatchObject({
      index: "_id_",
      docs: 1,
    });
    expect(await seen({ count: c.collectionName, query: { a: 3 } })).toMatchObject({ index: "ab" });
    expect(await seen({ find: c.collectionName, filter: { a: 3 }, hint: "_id_" })).toMatchObject({
      index: "_id_",
      docs: 500,
      n: 50,
    });
    expect(await seen({ find: c.collectionName, filter: { a: 3 }, hint: { $natural: 1 } })).toMatchObject({
      stage: "COLLSCAN",
    });
    expect(await refusal(c.find({ a: 3 }).hint("nope").toArray())).toEqual([2, "BadValue"]);
    expect(await c.countDocuments({ x: 1 })).toBe(0);
  });
});

test("unique indexes: duplicate key errors as drivers and mongoose read them", async () => {
  const c = await t.fresh([
    { _id: 1, e: "a", n: { x: 1 } },
    { _id: 2, e: "b" },
  ]);
  await c.createIndex({ e: 1, "n.x": -1 }, { unique: true });
  const error = await c.insertOne({ _id: 3 as never, e: "a", n: { x: 1 } }).catch((x: unknown) => x);
  expect(error).toMatchObject({
    code: 11000,
    keyPattern: { e: 1, "n.x": -1 },
    keyValue: { e: "a", "n.x": 1 },
    message: `E11000 duplicate key error collection: ${c.namespace} index: e_1_n.x_-1 dup key: { e: "a", n.x: 1 }`,
  });
  await expect(c.updateOne({ _id: 2 as never }, { $set: { e: "a", n: { x: 1 } } })).rejects.toMatchObject({
    code: 11000,
  });
  expect(await c.findOne({ _id: 2 as never })).toEqual({ _id: 2, e: "b" });
  await expect(c.findOneAndUpdate({ _id: 2 as never }, { $set: { e: "a", n: { x: 1 } } })).rejects.toMatchObject({
    code: 11000,
    keyValue: { e: "a", "n.x": 1 },
  });
  await expect(c.insertOne({ e: "b" })).rejects.toMatchObject({ code: 11000, keyValue: { e: "b", "n.x": null } });
  expect(await c.countDocuments()).toBe(2);
  await c.insertOne({ _id: 4 as never, e: "c" });
  await c.updateOne({ _id: 4 as never }, { $set: { e: "d" } });
  await c.insertOne({ _id: 5 as never, e: "c" });
});

test("an index that duplicates forbid is not made; arrays in unique indexes", async () => {
  const c = await t.fresh([{ a: 1 }, { a: 1 }]);
  expect(await refusal(c.createIndex({ a: 1 }, { unique: true }))).toEqual([11000, "DuplicateKey"]);
  expect((await c.indexes()).length).toBe(1);
  const m = await t.fresh([{ _id: 1, a: [1, 2, 2] }]);
  await m.createIndex({ a: 1 }, { unique: true });
  await expect(m.insertOne({ a: [2, 3] })).rejects.toMatchObject({ code: 11000 });
  await m.insertOne({ a: [3, 4] });
  await m.updateOne({ _id: 1 as never }, { $pull: { a: 2 } } as never);
  await m.insertOne({ a: 2 });
  await m.createIndex({ b: 1, d: 1 });
  expect((await refusal(m.insertOne({ a: 9, b: [1], d: [2] })))[0]).toBe(171);
});

test("partial and sparse unique indexes leave the others alone", async () => {
  const c = await t.fresh([{ _id: 1 }, { _id: 2 }, { _id: 3, key: "x", live: true }]);
  await c.createIndex({ key: 1 }, { unique: true, partialFilterExpression: { key: { $exists: true } } });
  await c.createIndex({ other: 1 }, { unique: true, sparse: true });
  await c.insertMany([{ _id: 4 as never }, { _id: 5 as never }]);
  await expect(c.insertOne({ key: "x" })).rejects.toMatchObject({ code: 11000 });
  await c.updateOne({ _id: 3 as never }, { $unset: { key: "" } });
  await c.insertOne({ key: "x" });
});

test("listIndexes, createIndex again, dropIndex, options that are refused", async () => {
  const c = await t.fresh([{ a: 1 }]);
  expect(await c.createIndex({ a: 1 }, { expireAfterSeconds: 60 })).toBe("a_1");
  expect(await c.createIndex({ a: 1 }, { expireAfterSeconds: 60 })).toBe("a_1");
  expect(await c.indexes()).toEqual([
    { v: 2, key: { _id: 1 }, name: "_id_" },
    { v: 2, key: { a: 1 }, name: "a_1", expireAfterSeconds: 60 },
  ]);
  expect(await refusal(c.createIndex({ a: 1 }, { name: "other", expireAfterSeconds: 60 }))).toEqual([
    85,
    "IndexOptionsConflict",
  ]);
  expect(await refusal(c.createIndex({ a: 1 }, { unique: true }))).toEqual([86, "IndexKeySpecsConflict"]);
  expect(await refusal(c.createIndex({ a: "text" }))).toEqual([67, "CannotCreateIndex"]);
  expect(await refusal(c.createIndex({ a: 1, b: 1 }, { expireAfterSeconds: 1 }))).toEqual([67, "CannotCreateIndex"]);
  expect(await refusal(c.createIndex({ z: 1 }, { partialFilterExpression: { z: { $ne: 1 } } }))).toEqual([
    67,
    "CannotCreateIndex",
  ]);
  expect(await refusal(c.createIndex({ z: 1 }, { collation: { locale: "en" } }))).toEqual([115, "CommandNotSupported"]);
  await c.dropIndex("a_1");
  expect(await refusal(c.dropIndex("a_1"))).toEqual([27, "IndexNotFound"]);
  expect(await refusal(c.dropIndex("_id_"))).toEqual([72, "InvalidOptions"]);
  expect(await refusal(t.client.db("test").collection("none").indexes())).toEqual([26, "NamespaceNotFound"]);
});

test("TTL indexes remove what has expired, and nothing else", async () => {
  const store = await startStore({ dir: ":memory:", port: 0, sweepEveryMs: 20 });
  const client = await new MongoClient(store.url).connect();
  const c = client.db("ttl").collection<Document>("c");
  await c.createIndex({ at: 1 }, { expireAfterSeconds: 3600 });
  await c.insertMany([
    { _id: 1, at: new Date(0) },
    { _id: 2, at: new Date() },
    { _id: 3, at: "text" },
    { _id: 4 },
    { _id: 5, at: [new Date(0), new Date()] },
  ] as never);
  await c.insertMany(Array.from({ length: 2500 }, () => ({ at: new Date(1) })));
  const deadline = Date.now() + 5000;
  while ((await c.countDocuments()) > 3 && Date.now() < deadline)
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  expect((await c.find().sort({ _id: 1 }).toArray()).map((d) => d["_id"])).toEqual([2, 3, 4]);
  await client.close();
  await store.close();
});
