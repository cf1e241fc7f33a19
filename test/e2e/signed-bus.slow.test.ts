import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ServiceBroker } from "moleculer";
import { MongoClient } from "mongodb";
import { connect } from "nats";
import { startProduct, type Product } from "../../local/harness/product.ts";
import { asExpected } from "../../local/tools/demo/lead-run.ts";
import { parseRows } from "../../local/tools/demo/leads-csv.ts";
import { splitBusOptions } from "../../local/tools/stack/split-bus.ts";
import { ROOT } from "../../local/tools/stack/project-root.ts";
import { asAdmin } from "../../local/harness/stage.ts";
import { KEYS_FILE, seedFile } from "../../shared/bus/bus-keys.ts";
import { BusTransporter } from "../../shared/bus/bus-transporter.ts";
import { busOf, type Bus } from "../../shared/bus/bus.ts";
import { natsOptions } from "../../shared/bus/nats-options.ts";
import type { ServiceName } from "../../shared/contracts/index.ts";
import { codeOf } from "../../shared/errors.ts";
import { randomIds } from "../../shared/ids.ts";
import { readEnv } from "../../shared/process/env.ts";
import { rootLog } from "../../shared/process/log.ts";
import { provideDeps } from "../../shared/process/process-deps.ts";
import { systemClock } from "../../shared/time/clock.ts";

/** One process per service, each with a NATS user and a key of its own. */
const START_MS = 120_000;
const TEST_MS = 120_000;
/** Of the sample leads, this many. */
const ROWS = 12;
/** An expiry with a signature of Ed25519 behind it. */
const PROOF = /"proof"|\b[0-9]{10}\.[A-Za-z0-9_-]{86}\b/;

let product: Product;
const brokers: ServiceBroker[] = [];
let transporter = "";
/** With test:real the bus has TLS. */
const { tls } = splitBusOptions(process.env);

beforeAll(async () => {
  product = await startProduct({
    split: true,
    between: {
      bus: (url) => {
        transporter = url;
        return Promise.resolve(url);
      },
    },
  });
}, START_MS);
afterAll(async () => {
  await Promise.all(brokers.map((broker) => broker.stop()));
  await product?.stop();
}, START_MS);

/** Whoever got hold of a service's key: on the bus as that service, with code of their own. */
async function thiefOf(service: ServiceName): Promise<{ bus: Bus; refused: string[] }> {
  const key = product.folder.at(join("bus", seedFile(service)));
  const env = readEnv({
    LOG_LEVEL: "warn",
    TRANSPORTER: transporter,
    NATS_NKEY_FILE: key,
    NATS_CA_FILE: tls?.ca,
    BUS_KEYS_FILE: product.folder.at(join("bus", KEYS_FILE)),
    BUS_TRUST: "signed",
  });
  const refused: string[] = [];
  const log = rootLog(env, { write: (line) => void refused.push(line) });
  const broker = new ServiceBroker({
    namespace: env.NAMESPACE,
    nodeID: `${service}.thief`,
    logger: false,
    internalServices: false,
    requestTimeout: 2000,
    transporter: new BusTransporter(natsOptions(env) ?? {}, { log, clock: systemClock, strict: true }),
  });
  provideDeps(broker, { env, log, clock: systemClock, ids: randomIds, random: Math.random });
  brokers.push(broker);
  await broker.start();
  await broker.waitForServices(["auth", "leads"]);
  return { bus: busOf(broker), refused };
}
const code = (work: Promise<unknown>): Promise<string> => work.then(() => "done", codeOf);

test(
  "leads are called, and nothing that the services say to each other is refused or not understood",
  async () => {
    const rows = parseRows(readFileSync(join(ROOT, "local/tools/sample/leads.csv"), "utf8"), "leads.csv").slice(
      0,
      ROWS,
    );
    const done = await product.run(rows);
    expect(done.filter((p) => !asExpected(p))).toEqual([]);
    await product.admin.ask("POST", "/deployment/pause", { body: { reason: "a look" } });
    await product.admin.ask("POST", "/deployment/resume");
    await product.admin.ask("POST", "/blacklist", {
      body: { reseller_id: product.sample.reseller_id, phone_numbers: ["+14155550177"] },
    });
    const { entries } = await product.admin.ask("GET", "/audit");
    expect(entries.map((entry) => entry.action)).toEqual(expect.arrayContaining(["blacklist.added"]));
    expect(product.log.filter((line) => String(line.event).startsWith("bus."))).toEqual([]);
  },
  TEST_MS,
);

test("proofs of who asks are neither stored nor logged", async () => {
  const client = await MongoClient.connect(product.stack.mongoUri);
  try {
    const found: string[] = [];
    let read = 0;
    for (const { collectionName } of await client.db().collections())
      for await (const doc of client.db().collection(collectionName).find()) {
        read++;
        if (PROOF.test(JSON.stringify(doc))) found.push(collectionName);
      }
    expect([read > ROWS, found]).toEqual([true, []]);
    expect(product.log.filter((line) => PROOF.test(JSON.stringify(line)))).toEqual([]);
  } finally {
    await client.close();
  }
});

/** The arguments of every process of this machine that may be read, as `ps` shows them to all its users. */
const argumentsShown = (): string[] =>
  readdirSync("/proc").flatMap((pid) => {
    try {
      return /^\d+$/.test(pid) ? [readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ")] : [];
    } catch {
      return []; // it has ended meanwhile
    }
  });

(existsSync("/proc/self/cmdline") ? test : test.skip)("no key and no password stands in a process's arguments", () => {
  const named = product.folder.readJson<Record<string, string>>("secrets.json") ?? {};
  const ids = ["admin_email", "twilio_account_sid", "plivo_auth_id", "telnyx_connection_id"];
  const seeds = readdirSync(product.folder.at("bus")).filter((file) => file.endsWith(".nk"));
  const secret = [
    ...Object.entries(named).flatMap(([name, value]) => (ids.includes(name) ? [] : [[name, value] as const])),
    ...seeds.map((file) => [file, readFileSync(product.folder.at(join("bus", file)), "utf8").trim()] as const),
  ];
  const shown = argumentsShown();
  const children = [...product.stack.children.values()].map((child) => child.pid());
  expect(children.map((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8") !== "")).not.toContain(false);
  expect([secret.length > 15, shown.some((line) => line.includes("carriers/main.ts"))]).toEqual([true, true]);
  expect(secret.filter(([, value]) => shown.some((line) => line.includes(value))).map(([name]) => name)).toEqual([]);
});

test("nobody is let on the bus without a key", async () => {
  const nobody = natsOptions({ TRANSPORTER: transporter, NATS_CA_FILE: tls?.ca });
  await expect(connect({ ...nobody, reconnect: false })).rejects.toThrow(/Authorization/i);
});

test(
  "who has a service's key may do what that service does, in the name of those whom auth has signed",
  async () => {
    const user = { email: "thief@example.com", password: "a long password", role: "admin" } as const;
    const dialer = await thiefOf("dialer");
    expect(await code(dialer.bus.call("auth.createUser", { by: asAdmin, ...user }))).toBe("TIMEOUT");
    expect(dialer.refused.join("")).toContain("MOL-callagent.REQ.auth.");
    expect(await code(dialer.bus.call("leads.list", { by: asAdmin }))).toBe("FORBIDDEN");
    const gateway = await thiefOf("gateway");
    expect(await code(gateway.bus.call("auth.createUser", { by: asAdmin, ...user }))).toBe("FORBIDDEN");
    expect(await code(gateway.bus.call("leads.list", { by: asAdmin }))).toBe("FORBIDDEN");
    const { users } = await product.admin.ask("GET", "/users");
    expect(users.map((u) => u.email)).not.toContain(user.email);
    const told = product.log.filter((line) => line.event === "bus.forbidden");
    expect(told.map((line) => [line["action"], line["caller"]])).toEqual(
      expect.arrayContaining([
        ["leads.list", "dialer"],
        ["auth.createUser", "gateway"],
        ["leads.list", "gateway"],
      ]),
    );
  },
  TEST_MS,
);
