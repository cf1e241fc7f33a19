import type { Document } from "mongodb";
import { refusal, storeUnderTest, type StoreUnderTest } from "./fixtures/store-under-test.ts";

let t: StoreUnderTest;
beforeAll(async () => {
  t = await storeUnderTest();
});
afterAll(async () => {
  await t.stop();
});

const calls = [
  { _id: 1, who: "a", s: 10, tags: ["x", "y"], at: new Date("2026-01-01T10:00:00Z") },
  { _id: 2, who: "a", s: 30, tags: [], at: new Date("2026-01-02T10:00:00Z") },
  { _id: 3, who: "b", s: 20, tags: ["x"], at: new Date("2026-01-02T11:00:00Z") },
  { _id: 4, who: null, s: null, at: new Date("2026-01-03T00:00:00Z") },
  { _id: 5, s: 5.5, tags: "x" },
];

const pipelines: [string, Document[], Document[]][] = [
  [
    "$match, $sort, $limit, $project",
    [{ $match: { s: { $gt: 5 } } }, { $sort: { s: -1 } }, { $limit: 2 }, { $project: { s: 1 } }],
    [
      { _id: 2, s: 30 },
      { _id: 3, s: 20 },
    ],
  ],
  [
    "$group: null and missing are one",
    [
      {
        $group: {
          _id: "$who",
          n: { $sum: 1 },
          s: { $sum: "$s" },
          avg: { $avg: "$s" },
          min: { $min: "$s" },
          max: { $max: "$s" },
          first: { $first: "$_id" },
          all: { $push: "$s" },
        },
      },
      { $sort: { _id: 1 } },
    ],
    [
      { _id: null, n: 2, s: 5.5, avg: 5.5, min: 5.5, max: 5.5, first: 4, all: [null, 5.5] },
      { _id: "a", n: 2, s: 40, avg: 20, min: 10, max: 30, first: 1, all: [10, 30] },
      { _id: "b", n: 1, s: 20, avg: 20, min: 20, max: 20, first: 3, all: [20] },
    ],
  ],
  [
    "$group by expression, $addToSet, $count, $last, $mergeObjects",
    [
      { $match: { at: { $exists: true } } },
      {
        $group: {
          _id: { $dateToString: { date: "$at", format: "%Y-%m-%d" } },
          who: { $addToSet: "$who" },
          n: { $count: {} },
          last: { $last: "$s" },
          ids: { $mergeObjects: { last: "$_id" } },
        },
      },
      { $sort: { _id: 1 } },
    ],
    [
      { _id: "2026-01-01", who: ["a"], n: 1, last: 10, ids: { last: 1 } },
      { _id: "2026-01-02", who: ["a", "b"], n: 2, last: 20, ids: { last: 3 } },
      { _id: "2026-01-03", who: [null], n: 1, last: null, ids: { last: 4 } },
    ],
  ],
  [
    "$unwind",
    [{ $unwind: "$tags" }, { $project: { tags: 1 } }],
    [
      { _id: 1, tags: "x" },
      { _id: 1, tags: "y" },
      { _id: 3, tags: "x" },
      { _id: 5, tags: "x" },
    ],
  ],
  [
    "$unwind keeping and counting",
    [
      { $match: { _id: { $in: [1, 2, 4] } } },
      { $unwind: { path: "$tags", preserveNullAndEmptyArrays: true, includeArrayIndex: "i" } },
      { $project: { tags: 1, i: 1 } },
    ],
    [
      { _id: 1, tags: "x", i: 0 },
      { _id: 1, tags: "y", i: 1 },
      { _id: 2, i: null },
      { _id: 4, i: null },
    ],
  ],
  ["$count", [{ $match: { who: "a" } }, { $count: "n" }], [{ n: 2 }]],
  ["$count of nothing", [{ $match: { who: "zz" } }, { $count: "n" }], []],
  ["$sortByCount", [{ $sortByCount: "$who" }, { $limit: 1 }], [{ _id: "a", count: 2 }]],
  [
    "$facet",
    [{ $facet: { n: [{ $count: "n" }], top: [{ $sort: { s: -1 } }, { $limit: 1 }, { $project: { _id: 1 } }] } }],
    [{ n: [{ n: 5 }], top: [{ _id: 2 }] }],
  ],
  [
    "$addFields, $set, $unset, $replaceRoot",
    [
      { $match: { _id: 1 } },
      { $addFields: { "d.x": { $add: ["$s", 1] }, who: "$$REMOVE" } },
      { $unset: ["tags", "at"] },
      { $replaceRoot: { newRoot: { $mergeObjects: ["$$ROOT", { z: 1 }] } } },
    ],
    [{ _id: 1, s: 10, d: { x: 11 }, z: 1 }],
  ],
  [
    "$sample, $skip",
    [{ $match: { who: "a" } }, { $sample: { size: 5 } }, { $sort: { _id: 1 } }, { $skip: 1 }, { $project: { _id: 1 } }],
    [{ _id: 2 }],
  ],
];

test.each(pipelines)("%s", async (_name, pipeline, expected) => {
  const c = await t.fresh(calls);
  expect(await c.aggregate(pipeline).toArray()).toEqual(expected);
});

test("$lookup by field, by pipeline, and through an index; $unionWith", async () => {
  const c = await t.fresh([{ _id: 1, team: "a" }, { _id: 2, team: ["a", "b"] }, { _id: 3 }]);
  const teams = await t.fresh([
    { _id: "a", size: 3 },
    { _id: "b", size: 5 },
    { _id: "n", key: null },
  ]);
  const from = teams.collectionName;
  expect(
    await c
      .aggregate([
        { $lookup: { from, localField: "team", foreignField: "_id", as: "t" } },
        { $project: { t: "$t._id" } },
      ])
      .toArray(),
  ).toEqual([
    { _id: 1, t: ["a"] },
    { _id: 2, t: ["a", "b"] },
    { _id: 3, t: [] },
  ]);
  expect(
    await c
      .aggregate([
        { $match: { _id: 1 } },
        {
          $lookup: {
            from,
            let: { team: "$team" },
            pipeline: [{ $match: { $expr: { $eq: ["$_id", "$$team"] } } }, { $project: { _id: 0, size: 1 } }],
            as: "t.found",
          },
        },
      ])
      .toArray(),
  ).toEqual([{ _id: 1, team: "a", t: { found: [{ size: 3 }] } }]);
  expect(
    await c
      .aggregate([
        { $match: { _id: 1 } },
        { $project: { _id: 1 } },
        { $unionWith: { coll: from, pipeline: [{ $match: { size: 5 } }, { $project: { _id: 1 } }] } },
      ])
      .toArray(),
  ).toEqual([{ _id: 1 }, { _id: "b" }]);
});

test("$out and $merge write and give nothing back", async () => {
  const c = await t.fresh([
    { _id: 1, v: 1 },
    { _id: 2, v: 2 },
  ]);
  const out = await t.fresh([{ _id: 9, old: true }]);
  await out.createIndex({ v: 1 }, { unique: true });
  expect(await c.aggregate([{ $set: { seen: true } }, { $out: out.collectionName }]).toArray()).toEqual([]);
  expect(await out.find().toArray()).toEqual([
    { _id: 1, v: 1, seen: true },
    { _id: 2, v: 2, seen: true },
  ]);
  expect((await out.indexes()).map((i) => i["name"])).toEqual(["_id_", "v_1"]);
  expect(
    await refusal(c.aggregate([{ $project: { v: { $literal: 1 } } }, { $out: out.collectionName }]).toArray()),
  ).toEqual([11000, "DuplicateKey"]);
  expect(await out.countDocuments()).toBe(2);
  await c
    .aggregate([
      { $project: { extra: "$v" } },
      { $set: { _id: { $add: ["$_id", 1] } } },
      { $merge: { into: out.collectionName, whenMatched: "merge", whenNotMatched: "insert" } },
    ])
    .toArray();
  expect(await out.find().toArray()).toEqual([
    { _id: 1, v: 1, seen: true },
    { _id: 2, v: 2, seen: true, extra: 1 },
    { _id: 3, extra: 2 },
  ]);
});

test("the rate limiter of one document grants at most N in any window, by the server's clock", async () => {
  const c = await t.fresh();
  const [N, W] = [5, 60_000];
  await c.insertOne({ _id: "rl" as never, ring: Array.from({ length: N }, () => new Date(0)) });
  const take = (k: number): Promise<Document | null> =>
    c.findOneAndUpdate(
      { _id: "rl" as never, $expr: { $lte: [{ $arrayElemAt: ["$ring", k - 1] }, { $subtract: ["$$NOW", W] }] } },
      [
        { $set: { t: { $max: ["$$NOW", { $last: "$ring" }] } } },
        {
          $set: {
            ring: { $concatArrays: [{ $slice: ["$ring", k, N] }, { $map: { input: { $range: [0, k] }, in: "$t" } }] },
          },
        },
      ],
      { returnDocument: "after" },
    );
  const granted = await Promise.all(Array.from({ length: 12 }, () => take(1)));
  expect(granted.filter((g) => g !== null).length).toBe(N);
  const ring = (await c.findOne())?.["ring"] as Date[];
  expect(ring.length).toBe(N);
  expect(ring.every((d, i) => d.getTime() > Date.now() - W && (i === 0 || d >= (ring[i - 1] ?? d)))).toBe(true);
  expect(await take(2)).toBeNull();
});

const refused: [Document[], number][] = [
  [[{ $nope: {} }], 40324],
  [[{ $match: { a: { $foo: 1 } } }], 2],
  [[{ $match: { $foo: 1 } }], 2],
  [[{ $project: { a: { $nope: 1 } } }], 168],
  [[{ $group: { _id: 1, a: { $nope: 1 } } }], 15952],
  [[{ $group: { a: { $sum: 1 } } }], 15955],
  [[{ $project: { a: 1, b: 0 } }], 31254],
  [[{ $project: { a: "$$undefinedVariable" } }], 17276],
  [[{ $match: { a: 1 }, $limit: 1 }], 40323],
  [[{ $lookup: { from: "a", localField: "b", foreignField: "$c", as: "d" } }], 16410],
  [[{ $lookup: { from: "a", localField: "b", foreignField: "c", as: "d." } }], 40353],
  [[{ $lookup: { from: "a", let: 1, pipeline: [], as: "d" } }], 14],
  [[{ $unwind: "$$ROOT" }], 16410],
  [[{ $unwind: { path: "$a", includeArrayIndex: "b..c" } }], 15998],
  [[{ $set: { "a.": 1 } }], 40353],
  [[{ $facet: { "a.b": [] } }], 16412],
  [[{ $facet: { a: [{ $facet: { b: [] } }] } }], 40600],
  [[{ $count: "$a" }], 40158],
  [[{ $sample: { size: 1, bogus: 1 } }], 28748],
  [[{ $replaceRoot: { newRoot: "$a", old: 1 } }], 40415],
  [[{ $changeStream: {} }], 115],
  [[{ $geoNear: {} }], 115],
  [[{ $out: "x" }, { $match: {} }], 40601],
  [[{ $project: { a: { $add: ["$x", "text"] } } }], 14],
  [[{ $project: { a: { $divide: [1, 0] } } }], 2],
  [[{ $match: { $where: "1" } }], 115],
  [[{ $lookup: { from: "a", as: "b", bogus: 1 } }], 40415],
  [[{ $limit: 0 }], 15958],
  [[{ $bucket: { groupBy: "$x", boundaries: [0, 2] } }], 115],
  [[{ $setWindowFields: {} }], 115],
  [[{ $group: { _id: 1, a: { $median: {} } } }], 115],
  [[{ $group: { _id: 1, a: { $sum: [1] } } }], 40237],
  [[{ $project: { a: { $dateAdd: { startDate: new Date(0), unit: "day", amount: 1 } } } }], 115],
  [[{ $project: { a: { $add: [1], b: 2 } } }], 15983],
];
test.each(refused)("refused: %j", async (pipeline, code) => {
  const c = await t.fresh([{ x: 1 }]);
  expect((await refusal(c.aggregate(pipeline).toArray()))[0]).toBe(code);
});

test("what a stage keeps is bounded, and so is what joins one document", async () => {
  const c = await t.fresh(Array.from({ length: 1200 }, (_, _id) => ({ _id, all: 1, text: "x".repeat(100_000) })));
  const from = c.collectionName;
  expect(await refusal(c.aggregate([{ $group: { _id: null, all: { $push: "$text" } } }]).toArray())).toEqual([
    292,
    "QueryExceededMemoryLimitNoDiskUseAllowed",
  ]);
  expect((await refusal(c.aggregate([{ $skip: 1 }, { $sort: { all: 1 } }]).toArray()))[0]).toBe(292);
  const joined = { from, localField: "all", foreignField: "all", as: "joined" };
  expect((await refusal(c.aggregate([{ $limit: 1 }, { $lookup: joined }]).toArray()))[0]).toBe(4568);
  // What is not kept may be any number of documents.
  expect(
    await c.aggregate([{ $group: { _id: "$all", n: { $sum: 1 }, one: { $last: "$text" } } }]).toArray(),
  ).toHaveLength(1);
});
