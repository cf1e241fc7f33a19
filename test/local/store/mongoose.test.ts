import mongoose from "mongoose";
import { startStore } from "../../../local/store/server.ts";
import type { RunningStore } from "../../../local/store/server.ts";

let store: RunningStore;
let db: mongoose.Connection;
beforeAll(async () => {
  store = await startStore({ dir: ":memory:", port: 0 });
  db = await mongoose.createConnection(store.url, { dbName: "odm" }).asPromise();
});
afterAll(async () => {
  await db.close();
  await store.close();
});

const leadSchema = new mongoose.Schema(
  {
    request_id: { type: String, required: true },
    merchant: { type: mongoose.Schema.Types.ObjectId, ref: "Merchant" },
    status: { type: String, default: "BACKLOG" },
    due_at: Date,
    attempts: [{ at: Date, outcome: String }],
    facts: { type: Map, of: Number },
    price: mongoose.Schema.Types.Decimal128,
    blob: Buffer,
  },
  { timestamps: true, optimisticConcurrency: true },
);
leadSchema.index({ request_id: 1 }, { unique: true });
leadSchema.index({ due_at: 1, _id: 1 }, { partialFilterExpression: { due_at: { $exists: true } } });

test("models: indexes, create, find, populate, save, sub-documents, versions, cursors, aggregate", async () => {
  const Merchant = db.model("Merchant", new mongoose.Schema({ name: String }));
  const Lead = db.model("Lead", leadSchema);
  await Lead.init();
  expect((await Lead.collection.indexes()).map((i) => i["name"])).toEqual(["_id_", "request_id_1", "due_at_1__id_1"]);
  const shop = await Merchant.create({ name: "Shop" });
  const lead = await Lead.create({
    request_id: "r1",
    merchant: shop._id,
    due_at: new Date(1000),
    attempts: [{ at: new Date(1), outcome: "busy" }],
    facts: { a: 1 },
    price: "1.10",
    blob: Buffer.from("x"),
  });
  const read = await Lead.findById(lead._id).populate<{ merchant: { name: string } }>("merchant").orFail();
  expect(read.merchant.name).toBe("Shop");
  expect([read.price?.toString(), read.facts?.get("a"), read.blob?.toString(), read.createdAt instanceof Date]).toEqual(
    ["1.10", 1, "x", true],
  );
  read.attempts.push({ at: new Date(2), outcome: "answered" });
  read.set("status", "DONE");
  await read.save();
  const stale = await Lead.findById(lead._id).orFail();
  await Lead.updateOne({ _id: lead._id }, { $inc: { __v: 1 } });
  stale.status = "LATE";
  await expect(stale.save()).rejects.toThrow(/version/i);
  expect(
    await Lead.findOneAndUpdate(
      { _id: lead._id, "attempts.outcome": "busy" },
      { $set: { "attempts.$.outcome": "no_answer" }, $unset: { due_at: 1 } },
      { returnDocument: "after" },
    ).lean(),
  ).toMatchObject({ status: "DONE", attempts: [{ outcome: "no_answer" }, { outcome: "answered" }] });
  await expect(Lead.create({ request_id: "r1" })).rejects.toMatchObject({
    code: 11000,
    keyPattern: { request_id: 1 },
    keyValue: { request_id: "r1" },
  });
  await Lead.insertMany(
    Array.from({ length: 30 }, (_, i) => ({ request_id: `b${i}`, due_at: new Date(i), merchant: shop._id })),
  );
  let n = 0;
  for await (const one of Lead.find({ due_at: { $lte: new Date(20) } })
    .sort({ due_at: 1, _id: 1 })
    .cursor({ batchSize: 5 }))
    expect(one.due_at?.getTime()).toBe(n++);
  expect(n).toBe(21);
  expect(
    await Lead.aggregate([
      { $match: { merchant: shop._id } },
      { $group: { _id: "$merchant", n: { $sum: 1 } } },
      { $lookup: { from: "merchants", localField: "_id", foreignField: "_id", as: "m" } },
      { $project: { _id: 0, n: 1, name: { $first: "$m.name" } } },
    ]),
  ).toEqual([{ n: 31, name: "Shop" }]);
  expect(await Lead.exists({ request_id: "b3" })).not.toBeNull();
  expect(
    (
      await Lead.bulkWrite([
        { updateMany: { filter: { status: "BACKLOG" }, update: { $set: { status: "X" } } } },
        { deleteOne: { filter: { request_id: "b0" } } },
      ])
    ).modifiedCount,
  ).toBe(30);
  expect(await Lead.distinct("status")).toEqual(["DONE", "X"]);
});

test("one of many wins a guarded update", async () => {
  const Claim = db.model("Claim", new mongoose.Schema({ status: String, claim_no: Number }));
  const { _id } = await Claim.create({ status: "BACKLOG", claim_no: 0 });
  const won = await Promise.all(
    Array.from({ length: 25 }, () =>
      Claim.findOneAndUpdate(
        { _id, status: "BACKLOG" },
        { $set: { status: "PROCESSING" }, $inc: { claim_no: 1 } },
        { returnDocument: "after" },
      ),
    ),
  );
  expect(won.filter((x) => x !== null).map((x) => x?.claim_no)).toEqual([1]);
});
