import { readFileSync } from "node:fs";
import { EJSON, deserialize, serialize } from "bson";
import type { Document } from "mongodb";
import { EXPRESSIONS } from "../../../local/store/expressions/expression-table.ts";
import { ACCUMULATORS } from "../../../local/store/expressions/accumulators.ts";
import { STAGES } from "../../../local/store/pipeline/pipeline.ts";
import { ARRAY_ROWS } from "./fixtures/expressions/array-rows.ts";
import { NUMBER_ROWS } from "./fixtures/expressions/number-rows.ts";
import { Refused, SUBJECT } from "./fixtures/expressions/row.ts";
import { TEXT_ROWS } from "./fixtures/expressions/text-rows.ts";
import { refusal, storeUnderTest, type StoreUnderTest } from "./fixtures/store-under-test.ts";

const ROWS = [...NUMBER_ROWS, ...ARRAY_ROWS, ...TEXT_ROWS];

let t: StoreUnderTest;
beforeAll(async () => {
  t = await storeUnderTest();
});
afterAll(async () => {
  await t.stop();
});

const evaluated = async (expr: Document): Promise<Document> => {
  const pipeline = [{ $documents: [{ $literal: SUBJECT }] }, { $replaceWith: { v: expr } }];
  const [doc] = await t.client.db("test").aggregate(pipeline, { promoteValues: false }).toArray();
  return doc ?? {};
};
/** The code alone: the error too comes with its BSON types. */
const codeOf = async (work: Promise<unknown>): Promise<number> => Number((await refusal(work))[0]);
/** A document with the BSON type of each value written out. */
const typed = (doc: Document): string => EJSON.stringify(doc, { relaxed: false });
const asStored = (doc: Document): Document =>
  deserialize(serialize(doc, { ignoreUndefined: true }), { promoteValues: false });

test.each(ROWS)("%s of %j", async (operator, argument, expected) => {
  const work = evaluated({ [operator]: argument });
  if (expected instanceof Refused) expect(await codeOf(work)).toBe(expected.code);
  else expect(typed(await work)).toBe(typed(asStored({ v: expected })));
});

test("every operator of the store has a row", () => {
  const tested = new Set(ROWS.map(([operator]) => operator));
  expect([...EXPRESSIONS.keys()].filter((name) => !tested.has(name))).toEqual([]);
});

test.each([
  ["stages", STAGES],
  ["accumulators", [...ACCUMULATORS.keys()]],
  ["expressions", [...EXPRESSIONS.keys()]],
])("README lists the %s of the store", (row, names) => {
  const readme = readFileSync(new URL("../../../local/store/README.md", import.meta.url), "utf8");
  const line = readme.split("\n").find((l) => l.startsWith(`| ${row} |`)) ?? "";
  expect((line.match(/\$\w+/gu) ?? []).sort()).toEqual([...names].sort());
});

const paths: [unknown, unknown][] = [
  ["$sub.a", 1],
  ["$docs.v", [1, 2]],
  ["$list.v", []],
  ["$list.0", []],
  ["$$ROOT.sub.a", 1],
  ["$$CURRENT.nil", null],
  ["$$REMOVE", undefined],
  [
    { a: "$_id", b: ["$none", { c: "$none" }] },
    { a: 1, b: [null, {}] },
  ],
];
test.each(paths)("path %j", async (expr, expected) => {
  expect(typed(await evaluated(expr as Document))).toBe(typed(asStored({ v: expected })));
});

const malformed: [unknown, number][] = [
  ["$", 16872],
  ["$a.", 40353],
  ["$a..b", 15998],
  ["$$nothing", 17276],
  [{ "a.b": 1 }, 16412],
  [{ $add: [1], $subtract: [1, 1] }, 15983],
  [{ $nope: 1 }, 168],
  [{ $regexMatch: { input: "a", regex: "a" } }, 115],
  [{ $function: {} }, 115],
];
test.each(malformed)("refused: %j", async (expr, code) => {
  expect(await codeOf(evaluated(expr as Document))).toBe(code);
});

/** `n` times the pair of what was there: a value of two to the `n` parts that takes no more memory than `n` pairs. */
const doubled = (n: number): Document => ({
  $reduce: { input: { $range: [0, n] }, initialValue: 1, in: ["$$value", "$$value"] },
});

const endless: [string, Document, number][] = [
  ["a value that holds another twice, over and over", doubled(100), 10_334],
  ["two such values compared", { $eq: [doubled(60), doubled(60)] }, 10_334],
  ["a set of such values", { $setUnion: [[doubled(60)], [doubled(60)]] }, 10_334],
  ["nesting without end", { $reduce: { input: { $range: [0, 500] }, initialValue: 1, in: ["$$value"] } }, 15],
  [
    "text that doubles",
    { $reduce: { input: { $range: [0, 60] }, initialValue: "x", in: { $concat: ["$$value", "$$value"] } } },
    10_334,
  ],
  [
    "loops in loops",
    {
      $map: {
        input: { $range: [0, 100_000] },
        in: { $size: { $map: { input: { $range: [0, 100_000] }, in: "$$this" } } },
      },
    },
    50,
  ],
];
test.each(endless)("ends: %s", async (_name, expr, code) => {
  expect(await codeOf(evaluated(expr))).toBe(code);
});
