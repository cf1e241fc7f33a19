import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { MongoClient } from "mongodb";
import { leadByApi, leadOf, ringsTwice } from "../../local/faults/judge.ts";
import { callee, startPushing, type Pusher } from "../../local/harness/lead-pusher.ts";
import { startProduct, type LedgerCall, type Product } from "../../local/harness/product.ts";
import { PROGRAM_ENV } from "../../local/harness/program.ts";
import { until } from "../../local/harness/stage.ts";
import { MONGO_TOOLS_VARIABLE } from "../../local/real/mongo-tools/mongo-tools.ts";
import { ROOT } from "../house/sources.ts";

/** The drill of docs/operations.md, "Backup and restore": a copy of the database, calls that it knows nothing of, and the database restored from it. */
const START_MS = 120_000;
const TEST_MS = 120_000;

let product: Product;
let pusher: Pusher;
let client: MongoClient;
beforeAll(async () => {
  product = await startProduct({
    timeScale: 20,
    metricsPort: 0,
    env: { LEASE_SECONDS: "5", SWEEP_INTERVAL_MS: "500" },
  });
  pusher = await startPushing(product);
  client = await MongoClient.connect(product.stack.mongoUri);
}, START_MS);
afterAll(async () => {
  await client?.close();
  if (product) await product.stop();
}, START_MS);

const run = promisify(execFile);
/** Brings the database back to what it was when this was made. */
type Restore = () => Promise<void>;

/** By MongoDB's driver, where MongoDB's tools are not at hand. */
async function copyByDriver(): Promise<Restore> {
  const names = (await client.db().listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name);
  const copied = names.map(async (name) => [name, await client.db().collection(name).find().toArray()] as const);
  const copy = await Promise.all(copied);
  return async () => {
    for (const [name, documents] of copy) {
      await client.db().collection(name).deleteMany({});
      if (documents.length > 0) await client.db().collection(name).insertMany(documents);
    }
  };
}

/** By mongodump and mongorestore, as docs/operations.md has them but for the oplog, which a database that is no real replica set has not. */
async function copyByTools(): Promise<Restore> {
  const archive = product.folder.at("callagent.gz");
  const uri = new URL(product.stack.mongoUri);
  const database = uri.pathname.slice(1);
  uri.pathname = "/";
  const how = [`--uri=${uri.href}`, "--gzip", `--archive=${archive}`];
  await run("mongodump", [...how, `--db=${database}`], { env: PROGRAM_ENV });
  return async () => {
    await client.db().dropDatabase();
    await run("mongorestore", how, { env: PROGRAM_ENV });
  };
}

/** Talks for long; confirms. */
const [TALKATIVE, SHORT] = ["16", "01"];
const push = (from: number, count: number, who = SHORT): Promise<string[]> =>
  pusher.insistAll(Array.from({ length: count }, (_, i) => callee(from + i, who)));
const callsOf = async (ids: readonly string[]): Promise<LedgerCall[]> =>
  (await product.ledgerCalls()).filter((call) => ids.includes(leadOf(call)));
const over = async (ids: readonly string[]): Promise<true | undefined> => {
  const leads = await Promise.all(ids.map((id) => leadByApi(pusher.client, id)));
  return leads.every(({ status }) => status === "FINISHED") ? true : undefined;
};

test(
  "a database restored from an older copy rings nobody a second time until an operator resumes the lead, and calls new leads at once",
  async () => {
    const underWay = await push(0, 2, TALKATIVE);
    await until("calls that ring", async () => ((await callsOf(underWay)).length === 2 ? true : undefined));
    await product.admin.ask("POST", "/deployment/pause", { body: { reason: "backup drill" } });
    const waiting = await push(10, 3);
    const all = [...underWay, ...waiting];
    const restore = await (process.env[MONGO_TOOLS_VARIABLE] ? copyByTools : copyByDriver)();

    await product.admin.ask("POST", "/deployment/resume");
    await until("all of them called", () => over(all));
    const before = await callsOf(all);

    const services = product.stack.children.get("services");
    await services?.down("SIGKILL");
    await restore();
    const leads = await client.db().collection("leads").find().toArray();
    const statuses = leads.map((lead) => String(lead["status"]));
    expect(statuses.filter((status) => status === "BACKLOG")).toHaveLength(3);
    expect(statuses).toContain("PROCESSING");
    const unfinished = statuses.filter((status) => status !== "FINISHED").length;
    const env = { ...process.env, MONGODB_URI: product.stack.mongoUri };
    const program = join(ROOT, "deploy", "migrate", "park-restored.ts");
    const { stdout } = await run(process.execPath, [program], { env });
    expect(stdout).toMatch(new RegExp(`^${unfinished} leads are parked`));
    expect((await run(process.execPath, [program], { env })).stdout).toMatch(/^0 leads are parked/);
    await services?.up();
    await until("the services", async () =>
      (await fetch(`${product.stack.httpUrl}/health/ready`).catch(() => null))?.ok === true ? true : undefined,
    );
    // what CallagentRestoreUnfinished (deploy/observability/alerts.yml) is raised by
    const metrics = await fetch(`${product.stack.metricsUrls["services"]}/metrics`);
    expect(await metrics.text()).toContain(`callagent_leads{state="restored",process="all"} ${unfinished}\n`);
    await product.admin.ask("POST", "/deployment/resume");

    const fresh = await push(20, 2);
    await until("new leads called", () => over(fresh));
    expect((await callsOf(all)).map(({ sid }) => sid).sort()).toEqual(before.map(({ sid }) => sid).sort());
    expect(ringsTwice({ calls: await callsOf(all), leads: [], reported: new Set() })).toEqual([]);
    const { leads: parked } = await product.admin.ask("GET", "/leads", { query: { parked: true } });
    expect(parked).toHaveLength(unfinished);
    const [first = ""] = waiting;
    const explained = await product.admin.ask("GET", "/leads/{lead_id}/explain", { path: { lead_id: first } });
    expect(JSON.stringify(explained)).toContain("the database was restored from a copy");

    await product.admin.ask("POST", "/leads/resume", { body: { lead_ids: [first] } });
    await until("the resumed lead called", () => over([first]));
    expect((await callsOf([first])).map(({ reference }) => reference)).toContain(`${first}.1001`);
    expect(await callsOf(all)).toHaveLength(before.length + 1);
  },
  TEST_MS,
);
