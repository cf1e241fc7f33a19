import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import autocannon from "autocannon";
import { EJSON } from "bson";
import { MongoClient, type Collection, type Db } from "mongodb";
import type { AskedBench } from "../../commands.ts";
import { until } from "../../harness/stage.ts";
import type { Sample } from "../../tools/sample/seed.ts";
import { ROOT } from "../../tools/stack/project-root.ts";
import { startChild, type Child } from "../../tools/stack/supervisor.ts";
import { startBenchStack, type BenchStack } from "../bench-stack.ts";
import { calleeNumber } from "../callees.ts";
import { processorOf } from "../cpu-time.ts";
import { lineOf, topOf, type Figures } from "../figures.ts";
import { copyIndexes, type StoredLead } from "./bare-lead.ts";

const CONNECTIONS = 50;
const ROUNDS = 5;
const ROUND_SECONDS = 5;
const WARM_UP_SECONDS = 3;
const ALONE_SECONDS = 2;
const PROFILED_SECONDS = 15;
/** As long as the product's slowest frequent sweep (LOOK_MS of services/leads/events/publisher.ts). */
const REST_MS = 5000;
const QUIET_MS = 300;
const BULK_ROWS = 10_000;
const A_DAY_SECONDS = 86_400;
const TIMES = { initial_offset: A_DAY_SECONDS, retry_offset: 1 };
const STOP_MS = 1000;
const US_PER_MS = 1000;
const PERCENT = 100;
const ENV = { LOG_LEVEL: "warn", API_RATE_LIMIT_PER_MINUTE: "0" };
/** What of a stack is not the product's work. */
const NOT_OURS = new Set(["store", "carrier", "models"]);

/** One of the two that take the same pushes. `processes`: all of it but its store. */
interface Side {
  url: string;
  token: string | null;
  processes: readonly Child[];
  kept: Child | undefined;
  pushed: number;
  rate: Figures;
  p99: Figures;
  alone: Figures;
  /** Of a push, µs. */
  own: Figures;
  store: Figures;
}

/** Processor time so far, µs. */
interface Used {
  own: number;
  store: number;
}

const named = (name: string): Figures => ({ name, rounds: [] });
const sideOf = (name: string, process: string, side: Pick<Side, "url" | "token" | "processes" | "kept">): Side => ({
  ...side,
  pushed: 0,
  rate: named(name),
  p99: named(`${name}: p99`),
  alone: named(`${name}: one connection`),
  own: named(`${name}: ${process}, each`),
  store: named(`${name}: store, each`),
});

const usedBy = ({ processes, kept }: Side): Used => ({
  own: processes.reduce((sum, child) => sum + processorOf(child.pid()), 0),
  store: processorOf(kept?.pid()),
});

/** Another lead each time, for another callee: an answer that was found once is not found in a cache. */
const leadBody = (sample: Sample, n: number): string =>
  JSON.stringify({
    request_id: `bench-${n}`,
    template_id: sample.templates[0]?.id,
    reseller_id: sample.reseller_id,
    merchant_id: sample.merchant_id,
    payload: {
      customer_mobile_number: calleeNumber(n),
      customer_name: "Ada",
      order_id: `A-${n}`,
      amount: "42.00",
      delivery_date: "Monday, June 9",
    },
  });

async function shoot(side: Side, sample: Sample, seconds: number, connections = CONNECTIONS) {
  const { url, token } = side;
  const result = await autocannon({
    url,
    method: "POST",
    connections,
    duration: seconds,
    requests: [{ setupRequest: (request) => ({ ...request, body: leadBody(sample, side.pushed++) }) }],
    headers: { "content-type": "application/json", ...(token === null ? {} : { authorization: `Bearer ${token}` }) },
  });
  const failed = result.non2xx + result.errors;
  if (failed > 0) throw new Error(`${failed} of ${result.requests.total} pushes to ${url} failed`);
  return { perSecond: result.requests.average, p99: result.latency.p99, count: result.requests.total };
}

/** Resolves once the log of events has stood still for a moment: what pushes leave behind for at once is done. Costs the store one step of an index each time. */
function settled(db: Db): Promise<true> {
  let before: unknown = null;
  return until(
    "the log of events to stand still",
    async () => {
      const [last = null] = await db.collection("lead_events").find().sort({ _id: -1 }).limit(1).toArray();
      const isQuiet = String(last?._id) === before;
      before = String(last?._id);
      return isQuiet || undefined;
    },
    undefined,
    QUIET_MS,
  );
}

/** Many connections, then one. What a push takes of the processors contains its event's way into the log, and what the sweeps take meanwhile. */
async function round(side: Side, db: Db, sample: Sample): Promise<void> {
  await settled(db);
  const before = usedBy(side);
  const { perSecond, p99, count } = await shoot(side, sample, ROUND_SECONDS);
  await settled(db);
  const after = usedBy(side);
  side.rate.rounds.push(perSecond);
  side.p99.rounds.push(p99);
  side.own.rounds.push((after.own - before.own) / count);
  side.store.rounds.push((after.store - before.store) / count);
  side.alone.rounds.push((await shoot(side, sample, ALONE_SECONDS, 1)).perSecond);
}

async function bulk(side: Side, sample: Sample): Promise<number> {
  const rows = Array.from({ length: BULK_ROWS }, () => leadBody(sample, side.pushed++)).join("\n");
  const began = performance.now();
  const answer = await fetch(`${side.url}/bulk`, {
    method: "POST",
    headers: { authorization: `Bearer ${side.token}`, "content-type": "application/x-ndjson" },
    body: rows,
  });
  const lines = (await answer.text()).trim().split("\n");
  if (lines.length !== BULK_ROWS || !lines.every((l) => l.includes("queued")))
    throw new Error(`the bulk push answered ${answer.status} with ${lines.length} lines: ${lines[0]?.slice(0, 300)}`);
  return BULK_ROWS / ((performance.now() - began) / 1000);
}

/** The product's side. */
async function ourSide({ stack, client, sample: { reseller_id, merchant_id } }: BenchStack): Promise<Side> {
  const { token } = await client.ask("POST", "/s2s-token", {
    body: { name: "bench", role: "merchant", reseller_id, merchant_id },
  });
  const processes = [...stack.children].filter(([name]) => !NOT_OURS.has(name)).map(([, child]) => child);
  return sideOf("POST /leads", "services", { url: `${stack.baseUrl}/leads`, token, processes, kept: stack.children.get("store") }); // prettier-ignore
}

const started = (name: string, args: string[], env: Record<string, string> = {}): Promise<Child> =>
  startChild({
    name,
    args,
    env,
    ready: "line",
    restart: false,
    onLine: () => undefined,
    onDeath: (said) => console.error(said),
  });

/**
 * Starts the bare server. Its leads are in a store of its own, with the same indexes: the product's sweeps neither read nor write them, grow with them, take the store's one thread while it is
 * bare's turn, nor count as bare's. On a database of MONGODB_URI they are in a database of their own.
 */
async function startBare({ path, stack, sample }: BenchStack, leads: Collection<StoredLead>, ours: Side) {
  const headers = { authorization: `Bearer ${ours.token}`, "content-type": "application/json" };
  await fetch(ours.url, { method: "POST", headers, body: leadBody(sample, ours.pushed++) });
  const lead = await leads.findOne({});
  if (lead === null) throw new Error("no lead was stored");
  const folder = join(path, "bare");
  const store = ours.kept && (await started("bare store", [join(ROOT, "local/store/main.ts"), "--port", "0", "--dir", folder])); // prettier-ignore
  const uri = new URL(store?.url ?? stack.mongoUri);
  uri.pathname = "/bare";
  const mongo = await MongoClient.connect(uri.href);
  await copyIndexes(leads, mongo.db().collection<StoredLead>("leads"));
  await mongo.close();
  const BARE_LEAD = EJSON.stringify(lead, { relaxed: false });
  const server = await started("bare", [join(ROOT, "local/bench/push/bare-server.ts"), uri.href], { BARE_LEAD });
  const side = sideOf("bare insert", "server", { url: server.url, token: null, processes: [server], kept: store });
  const stop = async (): Promise<void> => {
    await server.stop(STOP_MS);
    await store?.stop(STOP_MS);
  };
  return { side, stop };
}

async function race(bare: Side, ours: Side, db: Db, sample: Sample): Promise<void> {
  const rows = named(`POST /leads/bulk, ${BULK_ROWS} rows`);
  const idle = { own: named("services at rest"), store: named("store at rest") };
  for (const side of [bare, ours]) await shoot(side, sample, WARM_UP_SECONDS);
  for (let i = 0; i < ROUNDS; i++) {
    await settled(db);
    const before = usedBy(ours);
    await wait(REST_MS);
    const after = usedBy(ours);
    for (const kind of ["own", "store"] as const)
      idle[kind].rounds.push((PERCENT * (after[kind] - before[kind])) / US_PER_MS / REST_MS);
    for (const side of i % 2 === 0 ? [bare, ours] : [ours, bare]) await round(side, db, sample);
    rows.rounds.push(await bulk(ours, sample));
  }
  const pair = (of: (side: Side) => Figures, unit?: string): string[] => [
    lineOf(of(bare), undefined, unit),
    lineOf(of(ours), of(bare), unit),
  ];
  console.log(
    [
      ...pair((side) => side.rate),
      ...pair((side) => side.p99, "ms"),
      ...pair((side) => side.alone),
      lineOf(rows, ours.rate),
      ...pair((side) => side.own, "µs"),
      ...pair((side) => side.store, "µs"),
      lineOf(idle.own, undefined, "% of a core"),
      lineOf(idle.store, undefined, "% of a core"),
    ].join("\n"),
  );
}

async function contest(split: boolean): Promise<void> {
  console.log(`\n${split ? "split over NATS" : "one process"} (load ${loadavg()[0]?.toFixed(1) ?? ""})`);
  const product = await startBenchStack(TIMES, { split, env: ENV });
  const mongo = await MongoClient.connect(product.stack.mongoUri);
  try {
    const ours = await ourSide(product);
    const bare = await startBare(product, mongo.db().collection<StoredLead>("leads"), ours);
    try {
      await race(bare.side, ours, mongo.db(), product.sample);
    } finally {
      await bare.stop();
    }
  } finally {
    await mongo.close();
    await product.stop();
  }
}

/** Where the process of the services spends its time, in a stack of its own that is not timed. */
async function profiled(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "callagent-bench-"));
  const product = await startBenchStack(TIMES, {
    env: { ...ENV, NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${folder}` },
  });
  await shoot(await ourSide(product), product.sample, PROFILED_SECONDS);
  await product.stop();
  const [file = ""] = readdirSync(folder).filter((name) => name.endsWith(".cpuprofile"));
  const top = topOf(JSON.parse(readFileSync(join(folder, file), "utf8")));
  rmSync(folder, { recursive: true, force: true });
  console.log(`\nwhere the service process spends its time (self time):\n${top.join("\n")}`);
}

/**
 * `npm run bench -- push [--profile]`: POST /leads with token, tenancy, blacklist, template and schema checks and the durable write, beside a bare server that does the insert alone. Processor
 * time of a push: of the services (or the bare server) and of the store, each.
 */
export async function benchPush({ values: { profile } }: AskedBench): Promise<void> {
  console.log(
    `push: ${CONNECTIONS} connections, ${ROUNDS} rounds of ${ROUND_SECONDS} s each, alternating; node ${process.versions.node}; the embedded store, client and servers share this machine`,
  );
  await contest(false);
  await contest(true);
  if (profile) await profiled();
}
