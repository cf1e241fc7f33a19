import { join } from "node:path";
import type { Engine } from "../../../shared/contracts/records/models.ts";
import { contracts } from "../../../shared/contracts/index.ts";
import { isRecord } from "../../../shared/json.ts";
import { ChildGroup, type ChildObserver } from "./child-group.ts";
import { migrateDatabase, parkRestored } from "./database-migration.ts";
import { ownRun, StartError, type Folder } from "./data-folder.ts";
import { freePort } from "./ports.ts";
import { script } from "./project-root.ts";
import { localSecrets, type LocalSecrets } from "./secrets.ts";
import { accountsOf, serviceEnv, type RealAccount } from "./service-environment.ts";
import { splitBusOptions, startSplitBus } from "./split-bus.ts";
import { serviceCommand, splitProcesses, type Replicas } from "./service-processes.ts";
import type { Child } from "./supervisor.ts";

/** Puts something (a proxy) between the services and what they stand on: given the real address, gives the one that a child uses. */
export interface Between {
  store?(url: string): Promise<string>;
  carrier?(url: string): Promise<string>;
  bus?(url: string, child: string): Promise<string>;
}

/** What a stack is made of. Ports 0 are chosen. `env` goes to the services on top of the defaults. */
export interface StackOptions extends ChildObserver {
  folder: Folder;
  split: boolean;
  httpPort: number;
  mediaPort: number;
  carrierPort: number;
  timeScale: number;
  /** So many times longer than in life simulated people wait for the service; absent: 1. */
  patience?: number;
  seed: string;
  /** The database was put back from a copy: its leads are parked before a service starts, and what was done is told. Absent: it was not. */
  onParked?: (said: string) => void;
  /** Name of the database, where it is not the one MONGODB_URI names or `callagent`. */
  database?: string;
  /** How many processes run a service where it is not one; of a split stack only, and never of the gateway, whose port is one. */
  replicas?: Replicas;
  between?: Between;
  /** Each service process has a health port; 0: free ones, else the first has this and the others those after it. Absent: none has. */
  metricsPort?: number;
  /** The engine of conversations whose template and configuration name none; absent: relay, whose speech can run faster than the clock. */
  engine?: Engine;
  /** Variables of the models that stand in place of the simulated ones; absent: none do. */
  realModels?: Readonly<Record<string, string>>;
  /** A real account in place of the simulated Twilio; absent: none. */
  twilio?: RealAccount;
  /** The tree that a child runs from (where the stack is not split, the child "services"), asked at each of its starts; absent: this one. With it a split stack's bus is open to all. */
  treeOf?: (child: string) => string;
  /** Files and sockets that each service process may have open; absent: as many as this one. */
  openFiles?: number;
  env?: Record<string, string>;
  /** More of them for one child of a split stack. */
  envOf?: (child: string) => Record<string, string>;
  /** The same for the embedded store. */
  storeEnv?: Record<string, string>;
}

/** A running stack. */
export interface Stack {
  baseUrl: string;
  httpUrl: string;
  /** Where media connect. */
  mediaUrl: string;
  carrierUrl: string;
  secrets: LocalSecrets;
  mongoUri: string;
  children: Map<string, Child>;
  /** The names of the children that run services. */
  serviceChildren: string[];
  /** Where the health port of each of them is; without `metricsPort` empty. */
  metricsUrls: Readonly<Record<string, string>>;
  /** Stops all of it; calls may go on for `graceMs`. */
  stop(graceMs?: number): Promise<void>;
  /** Ends all of it at once. */
  kill(): Promise<void>;
}

type Env = Record<string, string>;

const BASE_PATH = "/agent/voice/callagent";
const READY_MS = 60_000;
const POLL_MS = 100;

/** A service is not on the bus yet. The gateway is ready before: it accepts leads without those that lead their calls, but a session can't be joined without them. */
function lacksService(readiness: unknown): boolean {
  const checks = isRecord(readiness) && Array.isArray(readiness["checks"]) ? readiness["checks"].filter(isRecord) : [];
  return checks.some(({ name, ok }) => ok !== true && Object.keys(contracts).includes(String(name)));
}

async function waitReady(httpUrl: string, group: ChildGroup): Promise<void> {
  const end = performance.now() + READY_MS;
  let reason = "the gateway does not answer";
  while (performance.now() < end) {
    if (group.lastDeath) throw new StartError(group.lastDeath);
    const answer = await fetch(`${httpUrl}/health/ready`).catch(() => null);
    const told = (await answer?.text()) ?? "";
    if (answer?.ok && !lacksService(JSON.parse(told))) return;
    if (answer) reason = told.slice(0, 500);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new StartError(`The service did not become ready within ${READY_MS / 1000} s: ${reason}`);
}

/** What the services stand on: the database, the simulated carriers and models. */
interface Backing {
  mongo: string;
  carrier: string;
  models: string;
}

async function startBacking(group: ChildGroup, o: StackOptions, secrets: LocalSecrets): Promise<Backing> {
  const given = process.env["MONGODB_URI"];
  const [storePort, modelsPort] = [await freePort(), await freePort()];
  const storeArgs = [script("store/main.ts"), "--port", String(storePort), "--dir", o.folder.at("store")];
  const settings = ["--port", String(o.carrierPort), "--time-scale", String(o.timeScale), "--seed", o.seed];
  const patience = ["--patience", String(o.patience ?? 1)];
  const ledger = ["--ledger-file", o.folder.at("ledger.ndjson")];
  const carrierArgs = [script("carriers/main.ts"), ...settings, ...patience, ...ledger];
  const modelsArgs = [script("models/main.ts"), "--port", String(modelsPort)];
  const [store, carrier, models] = await Promise.all([
    given ? null : group.start("store", { args: storeArgs, ready: "line", env: o.storeEnv ?? {} }),
    group.start("carrier", { args: carrierArgs, ready: "line", env: accountsOf(secrets) }),
    group.start("models", { args: modelsArgs, ready: "line", env: { OPENAI_API_KEY: secrets.model_key } }),
  ]);
  const mongo = new URL(given ?? store?.url ?? "");
  if (o.database || !given) mongo.pathname = `/${o.database ?? "callagent"}`;
  return { mongo: mongo.href, carrier: carrier.url, models: models.url };
}

/** The health port of the process that is started as this one of several. */
async function metricsEnv(first: number | undefined, index: number, urls: Env, name: string): Promise<Env> {
  if (first === undefined) return {};
  const port = first === 0 ? await freePort() : first + index;
  urls[name] = `http://127.0.0.1:${port}`;
  return { METRICS_PORT: String(port), METRICS_HOST: "127.0.0.1" };
}

/** One process per service, on a bus of their own. */
async function startSplit(group: ChildGroup, o: StackOptions, mongo: string, env: Env): Promise<Env> {
  const bus = await startSplitBus(group, o.folder, {
    open: o.treeOf !== undefined,
    jetStream: env["CALLAGENT_EVENTS"] === "jetstream",
    ...splitBusOptions(process.env),
  });
  await migrateDatabase(mongo);
  const ports: Env = {};
  for (const [i, { name, service, env: own }] of (await splitProcesses(o.replicas ?? {})).entries()) {
    const metrics = await metricsEnv(o.metricsPort, i, ports, name);
    const folder = join("services", service);
    const TRANSPORTER = (await o.between?.bus?.(bus.url, name)) ?? bus.url;
    await group.startService(name, {
      ...serviceCommand(folder, o.openFiles),
      args: () => serviceCommand(folder, o.openFiles, o.treeOf?.(name)).args,
      env: { ...bus.envOf(service), ...env, ...own, ...metrics, ...o.envOf?.(name), TRANSPORTER },
    });
  }
  return ports;
}

/** Starts the processes; where the health port of each is, by its name. */
async function startServices(group: ChildGroup, o: StackOptions, mongo: string, env: Env): Promise<Env> {
  if (o.split) return startSplit(group, o, mongo, env);
  const ports: Env = {};
  const metrics = await metricsEnv(o.metricsPort, 0, ports, "services");
  const alone = { MIGRATE_AT_START: "true", ...env, ...metrics };
  const command = serviceCommand("services", o.openFiles, o.treeOf?.("services"));
  await group.startService("services", { ...command, env: alone });
  return ports;
}

async function startAll(
  group: ChildGroup,
  o: StackOptions,
  secrets: LocalSecrets,
): Promise<Omit<Stack, "stop" | "kill">> {
  const backing = await startBacking(group, o, secrets);
  const env = serviceEnv({
    http: o.httpPort,
    media: o.mediaPort,
    carrier: (await o.between?.carrier?.(backing.carrier)) ?? backing.carrier,
    models: backing.models,
    mongo: (await o.between?.store?.(backing.mongo)) ?? backing.mongo,
    recordings: o.folder.at("recordings"),
    secrets,
    engine: o.engine ?? "relay",
    real: o.realModels ?? {},
    twilio: o.twilio ?? null,
    extra: o.env ?? {},
  });
  if (o.onParked) {
    await migrateDatabase(backing.mongo);
    o.onParked(await parkRestored(backing.mongo));
  }
  const metricsUrls = await startServices(group, o, backing.mongo, env);
  const httpUrl = `http://127.0.0.1:${o.httpPort}`;
  await waitReady(httpUrl, group);
  return {
    baseUrl: `${httpUrl}${BASE_PATH}`,
    httpUrl,
    mediaUrl: `ws://127.0.0.1:${o.mediaPort}`,
    carrierUrl: backing.carrier,
    secrets,
    mongoUri: backing.mongo,
    children: group.children,
    serviceChildren: group.services,
    metricsUrls,
  };
}

/** Starts store, carrier, models and services, and waits until each service is there. What was started is stopped again when something fails. */
export async function startStack(o: StackOptions): Promise<Stack> {
  const group = new ChildGroup(o.folder, o);
  const stop = async (graceMs?: number): Promise<void> => {
    await group.stop(graceMs);
    o.folder.remove("run.json");
  };
  try {
    const stack = await startAll(group, o, localSecrets(o.folder));
    o.folder.writeJson("run.json", {
      ...ownRun(),
      http_url: stack.httpUrl,
      carrier_url: stack.carrierUrl,
      children: Object.fromEntries([...group.children].map(([name, child]) => [name, child.pid()])),
    });
    return { ...stack, stop, kill: () => group.kill() };
  } catch (error) {
    await stop();
    throw error;
  }
}
