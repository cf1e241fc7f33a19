import * as fc from "fast-check";
import type { Collection, Document, Filter, Sort } from "mongodb";
import { boundsOf } from "../../../../local/store/planner/index-bounds.ts";
import { compareBytes } from "../../../../local/store/indexes/byte-order.ts";
import type { Index } from "../../../../local/store/storage/index-table.ts";
import { conjunctsOf } from "../../../../local/store/planner/conjuncts.ts";
import { KeyMaker } from "../../../../local/store/indexes/index-keys.ts";
import { UNLIMITED } from "../../../../local/store/budget.ts";
import { compileFilter } from "../../../../local/store/query/matcher.ts";
import { outOfBounds } from "../../../../local/store/planner/skip-scan.ts";
import type { Doc } from "../../../../local/store/bson/values.ts";
import { storeUnderTest, type StoreUnderTest } from "../fixtures/store-under-test.ts";
import { played } from "../../../fixtures/long-form.ts";

let t: StoreUnderTest;
beforeAll(async () => {
  t = await storeUnderTest();
});
afterAll(async () => {
  await t.stop();
});

const leaf = fc.oneof(
  fc.integer({ min: 0, max: 6 }),
  fc.constantFrom(0.5, "a", "b", "", null, true, new Date(1), new Date(2)),
);
const row = fc.record({ a: leaf, b: leaf, c: leaf, d: leaf }, { requiredKeys: [] });
const number = fc.integer({ min: -1, max: 7 });
const range = fc.oneof(
  fc.tuple(number, number).map(([x, y]) => ({ $gt: Math.min(x, y), $lt: Math.max(x, y) })),
  number.map((v) => ({ $lte: v })),
  number.map((v) => ({ $gte: v })),
  fc.constantFrom({ $gte: "a" }, { $lt: "b" }, { $gt: new Date(1) }, { $lte: new Date(1) }, { $gt: 3, $lt: 3 }),
);
const point = fc.oneof(
  leaf,
  fc.array(leaf, { minLength: 1, maxLength: 4 }).map((v) => ({ $in: v })),
);
const filters = fc.record(
  { a: fc.oneof(point, range), b: fc.oneof(range, point), c: fc.oneof(range, point), d: range },
  { requiredKeys: [] },
);
const direction = fc.constantFrom(1, -1);
const keys = fc.tuple(direction, direction, direction, direction).map(([a, b, c, d]) => ({ a, b, c, d }));
const options = fc.constantFrom(
  {},
  {},
  { partialFilterExpression: { a: { $gte: 1 } } },
  { partialFilterExpression: { b: { $exists: true } } },
);

function indexOn(key: Doc): Index {
  const definition = { name: "x", key, unique: false, sparse: false };
  return { id: 1, definition, keys: new KeyMaker(definition), multikey: false };
}

/** Few values and many rows, so that there is something between two keys that meet a filter. */
const few = fc.oneof({ weight: 5, arbitrary: fc.integer({ min: 0, max: 3 }) }, { weight: 1, arbitrary: leaf });
const dense = fc.array(fc.record({ a: few, b: few, c: few, d: few }), { minLength: 40, maxLength: 120 });
const both = fc.record(
  { a: fc.oneof(point, range), b: fc.oneof(range, point), c: fc.oneof(range, point), d: range },
  { requiredKeys: ["a", "b"] },
);
let stepped = 0;

test("a step over keys passes over none that meets the filter, and always leads on", () => {
  fc.assert(
    fc.property(dense, keys, both, (docs, key, filter) => {
      const index = indexOn(key);
      const bounds = boundsOf(index, conjunctsOf(filter as Doc));
      const test = compileFilter(filter as Doc, { now: new Date(0), variables: {}, budget: UNLIMITED });
      const made = docs
        .map((doc) => ({ key: index.keys.keysOf(doc as Doc).keys[0] ?? new Uint8Array(0), meets: test(doc as Doc) }))
        .sort((x, y) => compareBytes(x.key, y.key));
      const inside = made.filter((m) =>
        bounds.intervals.some(
          (i) => compareBytes(m.key, i.lo) >= 0 && (i.hi === undefined || compareBytes(m.key, i.hi) < 0),
        ),
      );
      for (const reverse of [false, true]) {
        for (const { key: at, meets } of inside) {
          const skip = outOfBounds(at, index.keys.descending, bounds.checks, reverse);
          if (skip === undefined) continue;
          expect(meets).toBe(false);
          const { next } = skip;
          if (next !== undefined)
            expect(compareBytes(next, at) * (reverse ? -1 : 1)).toBeGreaterThanOrEqual(reverse ? 0 : 1);
          const passed = inside.filter((m) =>
            reverse
              ? compareBytes(m.key, at) < 0 && (next === undefined || compareBytes(m.key, next) >= 0)
              : compareBytes(m.key, at) > 0 && (next === undefined || compareBytes(m.key, next) < 0),
          );
          stepped += passed.length;
          expect(passed.filter((m) => m.meets)).toEqual([]);
        }
        const all = conjunctsOf(filter as Doc);
        if (all.every((c) => bounds.exact.has(c)))
          for (const m of inside)
            expect(outOfBounds(m.key, index.keys.descending, bounds.checks, reverse) === undefined).toBe(m.meets);
      }
    }),
    { numRuns: 600 },
  );
  expect(stepped).toBeGreaterThan(400);
});

async function check(
  c: Collection<Document>,
  filter: Filter<Document>,
  key: Document,
  hint: string | undefined,
): Promise<void> {
  const forwards = { ...key, _id: 1 } as Sort;
  const backwards = Object.fromEntries(Object.entries(key).map(([k, v]) => [k, -v]));
  const where = hint === undefined ? {} : { hint };
  for (const sort of [forwards, { ...backwards, _id: -1 } as Sort, backwards as Sort]) {
    const expected = await c
      .find(filter, { hint: { $natural: 1 } })
      .sort(sort)
      .toArray();
    const found = await c.find(filter, where).sort(sort).batchSize(3).toArray();
    const same = (docs: Document[]): unknown[] =>
      sort === backwards
        ? docs.map((d) => [d["a"] ?? null, d["b"] ?? null, d["c"] ?? null, d["d"] ?? null])
        : docs.map((d) => d["_id"]);
    expect({ filter, key, sort, ids: same(found) }).toEqual({ filter, key, sort, ids: same(expected) });
    const [one] = await c.find(filter, where).sort(sort).limit(1).toArray();
    expect({ filter, key, one: same(one === undefined ? [] : [one]) }).toEqual({
      filter,
      key,
      one: same(expected.slice(0, 1)),
    });
  }
  expect({ filter, key, n: await c.countDocuments(filter, where) }).toEqual({
    filter,
    key,
    n: await c.countDocuments(filter, { hint: { $natural: 1 } as never }),
  });
}

/** Hinting a partial index that does not cover a filter is refused, which is no matter of skipping. */
async function hintFor(c: Collection<Document>, filter: Filter<Document>): Promise<string | undefined> {
  return await c
    .find(filter, { hint: "skipped" })
    .limit(1)
    .toArray()
    .then(
      () => "skipped",
      () => undefined,
    );
}

test("random rows, ranges behind ranges, lists and equalities: the same as without an index", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(dense, fc.array(row, { minLength: 1, maxLength: 60 })),
      keys,
      options,
      fc.array(fc.oneof(filters, both), { minLength: 5, maxLength: 5 }),
      async (docs, key, extra, list) => {
        const c = await t.fresh(docs.map((doc, _id) => ({ _id, ...doc })));
        await c.createIndex(key, { name: "skipped", ...extra });
        for (const filter of list)
          await check(c, filter as Filter<Document>, key, await hintFor(c, filter as Filter<Document>));
        await c.drop();
      },
    ),
    { numRuns: played(8, 25) },
  );
}, 60_000);

test("arrays anywhere: nothing is stepped over, nothing is lost", async () => {
  const item = fc.oneof(leaf, fc.array(fc.integer({ min: 0, max: 6 }), { maxLength: 3 }));
  const rows = fc.array(fc.record({ a: leaf, b: item, c: leaf, d: leaf }, { requiredKeys: [] }), {
    minLength: 1,
    maxLength: 30,
  });
  await fc.assert(
    fc.asyncProperty(rows, keys, fc.array(filters, { minLength: 4, maxLength: 4 }), async (docs, key, list) => {
      const c = await t.fresh(docs.map((doc, _id) => ({ _id, ...doc })));
      await c.createIndex(key, { name: "skipped" });
      for (const filter of list) {
        const expected = (await c.find(filter as Filter<Document>, { hint: { $natural: 1 } }).toArray())
          .map((d) => d["_id"])
          .sort((a, b) => Number(a) - Number(b));
        const found = (await c.find(filter as Filter<Document>, { hint: "skipped" }).toArray())
          .map((d) => d["_id"])
          .sort((a, b) => Number(a) - Number(b));
        expect({ filter, key, found }).toEqual({ filter, key, found: expected });
      }
      await c.drop();
    }),
    { numRuns: played(10, 30) },
  );
}, 60_000);
