import { Schema } from "mongoose";
import { startStore } from "../../../local/store/server.ts";
import { freePort } from "../../../local/tools/stack/ports.ts";
import { MAX_QUERY_MS, openStore, SCHEMA_OPTIONS } from "../../../shared/database/mongo.ts";

/** Longer than one try of the driver to find the server. */
const LATE_MS = 5500;

test("a database that comes up later than the driver waits is waited for, and used", async () => {
  const port = await freePort();
  const held = openStore(`mongodb://127.0.0.1:${port}/late`);
  const model = held.model("things", new Schema({ _id: { type: String, required: true } }, SCHEMA_OPTIONS));
  const started = new Promise<Awaited<ReturnType<typeof startStore>>>((resolve, reject) => {
    setTimeout(() => {
      startStore({ dir: ":memory:", port }).then(resolve, reject);
    }, LATE_MS);
  });
  await Promise.all([held.open(), started]);
  await model.create({ _id: "a" });
  expect([held.isUp(), await model.countDocuments()]).toEqual([true, 1]);
  await held.close();
  await (await started).close();
});

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
