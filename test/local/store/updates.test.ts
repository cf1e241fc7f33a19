import { serialize } from "bson";
import type { Document } from "mongodb";
import { Decimal128, Double, Int32, Long, ObjectId } from "mongodb";
import { storeUnderTest } from "./fixtures/store-under-test.ts";
import type { StoreUnderTest } from "./fixtures/store-under-test.ts";

let t: StoreUnderTest;
beforeAll(async () => {
  t = await storeUnderTest();
});
afterAll(async () => {
  await t.stop();
});

const updates: [string, Document, Document, Document, Document?][] = [
  ["$set", { a: 1 }, { $set: { a: 2, "b.c": 3 } }, { a: 2, b: { c: 3 } }],
  ["new fields in the order of their names", {}, { $set: { z: 1, b: 1 }, $inc: { m: 1 } }, { b: 1, m: 1, z: 1 }],
  ["$unset", { a: 1, b: [1, 2] }, { $unset: { a: "", "b.0": "", none: "" } }, { b: [null, 2] }],
  ["$inc", { a: 1, b: 1.5 }, { $inc: { a: 2, b: 1, c: -1 } }, { a: 3, b: 2.5, c: -1 }],
  ["$mul", { a: 3 }, { $mul: { a: 2, b: 7 } }, { a: 6, b: 0 }],
  ["$min and $max", { a: 5, b: 5 }, { $min: { a: 3, c: 1 }, $max: { b: 3 } }, { a: 3, b: 5, c: 1 }],
  ["$rename", { a: 1, b: 2 }, { $rename: { a: "n.x" } }, { b: 2, n: { x: 1 } }],
  ["$push", { a: [1] }, { $push: { a: 2, b: "x" } }, { a: [1, 2], b: ["x"] }],
  [
    "$push with all clauses",
    { a: [5, 1] },
    { $push: { a: { $each: [3, 4], $position: 0, $sort: -1, $slice: 3 } } },
    { a: [5, 4, 3] },
  ],
  [
    "$push sorting by a field",
    { a: [{ n: 2 }] },
    { $push: { a: { $each: [{ n: 1 }], $sort: { n: 1 }, $slice: -5 } } },
    { a: [{ n: 1 }, { n: 2 }] },
  ],
  ["$addToSet", { a: [1, { x: 1 }] }, { $addToSet: { a: { $each: [1, { x: 1 }, 2] } } }, { a: [1, { x: 1 }, 2] }],
  ["$pop", { a: [1, 2, 3], b: [1, 2] }, { $pop: { a: 1, b: -1 } }, { a: [1, 2], b: [2] }],
  [
    "$pull of a value, a condition, a document",
    { a: [1, 2, 1], b: [1, 5, 9], c: [{ k: 1, v: 2 }, { k: 2 }] },
    { $pull: { a: 1, b: { $gte: 5 }, c: { k: 1 } } },
    { a: [2], b: [1], c: [{ k: 2 }] },
  ],
  ["$pullAll", { a: [1, 2, 3, 1] }, { $pullAll: { a: [1, 3] } }, { a: [2] }],
  ["$bit", { a: 13 }, { $bit: { a: { and: 10 }, b: { or: 5 } } }, { a: 8, b: 5 }],
  ["an element by its place", { a: [1, 2] }, { $set: { "a.1": 9, "a.3": 4 } }, { a: [1, 9, null, 4] }],
  [
    "the matched element",
    { a: [{ k: 1 }, { k: 2 }] },
    { $set: { "a.$.v": 7 } },
    { a: [{ k: 1 }, { k: 2, v: 7 }] },
    { "a.k": 2 },
  ],
  [
    "the matched element of $elemMatch",
    { a: [1, 6, 8] },
    { $inc: { "a.$": 100 } },
    { a: [1, 106, 8] },
    { a: { $elemMatch: { $gt: 5, $lt: 7 } } },
  ],
  [
    "the element of the clause of $or that the document meets",
    { a: [2, 1] },
    { $set: { "a.$": 9 } },
    { a: [2, 9] },
    { $or: [{ a: 1 }, { a: 2 }] },
  ],
  [
    "$pull of arrays in an array",
    { a: [[1], [1, 2], 3], b: [[1, 5], [2]] },
    { $pull: { a: { $size: 2 }, b: { $all: [1, 5] } } },
    { a: [[1], 3], b: [[2]] },
  ],
  ["$push sorting arrays", { a: [[3, 1]] }, { $push: { a: { $each: [[2]], $sort: 1 } } }, { a: [[2], [3, 1]] }],
  ["all elements", { a: [1, 2] }, { $inc: { "a.$[]": 1 } }, { a: [2, 3] }],
  [
    "a pipeline",
    { a: 2 },
    [{ $set: { b: { $multiply: ["$a", 3] }, "c.d": "$a" } }, { $unset: "a" }] as never,
    { b: 6, c: { d: 2 } },
  ],
  ["a replacement", { a: 1, b: 2 }, { c: 3 }, { c: 3 }],
];

test.each(updates)("update: %s", async (_name, before, update, after, filter = {}) => {
  const c = await t.fresh([{ _id: 1, ...before }]);
  const replaces = !Array.isArray(update) && !Object.keys(update)[0]?.startsWith("$");
  const result = replaces ? await c.replaceOne(filter, update) : await c.updateOne(filter, update);
  expect(result).toMatchObject({ matchedCount: 1, modifiedCount: 1 });
  const doc = await c.findOne({});
  expect(doc).toEqual({ _id: 1, ...after });
  expect(Object.keys(doc ?? {})).toEqual(["_id", ...Object.keys(after)]);
});

test("array filters, one and nested", async () => {
  const c = await t.fresh([
    {
      _id: 1,
      y: [
        { b: 3, c: [{ d: 1 }, { d: 2 }] },
        { b: 1, c: [{ d: 1 }] },
      ],
    },
  ]);
  await c.updateOne({}, { $set: { "y.$[i].c.$[j].d": 0 } }, { arrayFilters: [{ "i.b": { $gte: 2 } }, { "j.d": 1 }] });
  expect(await c.findOne()).toEqual({
    _id: 1,
    y: [
      { b: 3, c: [{ d: 0 }, { d: 2 }] },
      { b: 1, c: [{ d: 1 }] },
    ],
  });
});

test("an update that changes nothing is matched, not modified; updateMany counts", async () => {
  const c = await t.fresh([
    { _id: 1, a: 1 },
    { _id: 2, a: 1 },
    { _id: 3, a: 2 },
  ]);
  expect(await c.updateOne({ _id: 1 as never }, { $set: { a: 1 } })).toMatchObject({
    matchedCount: 1,
    modifiedCount: 0,
  });
  expect(await c.updateMany({}, { $set: { a: 1 } })).toMatchObject({ matchedCount: 3, modifiedCount: 1 });
  expect(await c.deleteMany({ _id: { $gt: 1 } as never })).toMatchObject({ deletedCount: 2 });
  expect(await c.deleteOne({ _id: 7 as never })).toMatchObject({ deletedCount: 0 });
});

test("number types stay what they were and grow as MongoDB's do", async () => {
  const c = await t.fresh();
  await c.insertOne({
    _id: 1 as never,
    d: new Double(1),
    l: Long.fromNumber(1),
    i: new Int32(1),
    big: new Int32(2147483647),
    dec: Decimal128.fromString("1.10"),
    touched: 0,
  });
  await c.updateOne({}, { $inc: { touched: 1, big: 1, dec: 1 } });
  await c.updateOne({}, [{ $set: { seen: true, copy: "$d", sum: { $add: ["$l", 1] }, half: { $divide: ["$l", 2] } } }]);
  const doc = await c.findOne({}, { promoteValues: false, promoteLongs: false });
  expect(doc).toMatchObject({
    d: new Double(1),
    l: Long.fromNumber(1),
    i: new Int32(1),
    big: Long.fromNumber(2147483648),
    copy: new Double(1),
    sum: Long.fromNumber(2),
    half: new Double(0.5),
    touched: new Int32(1),
  });
  expect(doc?.["dec"].toString()).toBe("2.10");
});

test("upserts start from the filter's equalities", async () => {
  const c = await t.fresh();
  const one = await c.updateOne(
    { "k.a": 1, b: { $gt: 3 }, c: { $eq: "x" } },
    { $set: { d: 1 }, $setOnInsert: { e: 2 } },
    { upsert: true },
  );
  expect(one).toMatchObject({ matchedCount: 0, upsertedCount: 1 });
  expect(await c.findOne({ _id: one.upsertedId as never })).toEqual({
    _id: expect.any(ObjectId),
    k: { a: 1 },
    c: "x",
    d: 1,
    e: 2,
  });
  await c.updateOne({ "k.a": 1 }, { $set: { d: 2 }, $setOnInsert: { e: 9 } }, { upsert: true });
  expect(await c.countDocuments({ e: 2, d: 2 })).toBe(1);
  expect((await c.replaceOne({ _id: 4 as never }, { x: 1 }, { upsert: true })).upsertedId).toBe(4);
  expect(
    await c.findOneAndUpdate({ _id: 5 as never }, [{ $set: { n: { $add: [1, 1] } } }], {
      upsert: true,
      returnDocument: "after",
    }),
  ).toEqual({ _id: 5, n: 2 });
  expect(await c.findOneAndUpdate({ _id: 6 as never }, { $set: { n: 1 } }, { upsert: true })).toBeNull();
  expect((await c.updateOne({ _id: null as never }, { $unset: { a: "" } }, { upsert: true })).upsertedCount).toBe(1);
});

test("findAndModify: sort, projection, before and after, remove", async () => {
  const c = await t.fresh([
    { _id: 1, n: 3 },
    { _id: 2, n: 1 },
    { _id: 3, n: 2 },
  ]);
  expect(await c.findOneAndUpdate({}, { $inc: { n: 10 } }, { sort: { n: 1 }, projection: { _id: 0, n: 1 } })).toEqual({
    n: 1,
  });
  expect(
    await c.findOneAndUpdate({ n: { $lt: 10 } }, { $inc: { n: 10 } }, { sort: { n: -1 }, returnDocument: "after" }),
  ).toEqual({ _id: 1, n: 13 });
  expect(await c.findOneAndReplace({ _id: 3 as never }, { m: 1 }, { returnDocument: "after" })).toEqual({
    _id: 3,
    m: 1,
  });
  expect(await c.findOneAndDelete({ n: { $exists: true } }, { sort: { n: -1 } })).toEqual({ _id: 1, n: 13 });
  expect(await c.findOneAndDelete({ n: 99 })).toBeNull();
  expect(await c.findOneAndUpdate({ n: 99 }, { $set: { a: 1 } }, { includeResultMetadata: true })).toMatchObject({
    value: null,
    lastErrorObject: { n: 0, updatedExisting: false },
  });
});

test("bulkWrite: ordered ends at the first error, unordered goes on; client.bulkWrite over several collections", async () => {
  const c = await t.fresh([{ _id: 1 }]);
  const ops = [
    { insertOne: { document: { _id: 2 } } },
    { insertOne: { document: { _id: 1 } } },
    { updateOne: { filter: { _id: 2 }, update: { $set: { a: 1 } } } },
    { deleteOne: { filter: { _id: 1 } } },
  ];
  await expect(c.bulkWrite(ops as never, { ordered: true })).rejects.toMatchObject({
    code: 11000,
    result: { insertedCount: 1, matchedCount: 0 },
  });
  await c.deleteOne({ _id: 2 as never });
  await expect(c.bulkWrite(ops as never, { ordered: false })).rejects.toMatchObject({
    code: 11000,
    writeErrors: [expect.objectContaining({ index: 1, code: 11000 })],
    result: { insertedCount: 1, modifiedCount: 1, deletedCount: 1 },
  });
  const other = await t.fresh();
  const result = await t.client.bulkWrite(
    [
      { name: "insertOne", namespace: other.namespace, document: { _id: 1, v: 1 } },
      { name: "updateMany", namespace: other.namespace, filter: {}, update: { $inc: { v: 1 } } },
      { name: "updateOne", namespace: c.namespace, filter: { _id: 50 }, update: { $set: { u: 1 } }, upsert: true },
      { name: "deleteOne", namespace: c.namespace, filter: { _id: 2 } },
    ] as never,
    { verboseResults: true },
  );
  expect(result).toMatchObject({ insertedCount: 1, modifiedCount: 1, upsertedCount: 1, deletedCount: 1 });
  expect(await other.findOne()).toEqual({ _id: 1, v: 2 });
});

test("updateOne and replaceOne with sort, hint, let and comment", async () => {
  const c = await t.fresh([
    { _id: 1, x: 1 },
    { _id: 2, x: 2 },
  ]);
  await c.updateOne({}, { $set: { hit: true } }, { sort: { _id: -1 }, hint: "_id_", comment: "why" });
  expect(await c.findOne({ hit: true })).toMatchObject({ _id: 2 });
  expect(
    await c.updateMany(
      { $expr: { $eq: ["$x", "$$wanted"] } },
      [{ $set: { x: "$$wanted" } }, { $set: { y: "$$wanted" } }],
      { let: { wanted: 1 } },
    ),
  ).toMatchObject({ modifiedCount: 1 });
  expect(await c.findOne({ _id: 1 as never })).toEqual({ _id: 1, x: 1, y: 1 });
});

test("a document that is inserted keeps the order of its fields, also of those named like numbers", async () => {
  const c = await t.fresh();
  const fields = new Map<string, number>([
    ["_id", 1],
    ["b", 2],
    ["10", 3],
    ["0", 4],
  ]);
  await c.insertOne(fields as never);
  const bytes = await c.findOne({}, { raw: true });
  expect(Buffer.from(bytes as never)).toEqual(Buffer.from(serialize(fields)));
});
