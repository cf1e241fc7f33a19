import { Schema } from "mongoose";
import { startStore } from "../../../local/store/server.ts";
import { MAX_QUERY_MS, openStore, SCHEMA_OPTIONS } from "../../../shared/database/mongo.ts";

test("every query, write and aggregation carries a time limit, the caller's own where there is one", async () => {
  const server = await startStore({ dir: ":memory:", port: 0 });
  const held = openStore(server.url.replace("/?", "/bounded?"));
  const model = held.model<{ _id: string; n: number }>(
    "counters",
    new Schema({ _id: { type: String, required: true }, n: Number }, SCHEMA_OPTIONS),
  );
  await held.open();
  const limits: [string, unknown][] = [];
  model.db.set("debug", (_collection: string, method: string, ...args: unknown[]) => {
    const limit = args.flatMap((a) => (typeof a === "object" && a !== null && "maxTimeMS" in a ? [a.maxTimeMS] : []));
    limits.push([method, limit[0]]);
  });
  await model.find({ n: 1 }).lean();
  await model.findOne({ n: 1 }).lean();
  await model.countDocuments({ n: 1 });
  await model.distinct("n");
  await model.aggregate([{ $match: { n: 1 } }]);
  await model.updateOne({ _id: "a" }, { $set: { n: 1 } });
  await model.updateMany({ n: 1 }, { $set: { n: 2 } });
  await model.findOneAndUpdate({ _id: "a" }, { $set: { n: 1 } });
  await model.findOneAndDelete({ _id: "a" });
  await model.deleteOne({ _id: "a" });
  await model.deleteMany({ n: 1 });
  expect(limits.filter(([, limit]) => limit !== MAX_QUERY_MS)).toEqual([]);
  expect(limits.length).toBeGreaterThanOrEqual(11);
  limits.length = 0;
  await model.find({ n: 1 }).maxTimeMS(100).lean();
  await model.updateOne({ _id: "a" }, { $set: { n: 1 } }).maxTimeMS(100);
  expect(limits.map(([, limit]) => limit)).toEqual([100, 100]);
  await held.close();
  await server.close();
});

test("every collection is there before the first command, also one without an index of its own", async () => {
  const server = await startStore({ dir: ":memory:", port: 0 });
  const held = openStore(server.url.replace("/?", "/made?"));
  const id = { _id: { type: String, required: true } };
  const model = held.model("bare", new Schema(id, SCHEMA_OPTIONS));
  held.model("indexed", new Schema({ ...id, n: Number }, SCHEMA_OPTIONS).index({ n: 1 }));
  await held.open();
  const made = (await model.db.listCollections()).map(({ name }) => name);
  expect(made.sort()).toEqual(["bare", "indexed"]);
  await held.close();
  await server.close();
});
