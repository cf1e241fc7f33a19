import { readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { calculateObjectSize } from "bson";
import { MongoClient } from "mongodb";
import { callee, startPushing, type Pusher } from "../../harness/lead-pusher.ts";
import { startProduct, type Product } from "../../harness/product.ts";
import { until } from "../../harness/stage.ts";
import { processorOf } from "../cpu-time.ts";

/** What a machine must have for a deployment: of each process of the split product what it takes at rest and what a lead takes, and what a lead leaves in the database. */
const LEADS = 400;
const WARM_UP = 40;
/** Confirms at the first call. */
const WHO = "01";
const SETTLE_MS = 5000;
const REST_MS = 20_000;
const ENDED_MS = 300_000;
const US_PER_MS = 1000;
const MS_PER_SECOND = 1000;
const KIB = 1024;
const NOT_OURS = new Set(["carrier", "models"]);

/** Resident memory of a process, MiB; 0 where there is no /proc. */
function memoryOf(pid: number | undefined): number {
  try {
    const status = readFileSync(`/proc/${pid ?? 0}/status`, "utf8");
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / KIB;
  } catch {
    return 0;
  }
}

/** Processor time of each process so far, microseconds. */
const timesOf = ({ stack }: Product): Map<string, number> =>
  new Map(
    [...stack.children]
      .filter(([name]) => !NOT_OURS.has(name))
      .map(([name, child]) => [name, processorOf(child.pid())] as const),
  );

/** Resident memory of each process, MiB. */
const memoriesOf = ({ stack }: Product): Map<string, number> =>
  new Map([...stack.children].map(([name, child]) => [name, memoryOf(child.pid())] as const));

/** Bytes that all processes have sent to the bus. */
async function busBytes({ stack }: Product): Promise<number> {
  const pages = await Promise.all(
    Object.values(stack.metricsUrls).map(async (url) => (await fetch(`${url}/metrics`)).text()),
  );
  const sums = pages.join("\n").matchAll(/^callagent_bus_message_bytes_sum\{.*direction="sent".*\} (\S+)$/gm);
  return [...sums].reduce((sum, [, bytes]) => sum + Number(bytes), 0);
}

/** Documents and bytes of BSON of each collection. */
async function contentsOf(client: MongoClient): Promise<Map<string, { documents: number; bytes: number }>> {
  const found = new Map<string, { documents: number; bytes: number }>();
  for (const { name } of await client.db().listCollections({}, { nameOnly: true }).toArray()) {
    const sum = { documents: 0, bytes: 0 };
    for await (const document of client.db().collection(name).find({}, { promoteValues: false })) {
      sum.documents += 1;
      sum.bytes += calculateObjectSize(document);
    }
    found.set(name, sum);
  }
  return found;
}

const row = (...cells: (string | number)[]): string =>
  `| ${cells.map((cell) => (typeof cell === "number" ? cell.toFixed(1) : cell)).join(" | ")} |`;

/** Processor times of all processes at four instants, and how long it was between the first and the last two. */
interface Times extends Record<"before" | "rested" | "start" | "end", ReadonlyMap<string, number>> {
  /** At rest, MiB. */
  memories: ReadonlyMap<string, number>;
  restMs: number;
  tookMs: number;
}

function tellProcesses({ before, rested, memories, restMs, start, end, tookMs }: Times): void {
  const took = `a lead: ms of a core (${LEADS} leads, ${(tookMs / MS_PER_SECOND).toFixed(0)} s)`;
  console.log(`${row("process", "at rest: MiB", "% of a core", took)}\n|---|---|---|---|`);
  let [memory, idle, perLead] = [0, 0, 0];
  for (const [name, us] of end) {
    const idleShare = ((rested.get(name) ?? 0) - (before.get(name) ?? 0)) / US_PER_MS / restMs;
    const ms = Math.max(0, ((us - (start.get(name) ?? 0)) / US_PER_MS - idleShare * tookMs) / LEADS);
    const mib = memories.get(name) ?? 0;
    [memory, idle, perLead] = [memory + mib, idle + idleShare, perLead + ms];
    console.log(row(name, mib, idleShare * 100, ms));
  }
  console.log(row("all", memory, idle * 100, perLead));
}

type Contents = Awaited<ReturnType<typeof contentsOf>>;
function tellDocuments(before: Contents, after: Contents): void {
  console.log(`${row("collection", "documents a lead", "bytes a lead")}\n|---|---|---|`);
  let bytesOfAll = 0;
  for (const [name, { documents, bytes }] of after) {
    const was = before.get(name) ?? { documents: 0, bytes: 0 };
    const [more, size] = [(documents - was.documents) / LEADS, (bytes - was.bytes) / LEADS];
    bytesOfAll += size;
    if (size >= 1) console.log(row(name, more, Math.round(size).toString()));
  }
  console.log(row("all", "", Math.round(bytesOfAll).toString()));
}

/** Calls so many leads, until the last of them is reported. */
async function callLeads(product: Product, pusher: Pusher, from: number, count: number): Promise<void> {
  const ids = new Set(await pusher.insistAll(Array.from({ length: count }, (_, n) => callee(from + n, WHO))));
  const reported = (): number => product.sink.delivered.filter(({ lead_id }) => ids.has(lead_id)).length;
  await until("the reports", () => Promise.resolve(reported() >= count || undefined), ENDED_MS);
}

async function measure(product: Product, client: MongoClient): Promise<void> {
  const pusher = await startPushing(product);
  // what is compiled and kept at the first leads is no lead's
  await callLeads(product, pusher, 0, WARM_UP);
  await wait(SETTLE_MS);
  const [restBegan, before] = [performance.now(), timesOf(product)];
  await wait(REST_MS);
  const [restMs, rested, memories] = [performance.now() - restBegan, timesOf(product), memoriesOf(product)];
  const [sentBefore, storedBefore] = [await busBytes(product), await contentsOf(client)];
  const [began, start] = [performance.now(), timesOf(product)];
  await callLeads(product, pusher, WARM_UP, LEADS);
  await wait(SETTLE_MS);
  const [tookMs, end] = [performance.now() - began, timesOf(product)];
  const [sent, stored] = [await busBytes(product), await contentsOf(client)];
  tellProcesses({ before, rested, memories, restMs, start, end, tookMs });
  console.log(`\nthe bus: ${((sent - sentBefore) / LEADS / KIB).toFixed(1)} KiB a lead\n`);
  tellDocuments(storedBefore, stored);
}

/** Prints what the split product takes, with simulated carriers and models whose processes are left out. Conversations are by text: what sound takes, `voice` tells. */
export async function benchSizing(): Promise<void> {
  const product = await startProduct({
    split: true,
    metricsPort: 0,
    env: { PROVIDER_ONE_CALLS_PER_SECOND: "0" },
  });
  const client = await MongoClient.connect(product.stack.mongoUri);
  try {
    await measure(product, client);
  } finally {
    await client.close();
    await product.stop();
  }
}
