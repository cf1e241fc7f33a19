import { Schema } from "mongoose";
import { startStore } from "../../../local/store/server.ts";
import { freePort } from "../../../local/tools/stack/ports.ts";
import { openStore, SCHEMA_OPTIONS } from "../../../shared/database/mongo.ts";

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
