import { jest } from "@jest/globals";
import mongoose, { Schema, type Model } from "mongoose";
import { openStore, SCHEMA_OPTIONS } from "../../../shared/database/mongo.ts";
import { insertEach, insertNew, repeatGivenUp, updateEach } from "../../../shared/database/write-batches.ts";
import { freshDatabase } from "../../../local/harness/stage.ts";

interface Thing {
  _id: string;
  by: number;
  seen: number;
  more?: unknown;
}

let database: Awaited<ReturnType<typeof freshDatabase>>;
let held: ReturnType<typeof openStore>;
let things: Model<Thing>;

beforeAll(async () => {
  database = await freshDatabase();
  held = openStore(database.uri);
  const schema = new Schema<Thing>(
    { _id: { type: String, required: true }, by: Number, seen: Number, more: {} },
    SCHEMA_OPTIONS,
  );
  things = held.model("things", schema);
  await held.open();
});
afterEach(() => jest.restoreAllMocks());
afterAll(async () => {
  await held.close();
  await database.drop();
});

const WRITERS = 8;
const writers = Array.from({ length: WRITERS }, (_, by) => by);
const ids = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, i) => `${prefix}${String(i).padStart(4, "0")}`);
/** The same in another order for each writer: every writer begins elsewhere, and every second one walks backwards. */
const inOrderOf = (by: number, of: readonly string[]): string[] => {
  const from = Math.floor((of.length * by) / WRITERS);
  const turned = [...of.slice(from), ...of.slice(0, from)];
  return by % 2 === 0 ? turned : turned.reverse();
};
/** A long enough batch that the writers meet. */
const MANY = 1000;

test("writers who insert the same documents at once, each in an order of its own, wait for nobody for ever; each knows which are its own", async () => {
  const all = ids("i", MANY);
  const written = await Promise.all(
    writers.map(async (by) => {
      const docs = inOrderOf(by, all).map((_id) => ({ _id, by, seen: 0 }));
      const results = await insertEach(things, docs);
      return docs.filter((_, i) => results[i] === "written").map(({ _id }) => `${_id} ${by}`);
    }),
  );
  const stored = await things.find({ _id: { $in: all } }).lean<Thing[]>();
  expect(written.flat().sort()).toEqual(stored.map(({ _id, by }) => `${_id} ${by}`).sort());
  expect(stored).toHaveLength(MANY);
});

const POISON = { _bsontype: "ObjectId" };

test("a document that the driver can't send fails alone: the others of its batch are inserted", async () => {
  const docs = ["p1", "p0", "p3", "p2"].map((_id) => ({ _id, by: 0, seen: 0, more: _id === "p0" ? POISON : 1 }));
  await things.collection.insertOne({ _id: "p3" } as never);
  expect(await insertEach(things, docs)).toEqual(["written", "failed", "present", "written"]);
  await expect(insertNew(things, docs)).rejects.toThrow();
});

test("an update that the driver can't send fails alone: the others of its batch are made", async () => {
  const all = ids("q", 4);
  await insertNew(
    things,
    all.map((_id) => ({ _id, by: 0, seen: 0 })),
  );
  const writes = all.map((_id, i) => ({
    filter: { _id },
    update: { $set: { by: 7, more: i === 1 ? { x: POISON } : 1 } },
  }));
  await expect(updateEach(things, writes)).rejects.toThrow();
  expect(
    (
      await things
        .find({ _id: { $in: all } })
        .sort({ _id: 1 })
        .lean<Thing[]>()
    ).map(({ by }) => by),
  ).toEqual([7, 0, 7, 7]);
});

test("writers who update the same documents at once, each in an order of its own, wait for nobody for ever", async () => {
  const all = ids("u", MANY / 5);
  await insertNew(
    things,
    all.map((_id) => ({ _id, by: 0, seen: 0 })),
  );
  await Promise.all(
    writers.map((by) =>
      updateEach(
        things,
        inOrderOf(by, all).map((_id) => ({ filter: { _id }, update: { $inc: { seen: 1 } } })),
      ),
    ),
  );
  expect(await things.countDocuments({ _id: { $in: all }, seen: WRITERS })).toBe(all.length);
});

test("a batch goes to the database in the order of its ids, and is answered in the order it was asked in", async () => {
  const [insert, bulk] = [jest.spyOn(things, "insertMany"), jest.spyOn(things, "bulkWrite")];
  await insertNew(things, [{ _id: "o2", by: 0, seen: 0 }]);
  const docs = ["o3", "o2", "o1"].map((_id) => ({ _id, by: 1, seen: 0 }));
  expect(await insertEach(things, docs)).toEqual(["written", "present", "written"]);
  expect(await insertNew(things, [...docs, { _id: "o0", by: 1, seen: 0 }])).toEqual([false, false, false, true]);
  await updateEach(
    things,
    docs.map(({ _id }) => ({ filter: { _id }, update: { $set: { seen: 1 } } })),
  );
  expect(insert.mock.calls.slice(1).map(([sent]) => (sent as unknown as Thing[]).map((d) => d._id))).toEqual([
    ["o1", "o2", "o3"],
    ["o0", "o1", "o2", "o3"],
  ]);
  expect(bulk.mock.calls[0]?.[0].map((write) => ("updateOne" in write ? write.updateOne.filter["_id"] : null))).toEqual(
    ["o1", "o2", "o3"],
  );
});

const givenUp = (): Error => new mongoose.mongo.MongoServerError({ code: 16_908_292, errmsg: "deadlock detected" });
/** A write that fails so often before it is made. */
const failing = (times: number, error: () => Error) => {
  let asked = 0;
  return {
    write: async (): Promise<string> => {
      if (++asked <= times) throw error();
      return "made";
    },
    asked: () => asked,
  };
};

test.each([
  ["given up for others three times: made at the fourth", failing(3, givenUp), "made", 4],
  ["given up each time: its error in the end", failing(100, givenUp), "deadlock detected", 8],
  [
    "failed otherwise: it may have been made, and is not asked for again",
    failing(1, () => new Error("gone")),
    "gone",
    1,
  ],
])("a write that is %s", async (_what, { write, asked }, said, times) => {
  expect(await repeatGivenUp(write).catch((error: unknown) => (error instanceof Error ? error.message : ""))).toBe(
    said,
  );
  expect(asked()).toBe(times);
});
