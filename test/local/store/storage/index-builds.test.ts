import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Document } from "mongodb";
import { MongoClient } from "mongodb";
import { encode } from "../../../../local/store/bson/bson-writer.ts";
import { decode } from "../../../../local/store/bson/bson-reader.ts";
import { StoreError } from "../../../../local/store/bson/errors.ts";
import type { Doc } from "../../../../local/store/bson/values.ts";
import { Budget, type Slices } from "../../../../local/store/budget.ts";
import { indexDefinition, type IndexDefinition } from "../../../../local/store/indexes/index-definition.ts";
import { startStore } from "../../../../local/store/server.ts";
import { Catalog } from "../../../../local/store/storage/catalog.ts";
import type { Collection } from "../../../../local/store/storage/collection.ts";
import { Storage } from "../../../../local/store/storage/storage.ts";
import { frameCommand, rawConnection, refusal, storeUnderTest } from "../fixtures/store-under-test.ts";
import type { StoreUnderTest } from "../fixtures/store-under-test.ts";

/** A catalog in memory, with a collection of so many documents. */
function filled(count: number): { storage: Storage; catalog: Catalog; c: Collection } {
  const storage = new Storage(":memory:");
  const catalog = new Catalog(storage);
  const c = catalog.ensure("d", "c");
  for (let n = 0; n < count; n++) insert(c, { _id: n, k: n });
  return { storage, catalog, c };
}

function insert(c: Collection, doc: Doc): void {
  c.insert(doc, encode(doc));
}

/** A budget that is used up after each document. */
function restless(): Budget {
  let now = 0;
  return new Budget({ bytes: 0 }, () => (now += 10));
}

const definition = (spec: Doc = {}): IndexDefinition => indexDefinition({ key: { k: 1 }, name: "k_1", ...spec });

function finish<T>(slices: Slices<T>): T {
  for (;;) {
    const step = slices.next();
    if (step.done === true) return step.value;
  }
}

/** What stands in an index, as text. */
function keysIn(storage: Storage, id: number): string[] {
  return storage
    .all(`SELECT hex(key) AS key, rid FROM x_${id}`)
    .map((row) => `${String(row["key"])} ${String(row["rid"])}`)
    .toSorted();
}

/** What should stand in it. */
function keysOfAll(c: Collection, made: IndexDefinition): string[] {
  const index = c.indexes.find((i) => i.definition.name === made.name);
  return c
    .page(0, 10_000, false)
    .flatMap(({ rid, bytes }) =>
      (index?.keys.keysOf(decode(bytes)).keys ?? []).map(
        (key) => `${Buffer.from(key).toString("hex").toUpperCase()} ${rid}`,
      ),
    )
    .toSorted();
}

/** Numbers from 0 up to a bound, the same for the same seed. */
function numbersFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

describe("an index that is built while others write", () => {
  it.each([1, 2, 3, 4, 5, 6])("holds the keys of all documents as they are at the end (%i)", (seed) => {
    const { storage, catalog, c } = filled(60);
    const random = numbersFrom(seed);
    const made = definition(seed % 2 === 0 ? { sparse: true } : {});
    const slices = catalog.createIndex(c, made, restless());
    let next = 60;
    let rests = 0;
    while (slices.next().done !== true) {
      rests++;
      for (let i = random(4); i > 0; i--) {
        const stored = c.stored(1 + random(next));
        const what = random(3);
        if (what === 0) insert(c, { _id: next, k: random(5) === 0 ? [next, -1] : next++ });
        else if (stored !== undefined && what === 1) c.remove(stored.rid, decode(stored.bytes));
        else if (stored !== undefined) {
          const before = decode(stored.bytes);
          const list = random(4) === 0 ? [random(100), 7] : random(100);
          c.replace(stored.rid, before, random(6) === 0 ? { _id: before["_id"] ?? null } : { ...before, k: list });
        }
        next++;
      }
    }
    expect(rests).toBeGreaterThan(80);
    const index = c.indexes.find((i) => i.definition.name === "k_1");
    expect(keysIn(storage, index?.id ?? 0)).toEqual(keysOfAll(c, made));
    expect(keysIn(storage, index?.id ?? 0).length).toBeGreaterThan(20);
    expect(storage.one("SELECT multikey, collection FROM indexes WHERE id = ?", index?.id ?? 0)).toEqual({
      multikey: index?.multikey === true ? 1 : 0,
      collection: c.id,
    });
  });

  it("is not used by queries before it is whole, and is made once when it is asked for twice", () => {
    const { catalog, c } = filled(10);
    const first = catalog.createIndex(c, definition(), restless());
    const second = catalog.createIndex(c, definition(), restless());
    for (let i = 0; i < 5; i++) {
      first.next();
      second.next();
      expect(c.describeIndexes().map((d) => d["name"])).toEqual(["_id_"]);
    }
    expect([finish(first), finish(second)]).toEqual([true, false]);
    expect(c.describeIndexes().map((d) => d["name"])).toEqual(["_id_", "k_1"]);
  });

  const duplicates: Record<string, (c: Collection) => void> = {
    "an insert takes a key that is in it": (c) => insert(c, { _id: "new", k: 1 }),
    "an insert takes a key that is not yet in it": (c) => insert(c, { _id: "new", k: 9 }),
    "a change takes a key that is in it": (c) => void c.replace(2, { _id: 1, k: 1 }, { _id: 1, k: 0 }),
    "a change behind it takes a key that is in it": (c) => void c.replace(9, { _id: 8, k: 8 }, { _id: 8, k: 0 }),
  };
  const moments = [2, 5, 12, 15];
  it.each(Object.entries(duplicates).flatMap(([name, write]) => moments.map((at) => ({ name, write, at }))))(
    "fails when it is unique and $name (after $at slices); the write is done",
    ({ write, at }) => {
      const { storage, catalog, c } = filled(10);
      const before = storage.all("SELECT name FROM sqlite_schema").length;
      const slices = catalog.createIndex(c, definition({ unique: true }), restless());
      for (let i = 0; i < at; i++) expect(slices.next().done).toBe(false);
      write(c);
      expect(() => finish(slices)).toThrow(expect.objectContaining({ codeName: "DuplicateKey" }));
      expect(c.describeIndexes().map((d) => d["name"])).toEqual(["_id_"]);
      expect(storage.all("SELECT name FROM sqlite_schema").length).toBe(before);
      insert(c, { _id: "later", k: 1 });
    },
  );

  it("does not fail when what was double is so no longer before the build comes there", () => {
    const { catalog, c } = filled(10);
    const slices = catalog.createIndex(c, definition({ unique: true }), restless());
    for (let i = 0; i < 3; i++) slices.next();
    insert(c, { _id: "new", k: 9 });
    c.remove(10, { _id: 9, k: 9 });
    expect(finish(slices)).toBe(true);
    expect(() => insert(c, { _id: "more", k: 9 })).toThrow(StoreError);
  });

  it("is given up when its collection is dropped or writes were taken back", () => {
    const { storage, catalog, c } = filled(10);
    const aborted = expect.objectContaining({ code: 276, codeName: "IndexBuildAborted" });
    let slices = catalog.createIndex(c, definition(), restless());
    slices.next();
    catalog.load();
    expect(() => finish(slices)).toThrow(aborted);
    slices = catalog.createIndex(c, definition(), restless());
    slices.next();
    catalog.drop(c);
    expect(() => finish(slices)).toThrow(aborted);
    expect(storage.all("SELECT name FROM sqlite_schema WHERE name LIKE 'x%'")).toEqual([]);
    expect(storage.all("SELECT id FROM indexes")).toEqual([]);
  });
});

describe("createIndexes", () => {
  const DOCS = 20_000;
  let t: StoreUnderTest;
  beforeAll(async () => {
    t = await storeUnderTest();
  });
  afterAll(async () => {
    await t.stop();
  });
  const docs = (): Document[] =>
    Array.from({ length: DOCS }, (_, n) => ({ _id: n, k: (n * 7919) % DOCS, done: false }));

  it("lets others read and write while it works, in the same collection too", async () => {
    const c = await t.fresh(docs());
    const build = { done: false };
    const building = c.createIndex({ k: 1 }, { unique: true }).then(() => (build.done = true));
    let writes = 0;
    while (!build.done) {
      await c.insertOne({ _id: (DOCS + writes) as never, k: DOCS + writes });
      await c.updateOne({ _id: ((writes * 37) % DOCS) as never }, { $set: { done: true, k: -writes - 1 } });
      writes++;
    }
    await building;
    // a build that kept others waiting would let none through before it is done, or one that was under way then
    expect(writes).toBeGreaterThan(2);
    const all = await c.find().sort({ _id: 1 }).toArray();
    const byIndex = await c
      .find({ k: { $gte: -DOCS } })
      .hint("k_1")
      .toArray();
    expect(byIndex.toSorted((a, b) => Number(a["_id"]) - Number(b["_id"]))).toEqual(all);
    expect(await refusal(c.insertOne({ k: DOCS }))).toEqual([11000, undefined]);
  });

  it("is given up when its client goes away, and can be asked for again", async () => {
    const c = await t.fresh(docs());
    const gone = rawConnection(t.store.url);
    const indexes = [{ key: { k: 1 }, name: "k_1" }];
    gone.socket.write(frameCommand(1, { createIndexes: c.collectionName, indexes, $db: "test" }));
    // Answered between two slices of the build.
    await c.findOne({ _id: 1 as never });
    gone.socket.destroy();
    await gone.closed;
    expect(await c.createIndex({ k: 1 })).toBe("k_1");
    expect(
      await c
        .find({ k: { $gte: 0 } })
        .hint("k_1")
        .toArray(),
    ).toHaveLength(DOCS);
  });
});

test("what a store that died had built of an index is dropped at the next start", async () => {
  const root = mkdtempSync(join(tmpdir(), "callagent-store-test-"));
  const [dir, died] = [join(root, "store"), join(root, "died")];
  try {
    const storage = new Storage(dir);
    const catalog = new Catalog(storage);
    const c = catalog.ensure("d", "c");
    for (let n = 0; n < 10; n++) insert(c, { _id: n, k: n });
    const slices = catalog.createIndex(c, definition(), restless());
    for (let i = 0; i < 15; i++) slices.next();
    storage.commit();
    cpSync(dir, died, { recursive: true });
    storage.close();
    const store = await startStore({ dir: died, port: 0 });
    const client = await new MongoClient(store.url).connect();
    const again = client.db("d").collection<Document>("c");
    expect((await again.indexes()).map((i) => i["name"])).toEqual(["_id_"]);
    await again.insertOne({ k: 3 });
    expect(await again.createIndex({ k: 1 })).toBe("k_1");
    expect(await again.find({ k: 3 }).hint("k_1").toArray()).toHaveLength(2);
    await client.close();
    await store.close();
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});
