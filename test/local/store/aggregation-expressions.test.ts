import type { Document } from "mongodb";
import { Decimal128, Double, Long } from "mongodb";
import { storeUnderTest, type StoreUnderTest } from "./fixtures/store-under-test.ts";

let t: StoreUnderTest;
beforeAll(async () => {
  t = await storeUnderTest();
});
afterAll(async () => {
  await t.stop();
});

const json = (text: string): Document => JSON.parse(text) as Document;

const expressions: [Document | string, unknown][] = [
  [{ $add: ["$i", "$l"] }, 3],
  [{ $add: ["$date", 1000] }, new Date(2000)],
  [{ $subtract: ["$date", "$date"] }, 0],
  [{ $subtract: ["$$NOW", "$$NOW"] }, 0],
  [{ $multiply: ["$i", 2.5] }, 2.5],
  [{ $divide: [7, 2] }, 3.5],
  [{ $mod: ["$l", 2] }, 0],
  [{ $eq: ["$i", "$one"] }, true],
  [{ $eq: ["$none", null] }, false],
  [{ $lt: ["$none", null] }, true],
  [{ $lte: ["$none", "$date"] }, true],
  [{ $gt: ["$text", "$i"] }, true],
  [{ $cmp: ["$i", "$l"] }, -1],
  [{ $ne: ["$dec", 1.5] }, false],
  [{ $and: [1, "$one"] }, true],
  [{ $or: ["$zero", null] }, false],
  [{ $not: ["$zero"] }, true],
  [{ $cond: ["$zero", "yes", "no"] }, "no"],
  [json('{"$cond":{"if":"$i","then":"yes","else":"no"}}'), "yes"],
  [{ $ifNull: ["$none", "$nil", "x"] }, "x"],
  [json('{"$switch":{"branches":[{"case":{"$gt":["$i",5]},"then":"big"}],"default":"small"}}'), "small"],
  [{ $arrayElemAt: ["$list", -1] }, 3],
  [{ $first: "$list" }, 1],
  [{ $last: "$list" }, 3],
  [{ $slice: ["$list", 1, 5] }, [2, 3]],
  [{ $slice: ["$list", -2] }, [2, 3]],
  [{ $size: "$list" }, 3],
  [{ $in: ["$one", "$list"] }, true],
  [{ $concatArrays: ["$list", [4]] }, [1, 2, 3, 4]],
  [{ $map: { input: "$list", as: "n", in: { $multiply: ["$$n", 2] } } }, [2, 4, 6]],
  [{ $map: { input: { $range: [0, 2] }, in: "$text" } }, ["abc", "abc"]],
  [{ $filter: { input: "$list", as: "n", cond: { $gte: ["$$n", 2] } } }, [2, 3]],
  [{ $reduce: { input: "$list", initialValue: 0, in: { $add: ["$$value", "$$this"] } } }, 6],
  [{ $range: [0, "$l"] }, [0, 1]],
  [{ $reverseArray: "$list" }, [3, 2, 1]],
  [{ $max: ["$i", "$l", "$none"] }, 2],
  [{ $max: ["$date", { $last: "$dates" }] }, new Date(3000)],
  [{ $min: "$list" }, 1],
  [{ $sum: ["$i", "$l", "x"] }, 3],
  [{ $sum: "$list" }, 6],
  [{ $avg: "$list" }, 2],
  [{ $concat: ["$text", "-", "d"] }, "abc-d"],
  [{ $toUpper: "$text" }, "ABC"],
  [{ $substrCP: ["$text", 1, "$one"] }, "b"],
  [{ $split: ["a,b", ","] }, ["a", "b"]],
  [{ $strLenCP: "$text" }, 3],
  [{ $regexMatch: { input: "$text", regex: "^A", options: "i" } }, true],
  [{ $toString: "$i" }, "1"],
  [{ $toInt: "12" }, 12],
  [{ $toString: "$oid" }, "0123456789abcdef01234567"],
  [{ $toDate: 1000 }, new Date(1000)],
  [{ $type: "$l" }, "long"],
  [{ $type: "$one" }, "double"],
  [{ $type: "$i" }, "int"],
  [{ $type: "$none" }, "missing"],
  [{ $type: "$dec" }, "decimal"],
  [{ $type: "$oid" }, "objectId"],
  [{ $isArray: "$list" }, true],
  [{ $let: { vars: { x: 2 }, in: { $add: ["$$x", 1] } } }, 3],
  [{ $literal: "$i" }, "$i"],
  [{ $objectToArray: "$sub" }, [{ k: "a", v: 1 }]],
  [{ $arrayToObject: [[["k", 1]]] }, { k: 1 }],
  [{ $mergeObjects: ["$sub", { b: 2 }] }, { a: 1, b: 2 }],
  [{ $year: "$date" }, 1970],
  [{ $dateAdd: { startDate: "$date", unit: "second", amount: "$one" } }, new Date(2000)],
  [{ $setUnion: ["$list", [3, 4]] }, [1, 2, 3, 4]],
  [{ $round: ["$frac", 1] }, 2.3],
  [{ $floor: "$frac" }, 2],
  [{ $abs: -3 }, 3],
  [{ $dateTrunc: { date: "$date", unit: "day" } }, new Date(0)],
  ["$sub.a", 1],
  ["$docs.v", [1, 2]],
  [
    { a: "$i", b: ["$text"] },
    { a: 1, b: ["abc"] },
  ],
  [{ $indexOfArray: ["$list", 2] }, 1],
  [{ $setField: { field: "b", input: "$sub", value: 1 } }, { a: 1, b: 1 }],
  [{ $getField: { field: "a", input: "$sub" } }, 1],
  [{ $sortArray: { input: [3, 1, 2], sortBy: 1 } }, [1, 2, 3]],
  [
    {
      $zip: {
        inputs: [
          [1, 2],
          ["a", "b"],
        ],
      },
    },
    [
      [1, "a"],
      [2, "b"],
    ],
  ],
  [{ $dateDiff: { startDate: "$date", endDate: new Date(61_000), unit: "minute" } }, 1],
  [{ $trim: { input: " a " } }, "a"],
  [{ $replaceAll: { input: "$text", find: "b", replacement: "x" } }, "axc"],
  [{ $pow: [2, "$l"] }, 4],
  [{ $allElementsTrue: [["$one", true]] }, true],
];

test.each(expressions)("expression %j", async (expr, expected) => {
  const c = await t.fresh();
  await c.insertOne({
    i: 1,
    one: new Double(1),
    zero: new Double(0),
    l: Long.fromNumber(2),
    frac: 2.345,
    dec: Decimal128.fromString("1.5"),
    text: "abc",
    nil: null,
    date: new Date(1000),
    dates: [new Date(2000), new Date(3000)],
    list: [1, 2, 3],
    sub: { a: 1 },
    docs: [{ v: 1 }, { v: 2 }, {}],
    oid: { $literal: 0 },
  });
  await c.updateOne({}, [{ $set: { oid: { $toObjectId: "0123456789abcdef01234567" } } }]);
  const [doc] = await c.aggregate([{ $project: { _id: 0, v: expr } }]).toArray();
  expect(doc).toEqual({ v: expected });
});
