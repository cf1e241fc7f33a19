import { fork, spawnSync } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Document } from "mongodb";
import { MongoClient } from "mongodb";
import { startStore } from "../../../../local/store/server.ts";

const MAIN = fileURLToPath(new URL("../../../../local/store/main.ts", import.meta.url));
let dir: string;
/** What the started stores wrote to stderr. */
let said: string;
beforeEach(() => {
  said = "";
  dir = mkdtempSync(join(tmpdir(), "callagent-store-test-"));
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

function start(...more: string[]): Promise<{ child: ChildProcess; url: string; ended: Promise<number | null> }> {
  const child = fork(MAIN, ["--dir", dir, "--port", "0", ...more], {
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    execArgv: [],
  });
  child.stderr?.on("data", (data: Buffer) => (said += data.toString()));
  const ended = new Promise<number | null>((resolve) => {
    child.once("exit", (code) => resolve(code));
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    void ended.then((code) => reject(new Error(`ended with ${String(code)} before it was ready`)));
    child.stdout?.once("data", (line: Buffer) => {
      const { event, url } = JSON.parse(line.toString()) as { event: string; url: string };
      expect(event).toBe("ready");
      resolve({ child, url, ended });
    });
  });
}

/** What the writers have been told: documents inserted, and how often each was changed at least. */
interface Acknowledged {
  inserted: number[];
  bumped: Map<number, number>;
}

/** Twenty writers on a store in a process of its own, which is killed after so many acknowledged inserts. */
async function writeUntilKilled(acked: Acknowledged, enough: number): Promise<void> {
  const { child, url, ended } = await start();
  const client = await new MongoClient(url, { serverSelectionTimeoutMS: 500, socketTimeoutMS: 2000 }).connect();
  const c = client.db("d").collection<Document>("c");
  await c.createIndex({ n: 1 }, { unique: true });
  // No unacknowledged insert of a former life is in the way.
  let next = ((await c.find().sort({ n: -1 }).limit(1).toArray())[0]?.["n"] ?? -1) + 1;
  const until = acked.inserted.length + enough;
  const writers = Array.from({ length: 20 }, async () => {
    for (;;) {
      const n = next++;
      try {
        await c.insertOne({ _id: n as never, n, bumps: 0 });
        acked.inserted.push(n);
        const after = await c.findOneAndUpdate({ n: n - (n % 7) }, { $inc: { bumps: 1 } }, { returnDocument: "after" });
        if (after !== null) acked.bumped.set(after["n"], Math.max(acked.bumped.get(after["n"]) ?? 0, after["bumps"]));
      } catch {
        return;
      }
      if (acked.inserted.length >= until) child.kill("SIGKILL");
    }
  });
  await Promise.all(writers);
  await ended;
  await client.close();
}

test("every acknowledged write is there after many a kill -9, and each start is silent", async () => {
  const acked: Acknowledged = { inserted: [], bumped: new Map() };
  const rounds = [400, 1, 90, 7, 150];
  for (const enough of rounds) await writeUntilKilled(acked, enough);
  expect(acked.inserted.length).toBeGreaterThanOrEqual(rounds.reduce((a, b) => a + b));
  const reports: unknown[] = [];
  const store = await startStore({ dir, port: 0, report: (e) => reports.push(e) });
  const again = await new MongoClient(store.url).connect();
  const docs = await again.db("d").collection<Document>("c").find().toArray();
  const found = new Map(docs.map((d) => [d["n"], d["bumps"]]));
  expect(acked.inserted.filter((n) => !found.has(n))).toEqual([]);
  expect([...acked.bumped].filter(([n, bumps]) => found.get(n) < bumps)).toEqual([]);
  for (const n of acked.inserted.slice(0, 50))
    expect(await again.db("d").collection("c").countDocuments({ n })).toBe(1);
  expect(
    await again
      .db("d")
      .collection("c")
      .countDocuments({ n: { $gte: 0 } }),
  ).toBe(docs.length);
  await again.close();
  await store.close();
  expect([reports, said]).toEqual([[], ""]);
}, 60_000);

test("the program: SIGTERM and a lost parent end it with 0; a taken port, a folder in use and an unwritable one with a clear line", async () => {
  const { child, url, ended } = await start();
  const port = new URL(url).port;
  const run = (args: string[]): { status: number | null; stderr: string } =>
    spawnSync(process.execPath, [MAIN, ...args], { encoding: "utf8" });
  expect(run(["--port", "0", "--dir", dir])).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/^store: .* is in use by another store: .*\n$/),
  });
  const other = mkdtempSync(join(tmpdir(), "callagent-store-test-"));
  expect(run(["--port", port, "--dir", other])).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/^store: port \d+ is taken: .*\n$/),
  });
  writeFileSync(join(other, "file"), "");
  expect(run(["--port", "0", "--dir", join(other, "file")])).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/^store: the folder .* cannot be written .*\n$/),
  });
  expect(run(["--port", "x", "--dir", other])).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/^store: --port must be/),
  });
  rmSync(other, { recursive: true });
  child.kill("SIGTERM");
  expect(await ended).toBe(0);
  const second = await start();
  second.child.disconnect();
  expect(await second.ended).toBe(0);
}, 20_000);

test("the program: commits that are missing are one clear line on stderr, and --accept-loss starts it", async () => {
  await writeUntilKilled({ inserted: [], bumped: new Map() }, 20);
  truncateSync(join(dir, "store.sqlite-wal"), 40_000);
  expect(spawnSync(process.execPath, [MAIN, "--dir", dir], { encoding: "utf8" })).toMatchObject({
    status: 1,
    stdout: "",
    stderr: expect.stringMatching(
      /^store: .*store\.sqlite lacks \d+ of \d+ acknowledged commits: .*--accept-loss.*\n$/,
    ),
  });
  const { child, ended } = await start("--accept-loss");
  child.disconnect();
  expect(await ended).toBe(0);
  expect(said).toMatch(/^store: .* lacks .* acknowledged commits: .*\n$/);
  const again = await start();
  again.child.disconnect();
  expect(await again.ended).toBe(0);
}, 20_000);
