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

const refused: [string, Document, Document | Document[], number, string, Document?][] = [
  ...["_id", "a.0", "a.0.b"].map((from): [string, Document, Document, number, string] => [
    `$rename of ${from}`,
    { a: [{ b: 1 }] },
    { $rename: { [from]: "x" } },
    from === "_id" ? 66 : 2,
    from === "_id" ? "ImmutableField" : "BadValue",
  ]),
  ["$rename to _id", { a: 5 }, { $rename: { a: "_id" } }, 66, "ImmutableField"],
  ["$rename into an array", { a: 1, b: [1] }, { $rename: { a: "b.0" } }, 2, "BadValue"],
  ["$rename to no name", { a: 1 }, { $rename: { a: "b." } }, 56, "EmptyFieldName"],
  ["$rename through a scalar", { a: 1 }, { $rename: { "a.b": "c" } }, 28, "PathNotViable"],
  ["$unset of _id", {}, { $unset: { _id: "" } }, 66, "ImmutableField"],
  ...[{ $ne: 7 }, { $nin: [7] }, { $not: { $gt: 7 } }, { $exists: true }, { $size: 2 }].map(
    (a): [string, Document, Document, number, string, Document] => [
      `positional after ${JSON.stringify(a)}, which no element met`,
      { a: [1, 2] },
      { $set: { "a.$": 0 } },
      2,
      "BadValue",
      { a },
    ],
  ),
  ["unknown operator", {}, { $sett: { a: 1 } }, 9, "FailedToParse"],
  ["changing _id", {}, { $set: { _id: 2 } }, 66, "ImmutableField"],
  ["two on one path", {}, { $set: { a: 1 }, $inc: { "a.b": 1 } }, 40, "ConflictingUpdateOperators"],
  ["through a scalar", { a: 1 }, { $set: { "a.b": 1 } }, 28, "PathNotViable"],
  ["$inc of text", { a: "x" }, { $inc: { a: 1 } }, 14, "TypeMismatch"],
  ["$push to a number", { a: 1 }, { $push: { a: 1 } }, 2, "BadValue"],
  ["unknown clause of $push", {}, { $push: { a: { $each: [1], $sorted: 1 } } }, 2, "BadValue"],
  ["positional without a match", { a: [1] }, { $set: { "a.$": 1 } }, 2, "BadValue"],
  ["unknown array filter", { a: [1] }, { $set: { "a.$[x]": 1 } }, 2, "BadValue"],
  ["an empty path", {}, { $set: { "a..b": 1 } }, 56, "EmptyFieldName"],
  ["a $ field", {}, { $set: { "a.$b": 1 } }, 52, "DollarPrefixedFieldName"],
  ["a stage that is none of an update's", {}, [{ $match: {} }], 72, "InvalidOptions"],
  ["an unknown expression", {}, [{ $set: { a: { $nope: 1 } } }], 168, "Location168"],
];

test.each(refused)("refused: %s", async (_name, doc, update, code, codeName, query = {}) => {
  const c = await t.fresh([{ _id: 1, ...doc }]);
  const [got, name] = await refusal(t.client.db("test").command({ findAndModify: c.collectionName, query, update }));
  expect(got).toBe(code);
  expect(name === codeName || code === 168).toBe(true);
  expect(await c.findOne()).toEqual({ _id: 1, ...doc });
});

test("documents that cannot be stored are refused", async () => {
  const c = await t.fresh();
  for (const [doc, code] of [
    [{ _id: [1] }, 53],
    [{ _id: /a/ }, 53],
    [{ _id: { $a: 1 } }, 52],
  ] as const)
    expect((await refusal(c.insertOne(doc as never)))[0]).toBe(code);
  expect((await refusal(t.client.db("test").collection("a$b").insertOne({})))[0]).toBe(73);
  await c.insertOne({ _id: 1 as never, "a.b": 1, $c: { "d.e": 1 } });
  expect(await c.findOne()).toEqual({ _id: 1, "a.b": 1, $c: { "d.e": 1 } });
  await c.insertOne({ _id: 2 as never, half: "x".repeat(9_000_000) });
  const [code] = await refusal(
    c.updateOne({ _id: 2 as never }, [{ $set: { twice: { $concat: ["$half", "$half"] } } }]),
  );
  expect(code).toBe(10334);
});
