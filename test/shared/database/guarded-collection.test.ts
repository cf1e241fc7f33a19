import { randomUUID } from "node:crypto";
import mongoose, { Schema, type Model } from "mongoose";
import { GuardedCollection, type GuardedTransition } from "../../../shared/database/guarded-collection.ts";
import { openStore, SCHEMA_OPTIONS } from "../../../shared/database/mongo.ts";
import { LOSSES_TO_GIVE_UP } from "../../fixtures/database-abilities.ts";
import { freshDatabase } from "../../../local/harness/stage.ts";
import { startTcpProxy, through, type TcpProxy } from "../../../local/harness/tcp-proxy.ts";

interface Thing {
  _id: string;
  state: string;
  name?: string;
  moved: number;
  marks?: string[];
}

let database: Awaited<ReturnType<typeof freshDatabase>>;
let proxy: TcpProxy;
let held: ReturnType<typeof openStore>;
let things: Model<Thing>;
let marks = 0;
const guardedThings = (mark = (): string => `m${marks++}`) =>
  new GuardedCollection<Thing>(things, { mark, projection: {} });
const go = (_id: string, to: string, from = "new", more: object = {}): GuardedTransition => ({
  filter: { _id, state: from },
  update: { $set: { state: to, ...more }, $inc: { moved: 1 } } as GuardedTransition["update"],
});
const some = async (count: number): Promise<string[]> => {
  const ids = Array.from({ length: count }, () => randomUUID());
  await things.insertMany(ids.map((_id) => ({ _id, state: "new", moved: 0 })));
  return ids;
};

beforeAll(async () => {
  database = await freshDatabase();
  proxy = await startTcpProxy(database.uri);
  held = openStore(through(proxy, database.uri));
  const schema = new Schema<Thing>(
    {
      _id: { type: String, required: true },
      state: String,
      name: String,
      moved: Number,
      marks: { type: [String], default: undefined },
    },
    SCHEMA_OPTIONS,
  );
  schema.index({ name: 1 }, { unique: true, partialFilterExpression: { name: { $exists: true } } });
  things = held.model("things", schema);
  await held.open();
  await things.createIndexes();
});
afterAll(async () => {
  await held.close();
  await proxy.close();
  await database.drop();
});

test("many callers at once: each transition is made once, whole, and answered with its own document; a shut guard is null", async () => {
  const ids = await some(250);
  const guarded = guardedThings();
  const made = await Promise.all(
    ids.map((id, i) => guarded.transition(i % 5 === 0 ? go(id, "late", "gone") : go(id, `to-${i}`))),
  );
  expect(made.map((d) => d?.state ?? null)).toEqual(ids.map((_, i) => (i % 5 === 0 ? null : `to-${i}`)));
  expect(made.map((d) => d?._id ?? null)).toEqual(ids.map((id, i) => (i % 5 === 0 ? null : id)));
  expect(await things.countDocuments({ moved: 1 })).toBe(200);
});

test("a batch is written in the order of its ids, whatever order it was asked for, so that two batches of the same documents never wait for each other", async () => {
  const ids = await some(20);
  const written: string[][] = [];
  mongoose.set("debug", (_collection: string, method: string, writes: { updateOne: GuardedTransition }[]) => {
    if (method === "bulkWrite") written.push(writes.map((w) => String(w.updateOne.filter["_id"])));
  });
  try {
    const guarded = guardedThings();
    const asked = [ids, ids.toReversed()].map((some) => guarded.transitionMany(some.map((id) => go(id, "a"))));
    const [forward, backward] = await Promise.all(asked);
    expect(forward?.map((doc, i) => doc?._id ?? backward?.toReversed()[i]?._id)).toEqual(ids);
  } finally {
    mongoose.set("debug", false);
  }
  expect(written).toEqual([ids.toSorted(), ids.toSorted()]);
});

test("two transitions of one document at the same moment happen in the order they were asked for", async () => {
  const [id = "", other = ""] = await some(2);
  const guarded = guardedThings();
  const [first, , second, twice] = await Promise.all([
    guarded.transition(go(id, "a")),
    guarded.transition(go(other, "x")),
    guarded.transition(go(id, "b", "a")),
    guarded.transition(go(id, "c", "new")),
  ]);
  expect([first?._id, second?.state, second?.moved, twice]).toEqual([id, "b", 2, null]);
});

test("a unique key of another document shuts the guard, and the other transitions are made", async () => {
  const [a = "", b = "", c = ""] = await some(3);
  const guarded = guardedThings();
  expect((await guarded.transition(go(a, "named", "new", { name: "n1" })))?.name).toBe("n1");
  expect(await guarded.transition(go(b, "named", "new", { name: "n1" }))).toBeNull();
  const [again, free] = await Promise.all([
    guarded.transition(go(b, "named", "new", { name: "n1" })),
    guarded.transition(go(c, "named", "new", { name: "n2" })),
  ]);
  expect([again, free?.name]).toEqual([null, "n2"]);
});

test.each([1, 30])(
  "transitions whose answer is lost until the driver gives up are known by their mark (%i at once)",
  async (count) => {
    const ids = await some(count);
    const guarded = guardedThings();
    const before = proxy.lost();
    proxy.loseReplies(
      (request) => request.subarray(0, 100).includes(count === 1 ? "findAndModify\0" : "update\0"),
      LOSSES_TO_GIVE_UP,
    );
    const made = await Promise.all(ids.map((id) => guarded.transition(go(id, "moved"))));
    expect(proxy.lost() - before).toBe(LOSSES_TO_GIVE_UP);
    expect(made.map((d) => d?.state)).toEqual(ids.map(() => "moved"));
    expect(await things.countDocuments({ _id: { $in: ids }, moved: 1 })).toBe(count);
  },
);

test("a write is known again when others have moved its document since; only the last marks are kept", async () => {
  const [id = ""] = await some(1);
  await guardedThings(() => "mine").transitionMany([go(id, "a")]);
  for (let i = 0; i < 8; i++)
    await guardedThings(() => `other-${i}`).transitionMany([go(id, i % 2 === 0 ? "b" : "a", i % 2 === 0 ? "a" : "b")]);
  const doc = await things.findById(id).lean();
  expect(doc?.marks).toEqual(["other-2", "other-3", "other-4", "other-5", "other-6", "other-7"]);
  expect(doc?.moved).toBe(9);
});
