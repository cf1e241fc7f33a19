import type { Document } from "mongodb";
import { refusal, storeUnderTest } from "./fixtures/store-under-test.ts";
import type { StoreUnderTest } from "./fixtures/store-under-test.ts";

let t: StoreUnderTest;
beforeAll(async () => {
  t = await storeUnderTest();
});
afterAll(async () => {
  await t.stop();
});

const MISSING = 40414;

describe("a write that does not say what it is meant for is refused, and writes nothing", () => {
  const bulk = (op: Document): Document => ({ bulkWrite: 1, ops: [op], nsInfo: [{ ns: "test.guarded" }] });
  const cases: [string, Document, number][] = [
    ["update without q", { update: "guarded", updates: [{ u: { $set: { n: 9 } }, multi: true }] }, MISSING],
    ["update, q null", { update: "guarded", updates: [{ q: null, u: { $set: { n: 9 } }, multi: true }] }, MISSING],
    ["update, q a number", { update: "guarded", updates: [{ q: 1, u: { $set: { n: 9 } }, multi: true }] }, 14],
    ["update without u", { update: "guarded", updates: [{ q: {}, multi: true }] }, MISSING],
    ["update without updates", { update: "guarded" }, MISSING],
    ["delete without q", { delete: "guarded", deletes: [{ limit: 0 }] }, MISSING],
    ["delete, q null", { delete: "guarded", deletes: [{ q: null, limit: 0 }] }, MISSING],
    ["delete without limit", { delete: "guarded", deletes: [{ q: {} }] }, MISSING],
    ["delete, limit a string", { delete: "guarded", deletes: [{ q: {}, limit: "0" }] }, 14],
    ["delete without deletes", { delete: "guarded" }, MISSING],
    ["bulkWrite, delete without filter", bulk({ delete: 0, multi: true }), MISSING],
    ["bulkWrite, delete, filter null", bulk({ delete: 0, filter: null, multi: true }), MISSING],
    ["bulkWrite, update without filter", bulk({ update: 0, updateMods: { $set: { n: 9 } }, multi: true }), MISSING],
    ["bulkWrite, update without updateMods", bulk({ update: 0, filter: {}, multi: true }), MISSING],
    ["bulkWrite, insert without document", bulk({ insert: 0 }), MISSING],
    ["bulkWrite without nsInfo", { bulkWrite: 1, ops: [{ delete: 0, filter: {}, multi: true }] }, MISSING],
    ["bulkWrite without ops", { bulkWrite: 1, nsInfo: [{ ns: "test.guarded" }] }, MISSING],
    ["insert without documents", { insert: "guarded" }, MISSING],
  ];
  it.each(cases)("%s", async (_name, command, code) => {
    const c = t.client.db("test").collection("guarded");
    await c.deleteMany({});
    await c.insertMany([{ n: 1 }, { n: 2 }]);
    const db = t.client.db(command["bulkWrite"] === undefined ? "test" : "admin");
    expect((await refusal(db.command(command)))[0]).toBe(code);
    expect((await c.find().toArray()).map(({ n }) => n)).toEqual([1, 2]);
  });
});

describe("a faulty query is refused also where there is no collection", () => {
  const filters: [Document, number][] = [
    [{ $bogus: 1 }, 2],
    [{ $where: "true" }, 115],
    [{ $jsonSchema: {} }, 115],
    [{ a: { $bogus: 1 } }, 2],
  ];
  const commands: Record<string, (filter: Document) => Document> = {
    find: (filter) => ({ find: "nothing", filter }),
    count: (query) => ({ count: "nothing", query }),
    distinct: (query) => ({ distinct: "nothing", key: "a", query }),
    aggregate: ($match) => ({ aggregate: "nothing", pipeline: [{ $match }], cursor: {} }),
    findAndModify: (query) => ({ findAndModify: "nothing", query, remove: true }),
    "findAndModify, update": (query) => ({ findAndModify: "nothing", query, update: { $set: { a: 1 } } }),
  };
  for (const [name, command] of Object.entries(commands))
    it.each(filters)(`${name} %j`, async (filter, code) => {
      expect((await refusal(t.client.db("test").command(command(filter))))[0]).toBe(code);
    });

  const others: [string, Document, number][] = [
    ["the sort of a find", { find: "nothing", sort: { a: 2 } }, 15975],
    ["the projection of a find", { find: "nothing", projection: { a: { $bogus: 1 } } }, 168],
    ["a stage", { aggregate: "nothing", pipeline: [{ $bogus: 1 }], cursor: {} }, 40324],
    ["a statement of update", { update: "nothing", updates: [{ q: { $bogus: 1 }, u: { $set: { a: 1 } } }] }, 2],
    ["a statement of delete", { delete: "nothing", deletes: [{ q: { $bogus: 1 }, limit: 0 }] }, 2],
  ];
  it.each(others)("%s", async (_name, command, code) => {
    const answer = await t.client
      .db("test")
      .command(command)
      .catch((error: { code: number }) => ({ writeErrors: [error] }));
    expect(answer["writeErrors"][0].code).toBe(code);
  });
});
