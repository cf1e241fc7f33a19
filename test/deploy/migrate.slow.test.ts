import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { MongoClient, type Db } from "mongodb";
import { collections } from "../../deploy/migrate/collections.ts";
import { freshDatabase, setStage, type Stage } from "../../local/harness/stage.ts";
import { ROOT } from "../../local/tools/stack/project-root.ts";
import numbersService from "../../services/numbers/numbers.service.ts";
import blacklist from "../../services/blacklist/blacklist.service.ts";
import { contextOf } from "../../services/config/secrets/client-secrets.model.ts";
import { randomIds } from "../../shared/ids.ts";
import { secretSeal } from "../../shared/process/secret-seal.ts";

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
interface Run {
  code: number;
  out: string;
  err: string;
}
const migrateWith = (keys: Record<string, string>, ...args: string[]): Promise<Run> => {
  const env = { ...process.env, MONGODB_URI: database.uri, ...keys };
  return promisify(execFile)(process.execPath, [join(ROOT, "deploy", "migrate", "main.ts"), ...args], {
    env,
    timeout: LIMIT_MS,
  })
    .then(({ stdout, stderr }) => ({ code: 0, out: stdout, err: stderr }))
    .catch((e: { code: number; stdout: string; stderr: string }) => ({ code: e.code, out: e.stdout, err: e.stderr }));
};
const migrate = (...args: string[]): Promise<Run> => migrateWith({}, ...args);
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

describe("numbers of a version in which a phone number could have several owners", () => {
  const PHONE = "+14155550101";
  const number = (_id: string, reseller_id: string | null, over: object = {}) => ({
    _id,
    phone_number: PHONE,
    provider: "PROVIDER_ONE",
    status: "AVAILABLE",
    reseller_id,
    merchant_id: null,
    removed: null,
    slots: [],
    created_at: new Date("2026-01-01T00:00:00Z"),
    ...over,
  });
  const numbers = () => db.collection<{ _id: string; phone_number: string; removed: string | null }>("numbers");
  const PROVIDER_TWO = { provider: "PROVIDER_TWO", created_at: new Date("2026-02-01T00:00:00Z") };
  beforeAll(async () => {
    await numbers().dropIndex("one_owner");
    await numbers().createIndex({ phone_number: 1, reseller_id: 1, removed: 1 }, { name: "one_live_per_reseller" });
    await numbers().insertMany([
      number("number-a", "reseller-a", { merchant_id: "merchant-a" }),
      number("number-b", "reseller-b", PROVIDER_TWO),
      number("number-gone", "reseller-c", { removed: "number-gone" }),
      number("number-alone", null, { phone_number: "+14155550102" }),
    ]);
    await db.collection("leads").dropIndex("due_by_queue");
  });

  test("are listed without their digits, nothing of them is changed, and all other collections are made", async () => {
    const { code, out, err } = await migrate();
    expect([code, out]).toEqual([1, "leads: making due_by_queue …\n"]);
    expect(err).toContain("is 2 numbers:");
    expect(err).toContain(
      "    number-a  PROVIDER_ONE  AVAILABLE  reseller reseller-a, merchant merchant-a, since 2026-01-01",
    );
    expect(err).toContain("    number-b  PROVIDER_TWO  AVAILABLE  reseller reseller-b, since 2026-02-01");
    expect(err).toContain("npm run migrate -- --delete-number");
    for (const unsaid of [PHONE, "number-gone", "number-alone"]) expect(err).not.toContain(unsaid);
    expect(await numbers().countDocuments({ removed: null })).toBe(3);
    expect(await indexesOf("numbers")).not.toContain("one_owner");
  });

  test("keep the services from starting, also those that prepare their database themselves, which say so without a number", async () => {
    const starting = (how: string): Promise<string> =>
      setStage({ services: [numbersService], env: { MONGODB_URI: database.uri, MIGRATE_AT_START: how } }).then(
        async (stage) => stage.stop().then(() => "started"),
        (error: unknown) => String(error),
      );
    expect(await starting("false")).toMatch(/the collection numbers lacks the index one_owner.*npm run migrate/);
    const said = await starting("true");
    expect(said).toMatch(/the collection numbers holds doubles.*npm run migrate/);
    expect(said).not.toContain(PHONE);
  });

  test("are deleted by whom only an admin can name: one that is no double is not", async () => {
    for (const id of ["number-alone", "number-gone"]) {
      const { code, err } = await migrate("--delete-number", id);
      expect([code, err]).toEqual([
        1,
        expect.stringContaining(`${id} is no number whose phone number another one has`),
      ]);
    }
    const done = await migrate("--delete-number", "number-b");
    expect([done.code, done.err]).toEqual([0, ""]);
    expect(done.out).toMatch(
      /^numbers: deleted number-b\n.*making one_owner.*\nnumbers: dropped one_live_per_reseller\n/s,
    );
    expect(await numbers().distinct("_id", { removed: null })).toEqual(["number-a", "number-alone"]);
    expect(await numbers().findOne({ _id: "number-b" })).toMatchObject({ removed: "number-b", status: "DISABLED" });
    expect((await migrate()).out).toBe("The database is as this version needs it.\n");
  });
});

test("secrets in clear or under the key before are encrypted under SECRETS_KEY, and open as before", async () => {
  const [before, now] = [1, 2].map((of) => Buffer.alloc(32, of).toString("base64"));
  const old = secretSeal({ SECRETS_KEY: before }, randomIds);
  const at = new Date();
  const doc = { reseller_id: "r", merchant_id: null, name: "CRM", created_at: at, updated_at: at };
  const secrets = db.collection<{ _id: string; sealed: string }>("secrets");
  const signing = db.collection<{ _id: string; secrets: object[] }>("webhook_secrets");
  await secrets.insertOne({ _id: "s", ...doc, sealed: old.seal("the value", contextOf(doc)) });
  await signing.insertOne({
    _id: "merchant:m",
    secrets: [
      { value: "whsec_two", valid_until: null },
      { value: "whsec_one", valid_until: at },
    ],
  });
  const keys = { SECRETS_KEY: now ?? "", SECRETS_OTHER_KEY: before ?? "" };
  expect((await migrateWith(keys)).out).toMatch(/^Secrets of 2 documents are now encrypted under SECRETS_KEY\.$/m);
  const seal = secretSeal({ SECRETS_KEY: now }, randomIds);
  const [one, other] = [await secrets.findOne({ _id: "s" }), await signing.findOne({ _id: "merchant:m" })];
  expect(seal.open(one?.sealed ?? "", contextOf(doc))).toBe("the value");
  expect(JSON.stringify(other)).not.toContain("whsec_");
  expect(other?.secrets).toMatchObject([{ valid_until: null }, { valid_until: at }]);
  expect((await migrateWith(keys)).out).toBe("The database is as this version needs it.\n");
});
