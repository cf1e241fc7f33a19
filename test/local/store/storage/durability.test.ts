import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Document } from "mongodb";
import { Decimal128, Double, Long, MongoClient, UUID } from "mongodb";
import { startStore } from "../../../../local/store/server.ts";
import { frameCommand, rawConnection } from "../fixtures/store-under-test.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "callagent-store-test-"));
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

test("a restart keeps documents to the type, indexes, and the answers of retryable writes", async () => {
  const doc = {
    _id: 1,
    d: new Double(1),
    l: Long.fromNumber(1),
    dec: Decimal128.fromString("1.10"),
    u: new UUID(),
    at: new Date(5),
    list: [1, { a: null }],
  };
  const lsid = { id: new UUID() };
  const retry = {
    update: "c",
    updates: [{ q: { _id: 1 }, u: { $inc: { n: 1 } } }],
    lsid,
    txnNumber: Long.fromNumber(1),
    $db: "k",
  };
  const send = async (url: string): Promise<Document> => {
    const { socket, reply } = rawConnection(url);
    socket.write(frameCommand(1, retry));
    const { doc: answer } = await reply();
    socket.destroy();
    return answer;
  };
  const first = await startStore({ dir, port: 0 });
  const one = await new MongoClient(first.url).connect();
  const c = one.db("k").collection<Document>("c");
  await c.insertOne(doc as never);
  await c.createIndex({ l: 1 }, { unique: true, name: "ul", partialFilterExpression: { l: { $exists: true } } });
  await c.createIndex({ list: 1 });
  expect(await send(first.url)).toMatchObject({ n: 1 });
  await one.close();
  await first.close();
  const second = await startStore({ dir, port: 0 });
  const two = await new MongoClient(second.url).connect();
  expect(await send(second.url)).toMatchObject({ n: 1, nModified: 1 });
  const { n, ...kept }: Document =
    (await two.db("k").collection<Document>("c").findOne({}, { promoteValues: false, promoteLongs: false })) ?? {};
  expect(Number(n)).toBe(1);
  expect(kept).toMatchObject({ d: doc.d, l: doc.l, at: doc.at });
  expect(kept["dec"].toString()).toBe("1.10");
  expect(kept["u"].toString("hex")).toBe(doc.u.toString("hex"));
  expect((await two.db("k").collection("c").indexes()).map((i) => i["name"])).toEqual(["_id_", "ul", "list_1"]);
  await expect(two.db("k").collection("c").insertOne({ l: 1 })).rejects.toMatchObject({ code: 11000 });
  const plan = await two.db("k").collection("c").find({ list: 1 }).explain("queryPlanner");
  expect(plan["queryPlanner"].winningPlan.inputStage).toMatchObject({ indexName: "list_1", isMultiKey: true });
  await two.close();
  await second.close();
});

test("startStore in-process: a taken port is an error and leaves the folder free", async () => {
  const blocker = createServer();
  await new Promise<void>((resolve) => {
    blocker.listen(0, "127.0.0.1", () => resolve());
  });
  const { port } = blocker.address() as AddressInfo;
  await expect(startStore({ dir, port })).rejects.toMatchObject({ code: "EADDRINUSE" });
  const store = await startStore({ dir, port: 0 });
  await store.close();
  blocker.close();
});
