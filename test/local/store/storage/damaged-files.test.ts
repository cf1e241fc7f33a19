import { cpSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Collection, Document } from "mongodb";
import { MongoClient } from "mongodb";
import { startStore } from "../../../../local/store/server.ts";
import { refusal } from "../fixtures/store-under-test.ts";

const DOCS = 12;
let root: string;
let dir: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "callagent-store-test-"));
  dir = join(root, "store");
});
afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

const at = (name: string): string => join(dir, name);
const wal = (): string => at("store.sqlite-wal");
const docNo = (n: number): Document => ({ _id: n, n, text: `the text of document ${n}.` });

/** Starts a store on the folder and works on its collection; what it reported. */
async function withStore(
  work: (c: Collection<Document>) => Promise<void>,
  options: { acceptLoss?: boolean } = {},
): Promise<string[]> {
  const reports: string[] = [];
  const store = await startStore({ dir, port: 0, report: (e) => reports.push(String(e)), ...options });
  const client = await new MongoClient(store.url, { retryReads: false, retryWrites: false }).connect();
  try {
    await work(client.db("d").collection<Document>("c"));
  } finally {
    await client.close();
    await store.close();
  }
  return reports;
}

async function fill(c: Collection<Document>): Promise<void> {
  await c.createIndex({ n: 1 });
  for (let n = 0; n < DOCS; n++) await c.insertOne(docNo(n) as never);
}

/** The folder as a killed store leaves it: every insert acknowledged, nothing but the journal holds them. */
async function killed(): Promise<void> {
  const crashed = join(root, "crashed");
  await withStore(async (c) => {
    await fill(c);
    cpSync(dir, crashed, { recursive: true });
  });
  rmSync(dir, { recursive: true });
  cpSync(crashed, dir, { recursive: true });
}

/** The ids that are there, and what a full scan and the index on n say about them. */
async function ids(options: { acceptLoss?: boolean } = {}): Promise<number[]> {
  const found: number[] = [];
  await withStore(async (c) => {
    const docs = await c.find().toArray();
    found.push(...docs.map((d) => Number(d["n"])));
    expect(docs).toEqual(found.map(docNo));
    expect((await c.find({ n: { $gte: 0 } }).toArray()).map((d) => d["n"])).toEqual(found);
  }, options);
  return found;
}

const all = Array.from({ length: DOCS }, (_, n) => n);

/** Replaces bytes behind the first place where `marker` stands in a file. */
function overwrite(path: string, from: number, bytes: Buffer): void {
  const whole = readFileSync(path);
  bytes.copy(whole, from);
  writeFileSync(path, whole);
}

function flipIn(marker: string): void {
  const bytes = readFileSync(at("store.sqlite"));
  const place = bytes.indexOf(marker);
  expect(place).toBeGreaterThan(0);
  overwrite(at("store.sqlite"), place, Buffer.of((bytes[place] ?? 0) ^ 1));
}

describe("a store that was killed", () => {
  test("starts silently with every acknowledged commit, also when the last one was not yet recorded", async () => {
    await killed();
    const before = readFileSync(at("store.commits"));
    expect(await ids()).toEqual(all);
    await withStore(async (c) => void (await c.insertOne(docNo(DOCS) as never)));
    writeFileSync(at("store.commits"), before);
    expect(await withStore(async () => {})).toEqual([]);
    expect(await ids()).toEqual([...all, DOCS]);
  });

  test("refuses to start when its journal was shortened, however much, and says how many commits are missing", async () => {
    await killed();
    const [length, kept] = [statSync(wal()).size, join(root, "kept")];
    cpSync(dir, kept, { recursive: true });
    const missing: number[] = [];
    for (const left of [length - 1, length - 9000, length * 0.7, length / 2, length / 4, 8300, 100, 31, 0]) {
      truncateSync(wal(), Math.floor(left));
      const before = readFileSync(at("store.sqlite"));
      const error = await startStore({ dir, port: 0 }).catch(String);
      expect(error).toMatch(
        /store\.sqlite lacks \d+ of \d+ acknowledged commits: its journal store\.sqlite-wal was shorten/,
      );
      missing.push(Number(/lacks (\d+)/.exec(String(error))?.[1]));
      // What is there can still be saved.
      expect(readFileSync(at("store.sqlite")).equals(before)).toBe(true);
      expect(statSync(wal()).size).toBe(Math.floor(left));
      rmSync(dir, { recursive: true });
      cpSync(kept, dir, { recursive: true });
    }
    expect(missing[0]).toBe(1);
    expect(missing).toEqual(missing.toSorted((a, b) => a - b));
    expect(missing.at(-1)).toBeGreaterThanOrEqual(DOCS);
    expect(await ids()).toEqual(all);
  });

  test("refuses to start when bytes of its journal were changed; --accept-loss goes on with what came before, once and for all", async () => {
    await killed();
    overwrite(wal(), Math.floor(statSync(wal()).size * 0.6), Buffer.from("overwritten"));
    await expect(startStore({ dir, port: 0 })).rejects.toThrow(/acknowledged commits.*--accept-loss/);
    const reports = await withStore(async () => {}, { acceptLoss: true });
    expect(reports).toEqual([expect.stringMatching(/lacks \d+ of \d+ acknowledged commits/)]);
    const left = await ids();
    expect(left.length).toBeGreaterThan(0);
    expect(left).toEqual(all.slice(0, left.length));
    expect(left.length).toBeLessThan(DOCS);
  });

  test("refuses to start when its journal or its data file is gone, or an older copy took its place", async () => {
    await killed();
    rmSync(wal());
    await expect(startStore({ dir, port: 0 })).rejects.toThrow(/lacks \d+ of \d+ acknowledged commits/);
    rmSync(at("store.sqlite"));
    await expect(startStore({ dir, port: 0 })).rejects.toThrow(/lacks \d+ of \d+ acknowledged commits/);
    expect(await ids({ acceptLoss: true })).toEqual([]);
    await withStore(fill);
    cpSync(at("store.sqlite"), join(root, "older.sqlite"));
    await withStore(async (c) => void (await c.insertOne(docNo(DOCS) as never)));
    cpSync(join(root, "older.sqlite"), at("store.sqlite"));
    await expect(startStore({ dir, port: 0 })).rejects.toThrow(/lacks 1 of \d+ acknowledged commits/);
  });

  test("refuses to start when the record of its commits is damaged or gone: losses could not be told", async () => {
    await killed();
    overwrite(at("store.commits"), 0, Buffer.of(0));
    await expect(startStore({ dir, port: 0 })).rejects.toThrow(
      /may lack commits.*store\.commits beside it.*is damaged/,
    );
    rmSync(at("store.commits"));
    await expect(startStore({ dir, port: 0 })).rejects.toThrow(
      /may lack commits.*store\.commits beside it.*is missing/,
    );
    expect(await ids({ acceptLoss: true })).toEqual(all);
    expect(await ids()).toEqual(all);
  });
});

test("a changed byte in a document fails the commands that read it, by name, and no other; --accept-loss removes the document", async () => {
  await withStore(fill);
  flipIn("text of document 5.");
  const corrupted = [301, "DataCorruptionDetected"];
  const reports = await withStore(async (c) => {
    expect(await refusal(c.findOne({ _id: 5 as never }))).toEqual(corrupted);
    expect(await refusal(c.find({ n: { $gt: 3 } }).toArray())).toEqual(corrupted);
    expect(await refusal(c.find({ text: "x" }).toArray())).toEqual(corrupted);
    expect(await refusal(c.updateOne({ n: 5 }, { $set: { n: 7 } }))).toEqual([301, undefined]);
    expect(await refusal(c.deleteOne({ _id: 5 as never }))).toEqual([301, undefined]);
    expect(await refusal(c.createIndex({ text: 1 }))).toEqual(corrupted);
    await expect(c.findOne({ n: 5 })).rejects.toThrow(
      /document 6 of d\.c is damaged.*Restore a backup, or.*--accept-loss/,
    );
    expect(await c.findOne({ n: 4 })).toEqual(docNo(4));
    expect(await c.find().limit(5).toArray()).toEqual(all.slice(0, 5).map(docNo));
    await c.updateOne({ n: 6 }, { $set: { n: 6 } });
    expect((await c.indexes()).map((i) => i["name"])).toEqual(["_id_", "n_1"]);
  });
  expect(reports.length).toBe(7);
  expect(reports[0]).toMatch(/document 6 of d\.c is damaged/);
  expect(await withStore(async () => {}, { acceptLoss: true })).toEqual(["1 damaged documents of d.c were removed"]);
  expect(await ids()).toEqual(all.filter((n) => n !== 5));
});

test("a data file whose structure is damaged is not served", async () => {
  await withStore(fill);
  overwrite(at("store.sqlite"), 3 * 8192, Buffer.alloc(64, 0xff));
  await expect(startStore({ dir, port: 0 })).rejects.toThrow(/store\.sqlite is damaged \(.*Restore a backup/);
  overwrite(at("store.sqlite"), 0, Buffer.from("no sqlite"));
  await expect(startStore({ dir, port: 0 })).rejects.toThrow(/store\.sqlite is damaged \(.*file is not a database\)/);
});

test("a file of the version before has no checksums and no record: it is brought to this one and goes on", async () => {
  await withStore(fill);
  const db = new DatabaseSync(at("store.sqlite"));
  db.exec("ALTER TABLE d_1 DROP COLUMN crc; DROP TABLE commits; PRAGMA user_version=1");
  db.close();
  rmSync(at("store.commits"));
  flipIn("text of document 5.");
  await withStore(async (c) => {
    expect((await c.findOne({ n: 5 }))?.["text"]).not.toBe(docNo(5)["text"]);
    await c.updateOne({ n: 4 }, { $set: { text: "from now on checked" } });
  });
  flipIn("on checked");
  await withStore(async (c) => {
    expect(await refusal(c.findOne({ n: 4 }))).toEqual([301, "DataCorruptionDetected"]);
    expect(await c.countDocuments({ n: { $lt: 3 } })).toBe(3);
  });
  truncateSync(at("store.commits"), 3);
  await expect(startStore({ dir, port: 0 })).rejects.toThrow(/store\.commits/);
});
