/** Measures the store as a service sees it: through mongoose, from another process, with indexes and durability on. `node local/store/benchmark.ts [seconds]` */
import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import mongoose from "mongoose";

const IN_FLIGHT = 50;
const DEFAULT_SECONDS = 3;
const CLAIM_DOCS = 300_000;
const INSERT_BATCH = 5000;
/** What another client may wait for while an index is built, milliseconds. */
const BUILD_P99_MS = 100;
const FLOORS: Readonly<Record<string, number>> = { create: 5900, findById: 8100, findOneAndUpdate: 4700 };

const schema = new mongoose.Schema(
  {
    configuration_id: String,
    request_id: { type: String, unique: true },
    status: String,
    due_at: Date,
    attempt_count: Number,
    payload: Object,
  },
  { timestamps: true },
);
schema.index({ configuration_id: 1, due_at: 1, _id: 1 }, { partialFilterExpression: { due_at: { $exists: true } } });

function startChild(dir: string): Promise<{ child: ChildProcess; url: string }> {
  const child = fork(new URL("main.ts", import.meta.url), ["--dir", dir, "--port", "0"], {
    stdio: ["ignore", "pipe", "inherit", "ipc"],
  });
  return new Promise((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`the store ended with ${String(code)}`)));
    child.stdout?.once("data", (line: Buffer) => {
      const ready: unknown = JSON.parse(line.toString());
      if (typeof ready === "object" && ready !== null && "url" in ready && typeof ready.url === "string")
        resolve({ child, url: ready.url });
    });
  });
}

const TICK_US = 10_000;
let storePid = 0;

/** Processor time of the store so far, microseconds; undefined where there is no /proc. It says more than a rate does on a busy machine. */
function storeCpu(): number | undefined {
  try {
    const fields = readFileSync(`/proc/${storePid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
    return (Number(fields[11]) + Number(fields[12])) * TICK_US;
  } catch {
    return undefined;
  }
}

interface Rate {
  perSecond: number;
  storeMicros: number | undefined;
}

/** Operations per second with 50 in flight. */
async function rate(seconds: number, once: (n: number) => Promise<unknown>): Promise<Rate> {
  const cpu = storeCpu();
  const until = performance.now() + seconds * 1000;
  const started = performance.now();
  let n = 0;
  await Promise.all(
    Array.from({ length: IN_FLIGHT }, async () => {
      while (performance.now() < until) await once(n++);
    }),
  );
  const perSecond = n / ((performance.now() - started) / 1000);
  const after = storeCpu();
  return { perSecond, storeMicros: cpu === undefined || after === undefined ? undefined : (after - cpu) / n };
}

function report(name: string, { perSecond, storeMicros }: Rate): void {
  const floor = FLOORS[name];
  const micros =
    storeMicros === undefined
      ? ""
      : `   ${Math.round(storeMicros).toString().padStart(5)} µs of the store's processor each`;
  console.log(
    `${name.padEnd(28)} ${Math.round(perSecond).toString().padStart(7)}/s${floor === undefined ? "" : `   floor ${floor}   ${perSecond >= floor ? "ok" : "BELOW"}`}${micros}`,
  );
}

/** How long another client waits for a ping and an insert while an index is built. */
async function reportBuild(collection: mongoose.mongo.Collection): Promise<void> {
  const { db } = mongoose.connection;
  const other = mongoose.connection.collection("others");
  const build = { done: false };
  const started = performance.now();
  const building = collection.createIndex({ "payload.notes": 1, request_id: -1 }).then(() => (build.done = true));
  const waits: number[] = [];
  const timed = async (work: () => Promise<unknown>): Promise<void> => {
    const began = performance.now();
    await work();
    waits.push(performance.now() - began);
  };
  while (!build.done) {
    await timed(async () => db?.command({ ping: 1 }));
    await timed(() => other.insertOne({}));
  }
  await building;
  const took = performance.now() - started;
  waits.sort((a, b) => a - b);
  const at = (share: number): number => waits[Math.min(waits.length - 1, Math.floor(waits.length * share))] ?? 0;
  console.log(
    `index over ${CLAIM_DOCS} and more in ${Math.round(took)} ms; another client's ${waits.length} pings and inserts: p50 ${at(0.5).toFixed(1)} ms, p99 ${at(0.99).toFixed(1)} ms, max ${at(1).toFixed(1)} ms   bound ${BUILD_P99_MS}   ${at(0.99) <= BUILD_P99_MS ? "ok" : "ABOVE"}`,
  );
}

async function run(url: string, seconds: number): Promise<void> {
  await mongoose.connect(url, { dbName: "bench", maxPoolSize: IN_FLIGHT });
  const Lead = mongoose.model("Lead", schema);
  await Lead.init();
  const payload = { first_name: "Ada", last_name: "Lovelace", phone_number: "+14155550100", notes: "x".repeat(120) };
  const ids: mongoose.Types.ObjectId[] = [];
  report(
    "create",
    await rate(seconds, async (n) => {
      const lead = await Lead.create({
        configuration_id: `c${n % 20}`,
        request_id: `r${n}`,
        status: "BACKLOG",
        due_at: new Date(Date.now() + n),
        attempt_count: 0,
        payload,
      });
      ids.push(lead._id);
    }),
  );
  const pick = (n: number): mongoose.Types.ObjectId | undefined => ids[(n * 7919) % ids.length];
  report("findById", await rate(seconds, (n) => Lead.findById(pick(n)).exec()));
  report(
    "findOneAndUpdate",
    await rate(seconds, (n) =>
      Lead.findOneAndUpdate(
        { _id: pick(n), status: "BACKLOG" },
        { $inc: { attempt_count: 1 }, $set: { due_at: new Date() } },
        { returnDocument: "after" },
      ).exec(),
    ),
  );
  const plain = Lead.collection;
  const now = Date.now();
  for (let from = 0; from < CLAIM_DOCS; from += INSERT_BATCH) {
    await plain.insertMany(
      Array.from({ length: INSERT_BATCH }, (_, i) => ({
        configuration_id: "claim",
        request_id: `q${from + i}`,
        status: "BACKLOG",
        due_at: new Date(now + (from + i) * 1000),
        attempt_count: 0,
        payload,
      })),
    );
  }
  const late = new Date(now + CLAIM_DOCS * 1000);
  report(
    "claim query, 200 of many",
    await rate(seconds, () =>
      plain
        .find({ configuration_id: "claim", due_at: { $lte: late } })
        .sort({ due_at: 1, _id: 1 })
        .limit(200)
        .toArray(),
    ),
  );
  await reportBuild(plain);
  await mongoose.disconnect();
}

const dir = mkdtempSync(join(tmpdir(), "callagent-bench-"));
const { child, url } = await startChild(dir);
storePid = child.pid ?? 0;
try {
  await run(url, Number(process.argv[2] ?? DEFAULT_SECONDS));
} finally {
  child.removeAllListeners("exit");
  child.disconnect();
  rmSync(dir, { recursive: true, force: true });
}
