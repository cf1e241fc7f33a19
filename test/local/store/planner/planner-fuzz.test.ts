import * as fc from "fast-check";
import type { Collection, Document, Filter, Sort } from "mongodb";
import { MongoClient } from "mongodb";
import { startStore } from "../../../../local/store/server.ts";
import type { RunningStore } from "../../../../local/store/server.ts";
import { played } from "../../../fixtures/long-form.ts";

/** What an index finds must be what looking at every document finds: random documents, filters and sorts, with and without indexes. */
let store: RunningStore;
let client: MongoClient;
beforeAll(async () => {
  store = await startStore({ dir: ":memory:", port: 0 });
  client = await new MongoClient(store.url, { ignoreUndefined: true }).connect();
});
afterAll(async () => {
  await client.close();
  await store.close();
});

const leaf = fc.oneof(
  fc.integer({ min: 0, max: 4 }),
  fc.constantFrom(0.5, 2.5, "a", "b", null, true, new Date(1), new Date(2)),
);
const scalarOrArray = fc.oneof(
  { weight: 4, arbitrary: leaf },
  { weight: 1, arbitrary: fc.array(leaf, { maxLength: 3 }) },
);
const inner = fc.record({ x: scalarOrArray, y: leaf }, { requiredKeys: [] });
const document = fc.record(
  { a: scalarOrArray, b: leaf, c: fc.oneof(inner, fc.array(inner, { maxLength: 2 }), leaf) },
  { requiredKeys: [] },
);
const flat = fc.record(
  { a: leaf, b: leaf, c: fc.record({ x: leaf, y: leaf }, { requiredKeys: [] }) },
  { requiredKeys: [] },
);

const path = fc.constantFrom("a", "b", "c.x", "c.y");
const condition = fc.oneof(
  leaf,
  leaf.map((v) => ({ $gt: v })),
  leaf.map((v) => ({ $lte: v })),
  fc.tuple(leaf, leaf).map(([lo, hi]) => ({ $gte: lo, $lt: hi })),
  fc.array(leaf, { maxLength: 3 }).map((v) => ({ $in: v })),
  fc.boolean().map((v) => ({ $exists: v })),
  leaf.map((v) => ({ $ne: v })),
  leaf.map((v) => ({ $elemMatch: { $gte: v } })),
  fc.array(leaf, { minLength: 1, maxLength: 2 }).map((v) => ({ $all: v })),
  fc.constantFrom({ $type: "number" }, { $size: 1 }, { $not: { $gt: 2 } }),
);
const simple = fc.array(fc.tuple(path, condition), { maxLength: 3 }).map((parts) => Object.fromEntries(parts));
const filter = fc.oneof(
  { weight: 5, arbitrary: simple },
  { weight: 1, arbitrary: fc.array(simple, { minLength: 1, maxLength: 2 }).map((list) => ({ $or: list })) },
  { weight: 1, arbitrary: fc.tuple(simple, simple).map((list) => ({ $and: list })) },
);
const sort = fc
  .array(fc.tuple(path, fc.constantFrom(1, -1)), { maxLength: 2 })
  .map((parts) => Object.fromEntries([...parts, ["_id", 1]]));
const indexes = [
  [{ a: 1 }],
  [{ a: -1 }],
  [{ b: 1, a: -1 }],
  [{ "c.x": 1, b: 1 }],
  [{ "c.x": 1, "c.y": -1 }],
  [{ a: 1, b: 1, _id: 1 }],
  [{ b: -1, _id: 1 }],
  [{ b: 1, "c.x": 1 }, { partialFilterExpression: { b: { $exists: true } } }],
  [{ a: 1, _id: 1 }, { partialFilterExpression: { b: { $gte: 1 } } }],
  [{ "c.y": 1 }, { sparse: true }],
] as const;

async function check(collection: Collection<Document>, docs: Document[], queries: [object, object][]): Promise<void> {
  await collection.drop();
  await collection.insertMany(docs.map((doc, _id) => ({ _id, ...doc }) as never));
  for (const [key, options] of indexes) await collection.createIndex(key as never, { ...options });
  for (const [f, s] of queries) {
    const expected = await collection
      .find(f as Filter<Document>, { hint: { $natural: 1 } })
      .sort(s as Sort)
      .toArray();
    const chosen = await collection
      .find(f as Filter<Document>)
      .sort(s as Sort)
      .toArray();
    expect({ f, s, ids: chosen.map((d) => d["_id"]) }).toEqual({ f, s, ids: expected.map((d) => d["_id"]) });
    expect({ f, n: await collection.countDocuments(f as Filter<Document>) }).toEqual({ f, n: expected.length });
    const wanted = Math.min(2, expected.length);
    const limited = await collection
      .find(f as Filter<Document>)
      .sort(s as Sort)
      .limit(2)
      .toArray();
    expect({ f, s, ids: limited.map((d) => d["_id"]) }).toEqual({
      f,
      s,
      ids: expected.slice(0, wanted).map((d) => d["_id"]),
    });
  }
}

test("flat documents", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(flat, { minLength: 1, maxLength: 25 }),
      fc.array(fc.tuple(filter, sort), { minLength: 8, maxLength: 8 }),
      async (docs, queries) => {
        await check(client.db("fuzz").collection("flat"), docs, queries);
      },
    ),
    { numRuns: played(8, 25) },
  );
}, 60_000);

test("documents with arrays", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(document, { minLength: 1, maxLength: 15 }),
      fc.array(fc.tuple(filter, sort), { minLength: 8, maxLength: 8 }),
      async (docs, queries) => {
        const parallel = docs.some(
          (d) =>
            Array.isArray(d.a) &&
            (Array.isArray(d.c) || (typeof d.c === "object" && d.c !== null && "x" in d.c && Array.isArray(d.c.x))),
        );
        fc.pre(!parallel);
        await check(client.db("fuzz").collection("arrays"), docs, queries);
      },
    ),
    { numRuns: played(8, 25) },
  );
}, 60_000);
