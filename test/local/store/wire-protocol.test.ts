import { Long, serialize, UUID } from "bson";
import type { Document } from "mongodb";
import { MongoClient } from "mongodb";
import { frameCommand, rawConnection, refusal, storeUnderTest } from "./fixtures/store-under-test.ts";
import type { StoreUnderTest } from "./fixtures/store-under-test.ts";

let t: StoreUnderTest;
beforeAll(async () => {
  t = await storeUnderTest();
});
afterAll(async () => {
  await t.stop();
});

function withSections(requestId: number, body: Document, sequences: [string, Document[]][], flags = 0): Buffer {
  const parts = sequences.map(([name, docs]) => {
    const content = Buffer.concat([Buffer.from(`${name}\0`), ...docs.map((d) => serialize(d))]);
    const head = Buffer.alloc(5);
    head.writeUInt8(1, 0);
    head.writeInt32LE(content.length + 4, 1);
    return Buffer.concat([head, content]);
  });
  const out = Buffer.concat([frameCommand(requestId, body, flags), ...parts]);
  out.writeInt32LE(out.length, 0);
  return out;
}

test("the OP_QUERY handshake is answered by OP_REPLY, as a primary of a replica set", async () => {
  const { socket, reply } = rawConnection(t.store.url);
  const body = serialize({ isMaster: 1, helloOk: true });
  const head = Buffer.alloc(20);
  head.writeInt32LE(77, 4);
  head.writeInt32LE(2004, 12);
  const message = Buffer.concat([
    head,
    Buffer.from("admin.$cmd\0"),
    Buffer.from([0, 0, 0, 0, 255, 255, 255, 255]),
    body,
  ]);
  message.writeInt32LE(message.length, 0);
  socket.write(message.subarray(0, 10));
  socket.write(message.subarray(10));
  expect(await reply()).toMatchObject({
    opcode: 1,
    to: 77,
    doc: {
      ok: 1,
      ismaster: true,
      isWritablePrimary: true,
      setName: "callagent",
      maxWireVersion: 25,
      logicalSessionTimeoutMinutes: 30,
      maxBsonObjectSize: 16777216,
      maxMessageSizeBytes: 48000000,
    },
  });
  socket.destroy();
});

test("document sequences, several messages in one packet, and moreToCome", async () => {
  const { socket, reply } = rawConnection(t.store.url);
  const $db = "test";
  socket.write(
    Buffer.concat([
      withSections(1, { insert: "seq", $db }, [["documents", [{ _id: 1 }, { _id: 2 }]]]),
      withSections(2, { insert: "seq", $db, writeConcern: { w: 0 } }, [["documents", [{ _id: 3 }]]], 2),
      withSections(3, { update: "seq", $db }, [["updates", [{ q: {}, u: { $set: { a: 1 } }, multi: true }]]]),
      withSections(4, { delete: "seq", $db }, [["deletes", [{ q: { _id: 2 }, limit: 1 }]]]),
      frameCommand(5, { find: "seq", $db }),
    ]),
  );
  expect(await reply()).toMatchObject({ opcode: 2013, to: 1, doc: { n: 2, ok: 1 } });
  expect(await reply()).toMatchObject({ to: 3, doc: { n: 3, nModified: 3 } });
  expect(await reply()).toMatchObject({ to: 4, doc: { n: 1 } });
  expect(await reply()).toMatchObject({
    to: 5,
    doc: {
      cursor: {
        firstBatch: [
          { _id: 1, a: 1 },
          { _id: 3, a: 1 },
        ],
      },
    },
  });
  socket.destroy();
});

test("unacknowledged writes of the driver arrive", async () => {
  const client = await new MongoClient(t.store.url, { w: 0, maxPoolSize: 1 }).connect();
  const c = client.db("test").collection<Document>("w0");
  expect(await c.insertOne({ _id: 1 as never })).toMatchObject({ acknowledged: false });
  expect(await c.countDocuments()).toBe(1);
  await client.close();
});

test("a message that breaks the protocol ends its connection and no other", async () => {
  const overrun = frameCommand(1, { ping: 1, $db: "a" });
  overrun.writeInt32LE(9999, 21);
  const bad = [
    Buffer.from("GET / HTTP/1.1\r\n\r\n"),
    Buffer.from([255, 255, 255, 127, 0, 0, 0, 0]),
    withSections(1, { ping: 1 }, [], 1 << 5),
    overrun,
  ];
  for (const message of bad) {
    const { socket, closed } = rawConnection(t.store.url);
    socket.write(message);
    await closed;
  }
  const { socket, reply } = rawConnection(t.store.url);
  const broken = frameCommand(9, { ping: 1, text: "abc", $db: "admin" });
  broken.writeUInt8(0x99, 21 + 4 + 10);
  socket.write(broken);
  expect((await reply()).doc).toMatchObject({ ok: 0, code: 22, codeName: "InvalidBSON" });
  socket.destroy();
  expect(await t.client.db("admin").command({ ping: 1 })).toMatchObject({ ok: 1 });
});

const refused: [Document, number, string][] = [
  [{ nonsense: 1 }, 59, "CommandNotFound"],
  [{ find: "a", bogus: 1 }, 40415, "IDLUnknownField"],
  [{ find: "a", filter: 5 }, 14, "TypeMismatch"],
  [{ find: "a", limit: -1 }, 51024, "Location51024"],
  [{ find: "a", collation: { locale: "de" } }, 115, "CommandNotSupported"],
  [{ find: "a", tailable: true }, 115, "CommandNotSupported"],
  [{ find: "a", readConcern: { level: "snapshot" } }, 72, "InvalidOptions"],
  [{ find: "a", projection: { "a.$": 1, b: { $meta: "textScore" } } }, 115, "CommandNotSupported"],
  [{ collMod: "a" }, 115, "CommandNotSupported"],
  [{ create: "v", viewOn: "a" }, 115, "CommandNotSupported"],
  [{ create: "v", capped: true, size: 5 }, 115, "CommandNotSupported"],
  [{ create: "v", validator: { a: 1 } }, 115, "CommandNotSupported"],
  [{ update: "a", updates: [{ q: {}, u: {}, bogus: 1 }] }, 40415, "IDLUnknownField"],
  [{ delete: "a", deletes: [{ q: {}, limit: 5 }] }, 9, "FailedToParse"],
  [{ insert: "a", documents: [] }, 16, "InvalidLength"],
  [{ aggregate: "a", pipeline: [] }, 9, "FailedToParse"],
  [{ ping: 1, writeConcern: { w: 3 } }, 100, "Location100"],
  [{ getParameter: 1, nothing: 1 }, 72, "InvalidOptions"],
  [{ commitTransaction: 1 }, 251, "NoSuchTransaction"],
  [{ find: "a", filter: {}, sort: { a: 2 } }, 15975, "Location15975"],
  [{ explain: { nope: 1 } }, 59, "CommandNotFound"],
];
test.each(refused)("refused: %j", async (command, code, codeName) => {
  const db = t.client.db("test");
  await db.collection("a").updateOne({ _id: 1 as never }, { $set: { x: 1 } }, { upsert: true });
  expect(await refusal(db.command(command))).toEqual([code, codeName]);
});

test("transactions are refused with MongoDB's code, and leave nothing", async () => {
  const c = await t.fresh();
  const session = t.client.startSession();
  session.startTransaction();
  expect(await refusal(c.insertOne({ a: 1 }, { session }))).toEqual([263, "OperationNotSupportedInTransaction"]);
  await session.abortTransaction().catch(() => undefined);
  await session.endSession();
  expect(await c.countDocuments()).toBe(0);
});

test("a retried write gets its first answer; an older one is refused", async () => {
  const c = await t.fresh([{ _id: 1, n: 0 }]);
  const db = t.client.db("test");
  const lsid = { id: new UUID() };
  const command = {
    findAndModify: c.collectionName,
    query: { _id: 1 },
    update: { $inc: { n: 1 } },
    new: true,
    lsid,
    txnNumber: Long.fromNumber(5),
  };
  const { socket, reply } = rawConnection(t.store.url);
  const run = async (doc: Document): Promise<Document> => {
    socket.write(frameCommand(1, { ...doc, $db: "test" }));
    return (await reply()).doc;
  };
  expect(await run(command)).toMatchObject({ value: { n: 1 } });
  expect(await run(command)).toMatchObject({ value: { n: 1 } });
  expect(await run({ ...command, txnNumber: Long.fromNumber(6) })).toMatchObject({ value: { n: 2 } });
  expect(await run(command)).toMatchObject({ ok: 0, code: 225, codeName: "TransactionTooOld" });
  const insert = { insert: c.collectionName, documents: [{ _id: 7 }], lsid, txnNumber: Long.fromNumber(7) };
  expect(await run(insert)).toEqual({ n: 1, ok: 1 });
  expect(await run(insert)).toEqual({ n: 1, ok: 1 });
  expect(await db.collection(c.collectionName).countDocuments()).toBe(2);
  socket.destroy();
});

test("the driver's own retry after a dropped connection does not write twice; staged failures end", async () => {
  const c = await t.fresh([{ _id: 1, n: 0 }]);
  const admin = t.client.db("admin");
  await admin.command({
    configureFailPoint: "failCommand",
    mode: { times: 1 },
    data: { failCommands: ["findAndModify"], closeConnection: true },
  });
  expect(await c.findOneAndUpdate({}, { $inc: { n: 1 } }, { returnDocument: "after" })).toMatchObject({ n: 1 });
  await admin.command({
    configureFailPoint: "failCommand",
    mode: { times: 1 },
    data: { failCommands: ["count"], errorCode: 8 },
  });
  expect((await refusal(c.estimatedDocumentCount()))[0]).toBe(8);
  expect(await c.estimatedDocumentCount()).toBe(1);
  expect(await admin.command({ configureFailPoint: "other", mode: "off" }).catch((x: unknown) => x)).toMatchObject({
    code: 2,
  });
});

test("databases, collections, server facts", async () => {
  const db = t.client.db("facts");
  await db.createCollection("one");
  await db.collection("two").insertOne({});
  expect((await db.listCollections().toArray()).map((x) => x.name)).toEqual(["one", "two"]);
  expect(await db.listCollections({ name: "two" }, { nameOnly: true }).toArray()).toEqual([
    { name: "two", type: "collection" },
  ]);
  expect((await t.client.db().admin().listDatabases({ nameOnly: true })).databases).toContainEqual({ name: "facts" });
  expect(await db.dropCollection("one")).toBe(true);
  await db.dropDatabase();
  expect(await db.listCollections().toArray()).toEqual([]);
  expect(await db.admin().buildInfo()).toMatchObject({ version: "8.0.0", maxBsonObjectSize: 16777216 });
  expect(await db.admin().serverStatus()).toMatchObject({ storageEngine: { name: "sqlite" } });
  expect(await db.command({ connectionStatus: 1 })).toMatchObject({ authInfo: { authenticatedUsers: [] } });
  expect(await db.admin().command({ getParameter: 1, featureCompatibilityVersion: 1 })).toMatchObject({
    featureCompatibilityVersion: { version: "8.0" },
  });
});

test("what mongorestore says beside its documents and indexes is taken; an index that would be another one is refused", async () => {
  const db = t.client.db("restored");
  const ok = { bypassDocumentValidation: true, bypassEmptyTsReplacement: true };
  await db.command({ insert: "c", documents: [{ _id: 1, a: 1 }], ...ok });
  await db.command({ update: "c", updates: [{ q: { _id: 1 }, u: { $set: { a: 2 } } }], ...ok });
  await db.command({ findAndModify: "c", query: { _id: 1 }, update: { $inc: { a: 1 } }, ...ok });
  expect(await db.collection("c").find().toArray()).toEqual([{ _id: 1, a: 3 }]);
  const indexes = (options: Document): Document => ({
    createIndexes: "c",
    indexes: [{ key: { a: 1 }, name: "a_1", ...options }],
    ignoreUnknownIndexOptions: true,
  });
  await expect(db.command(indexes({ hidden: true }))).rejects.toMatchObject({ code: 197 });
  await expect(db.command({ ...indexes({ fromLongAgo: 1 }), ignoreUnknownIndexOptions: false })).rejects.toMatchObject({
    code: 197,
  });
  await db.command(indexes({ fromLongAgo: 1 }));
  expect(await db.collection("c").indexes()).toContainEqual({ v: 2, key: { a: 1 }, name: "a_1" });
});
