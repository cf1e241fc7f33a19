import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Long, UUID } from "bson";
import { deserialize, type Document } from "bson";
import { Catalog } from "../../../local/store/storage/catalog.ts";
import { encode } from "../../../local/store/bson/bson-writer.ts";
import { GroupCommit } from "../../../local/store/wire/group-commit.ts";
import { Retries } from "../../../local/store/storage/retryable-writes.ts";
import { Storage } from "../../../local/store/storage/storage.ts";
import { startStore } from "../../../local/store/server.ts";
import { Budget } from "../../../local/store/budget.ts";
import { sortInSlices } from "../../../local/store/query/sort.ts";
import { frameCommand, rawConnection, refusal, storeUnderTest } from "./fixtures/store-under-test.ts";
import type { StoreUnderTest } from "./fixtures/store-under-test.ts";

let t: StoreUnderTest;
beforeAll(async () => {
  t = await storeUnderTest();
});
afterAll(async () => {
  await t.stop();
});

const numbers = (count: number): Document[] => Array.from({ length: count }, (_, n) => ({ _id: n, n, text: `t${n}` }));

describe("a long command", () => {
  let shared: ReturnType<StoreUnderTest["fresh"]> | undefined;
  const long: Record<string, (c: string) => Document> = {
    "a find that meets nothing": (c) => ({ find: c, filter: { text: { $regex: "nothing" } } }),
    "a sort without an index": (c) => ({ find: c, sort: { text: -1 }, batchSize: 1 }),
    "a count": (c) => ({ count: c, query: { text: "nothing" } }),
    "a distinct": (c) => ({ distinct: c, key: "text" }),
    "a group": (c) => ({ aggregate: c, pipeline: [{ $group: { _id: "$text" } }, { $count: "n" }], cursor: {} }),
    "an update of many": (c) => ({
      update: c,
      updates: [{ q: { n: { $gte: 0 } }, u: { $inc: { m: 1 } }, multi: true }],
    }),
    "a search for one to change": (c) => ({ update: c, updates: [{ q: { text: "none" }, u: { $inc: { m: 1 } } }] }),
    "an insert of many": (c) => ({ insert: `${c}_more`, documents: numbers(10_000) }),
    "a pipeline that writes": (c) => ({ aggregate: c, pipeline: [{ $out: `${c}_out` }], cursor: {} }),
    "an index": (c) => ({ createIndexes: c, indexes: [{ key: { text: 1 }, name: "text_1" }] }),
    "a delete of many": (c) => ({ delete: c, deletes: [{ q: { n: { $gte: 0 } }, limit: 0 }] }),
  };
  it.each(Object.entries(long))("lets others be answered before it ends: %s", async (_name, command) => {
    const c = await (shared ??= t.fresh(numbers(20_000)));
    const [slow, quick] = [rawConnection(t.store.url), rawConnection(t.store.url)];
    const order: string[] = [];
    slow.socket.write(frameCommand(1, { ...command(c.collectionName), $db: "test" }));
    // Both connections are read in one turn: the second one is answered between two slices of the first.
    quick.socket.write(frameCommand(2, { ping: 1, $db: "test" }));
    await Promise.all([
      slow.reply().then(({ doc }) => order.push(`long ${doc["ok"]}`)),
      quick.reply().then(({ doc }) => order.push(`ping ${doc["ok"]}`)),
    ]);
    expect(order).toEqual(["ping 1", "long 1"]);
    slow.socket.destroy();
    quick.socket.destroy();
  });

  it("changes each document once and as it is now, whatever others write meanwhile", async () => {
    const c = await t.fresh(numbers(8000));
    const all = c.updateMany({ flag: { $exists: false } }, { $inc: { n: 1_000_000 } });
    const others = [3, 4999, 7999].map((n) => c.updateOne({ _id: n as never }, { $inc: { n: 5 } }));
    const gone = [4, 5000, 7998].map((n) => c.deleteOne({ _id: n as never }));
    const marked = [5, 5001, 7997].map((n) => c.updateOne({ _id: n as never }, { $set: { flag: true } }));
    await Promise.all([all, ...others, ...gone, ...marked]);
    const docs = await c.find().toArray();
    expect(docs).toHaveLength(8000 - 3);
    for (const { _id, n, flag } of docs) {
      const plus = [3, 4999, 7999].includes(Number(_id)) ? 5 : 0;
      if (flag === undefined) expect(n).toBe(Number(_id) + plus + 1_000_000);
      else expect([Number(_id), Number(_id) + 1_000_000]).toContain(n);
    }
  });

  it("sorts in slices as it sorts at once", () => {
    const items = numbers(5000).map((d) => ({ ...d, k: (Number(d["n"]) * 7919) % 31 }));
    const sorted = [...sortInSlices(items, { k: -1 }, (d) => d, new Budget())];
    expect(sorted.filter((d) => typeof d !== "symbol")).toEqual(items.toSorted((a, b) => b.k - a.k));
  });

  it("ends when the client's maxTimeMS is over", async () => {
    const c = await t.fresh(numbers(8000));
    const slow = c.find({ $or: [{ text: { $regex: "x.*y" } }, { text: { $regex: "y.*x" } }] }).sort({ text: 1 });
    expect(await refusal(slow.maxTimeMS(1).toArray())).toEqual([50, "MaxTimeMSExpired"]);
  });
});

describe("one command's fault", () => {
  it("takes back what that command wrote, and nothing that others wrote in the same turn", () => {
    const storage = new Storage(":memory:");
    const catalog = new Catalog(storage);
    const reported: unknown[] = [];
    const turn = new GroupCommit(
      storage,
      () => catalog.load(),
      (error) => reported.push(error),
    );
    const insert = (n: number): void => {
      const doc = { _id: n, list: n % 2 === 0 ? [n] : n };
      catalog.ensure("d", "c").insert(doc, encode(doc));
    };
    const fault = (n: number): void => {
      insert(n);
      catalog.ensure("d", `made${n}`);
      throw new TypeError("nobody foresaw this");
    };
    expect(() => turn.run(() => fault(1))).toThrow(TypeError);
    turn.run(() => insert(2));
    expect(() => turn.run(() => fault(3))).toThrow(TypeError);
    turn.run(() => insert(4));
    turn.flush();
    expect(catalog.list().map((c) => c.ns)).toEqual(["d.c"]);
    const ids = catalog.find("d", "c")?.page(-1, 10, false);
    expect(ids?.map(({ bytes }) => deserialize(bytes)["_id"])).toEqual([2, 4]);
    storage.close();
  });
});

test("a retryable write cut off by the store's death goes on where it was, and does nothing twice", async () => {
  const dir = mkdtempSync(join(tmpdir(), "callagent-store-test-"));
  const session = new UUID();
  const command = {
    update: "c",
    updates: [0, 1, 2].map((_id) => ({ q: { _id }, u: { $inc: { n: 1 } }, upsert: true })),
    lsid: { id: session.toBinary() },
    txnNumber: Long.fromNumber(1),
    $db: "d",
  };
  // What the file holds when the store dies after the first statement.
  const storage = new Storage(dir);
  const done = { _id: 0, n: 1 };
  new Catalog(storage).ensure("d", "c").insert(done, encode(done));
  const progress = { n: 1, nModified: 0, upserted: [{ index: 0, _id: 0 }], errors: [], next: 1 };
  const key = { session: session.buffer, txn: 1 };
  new Retries(storage).keepProgress({ ...key, txn: 0 }, { ...progress, errors: [{ index: 7 }] }, Date.now());
  const retries = new Retries(storage);
  retries.keepProgress(key, { ...progress, n: 0, upserted: [], next: 0 }, Date.now());
  retries.keepProgress(key, progress, Date.now());
  storage.close();
  const store = await startStore({ dir, port: 0 });
  const { socket, reply } = rawConnection(store.url);
  socket.write(frameCommand(1, command));
  expect((await reply()).doc).toMatchObject({ ok: 1, n: 3, upserted: [{ index: 0 }, { index: 1 }, { index: 2 }] });
  socket.write(frameCommand(2, { find: "c", $db: "d" }));
  expect((await reply()).doc["cursor"].firstBatch).toEqual([0, 1, 2].map((_id) => ({ _id, n: 1 })));
  socket.destroy();
  await store.close();
  rmSync(dir, { recursive: true });
});

test("what a retryable write has done is kept in proportion to it, however often the write rests", () => {
  const storage = new Storage(":memory:");
  const retries = new Retries(storage);
  const key = { session: new UUID().buffer, txn: 1 };
  const errors = Array.from({ length: 5000 }, (_, index) => ({ index, code: 11_000, errmsg: "E11000 duplicate key" }));
  for (let next = 10; next <= errors.length; next += 10)
    retries.keepProgress(key, { n: 0, errors: errors.slice(0, next), next }, 0);
  const kept = storage.one("SELECT SUM(LENGTH(piece)) AS bytes FROM retry_pieces")?.["bytes"];
  expect(kept).toBeLessThan(1.5 * encode({ errors }).length);
  expect(new Retries(storage).progressOf(key, retries.find(key) ?? encode({ ok: 1 }))).toEqual({
    n: 0,
    next: 5000,
    errors,
  });
  retries.keep(key, encode({ ok: 1 }), 0);
  expect(storage.all("SELECT id FROM retry_pieces")).toEqual([]);
  storage.close();
});
