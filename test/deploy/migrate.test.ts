import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { MongoClient, type Db } from "mongodb";
import { collections } from "../../deploy/migrate/collections.ts";
import { freshDatabase, setStage, type Stage } from "../../local/harness/stage.ts";
import { ROOT } from "../../local/tools/stack/project-root.ts";
import blacklist from "../../services/blacklist/blacklist.service.ts";
import { collectionsOf } from "../house/rules.ts";
import { readProject } from "../house/sources.ts";

/** `npm run migrate`, as an operator runs it. */
let database: Awaited<ReturnType<typeof freshDatabase>>;
let client: MongoClient;
let db: Db;
beforeAll(async () => {
  database = await freshDatabase();
  client = await MongoClient.connect(database.uri);
  db = client.db();
});
afterAll(async () => {
  await client.close();
  await database.drop();
});

const LIMIT_MS = 60_000;
const migrate = (): Promise<{ code: number; out: string; err: string }> => {
  const env = { ...process.env, MONGODB_URI: database.uri };
  return promisify(execFile)(process.execPath, [join(ROOT, "deploy", "migrate", "main.ts")], { env, timeout: LIMIT_MS })
    .then(({ stdout, stderr }) => ({ code: 0, out: stdout, err: stderr }))
    .catch((e: { code: number; stdout: string; stderr: string }) => ({ code: e.code, out: e.stdout, err: e.stderr }));
};
/** A service that only checks at its start. */
const start = (): Promise<Stage> =>
  setStage({ services: [blacklist], env: { MONGODB_URI: database.uri, MIGRATE_AT_START: "false" } });
const indexesOf = async (name: string): Promise<string[]> =>
  (await db.collection(name).indexes()).map((index) => index.name ?? "");

test("a service that finds its indexes missing says which and what to do, and does not start", async () => {
  await expect(start()).rejects.toThrow(
    /^The database is not prepared for this version of callagent: the collection blacklist lacks the index .*npm run migrate/,
  );
});

test("migrate makes every collection and index, says which, and the service starts", async () => {
  const first = await migrate();
  expect([first.code, first.err]).toEqual([0, ""]);
  expect(first.out).toMatch(/^leads: making due_by_queue, /m);
  const there = new Set((await db.listCollections().toArray()).map((c) => c.name));
  expect(collections.filter(({ name }) => !there.has(name))).toEqual([]);
  await (await start()).stop();
});

test("a second run changes nothing; one index that is gone is made again, one of a former version goes", async () => {
  expect((await migrate()).out).toBe("The database is as this version needs it.\n");
  const [lost = ""] = (await indexesOf("blacklist")).filter((name) => name !== "_id_");
  await db.collection("blacklist").dropIndex(lost);
  await db.collection("leads").createIndex({ template_id: 1, due_at: 1 }, { name: "due" });
  await expect(start()).rejects.toThrow(lost);
  expect((await migrate()).out).toBe(`blacklist: making ${lost} …\nleads: dropped due\nDone: 2 indexes changed.\n`);
  expect(await indexesOf("leads")).not.toContain("due");
  await (await start()).stop();
});

test("an index of the same name over other fields fails the run with the database's words", async () => {
  const [name = ""] = (await indexesOf("numbers")).filter((index) => index !== "_id_");
  await db.collection("numbers").dropIndex(name);
  await db.collection("numbers").createIndex({ another_field: 1 }, { name });
  const failed = await migrate();
  expect([failed.code, failed.err]).toEqual([1, expect.stringMatching(/^The migration failed: .*index/i)]);
  await db.collection("numbers").dropIndex(name);
  expect((await migrate()).code).toBe(0);
});

test("the table of collections names each that a service opens, and no other", () => {
  const opened = collectionsOf(readProject().filter((file) => file.path.startsWith("services/"))).map(
    ({ collection }) => collection,
  );
  expect(collections.map(({ name }) => name).sort()).toEqual([...new Set(opened)].sort());
});
