import { randomUUID } from "node:crypto";
import { ServiceBroker, type BrokerOptions, type ServiceSchema } from "moleculer";
import { busOf, service, type Bus, type Implementation } from "../../shared/bus/bus.ts";
import { systemClock, type Clock } from "../../shared/time/clock.ts";
import { contracts, type Contracts } from "../../shared/contracts/index.ts";
import { readEnv, type Env } from "../../shared/process/env.ts";
import { provideDeps } from "../../shared/process/process-deps.ts";
import { randomIds } from "../../shared/ids.ts";
import { rootLog } from "../../shared/process/log.ts";
import { BusValidator } from "../../shared/bus/bus-validator.ts";

/** A stage for contract tests: the services on one broker, the caller on another, JSON between them. */
export interface Stage {
  bus: Bus;
  /** The broker the services run on. */
  broker: ServiceBroker;
  env: Env;
  /** Address of the database this stage alone uses. */
  uri: string;
  stop(): Promise<void>;
}

/** What to put on stage. Environment values override quiet test defaults. */
export interface StageOptions {
  services: ServiceSchema[];
  env?: Record<string, string>;
  clock?: Clock;
  random?: () => number;
  /** Takes the lines of the log. */ onLog?: (line: string) => void;
  /** A real bus, which stages of one namespace share; absent: one within this process, for this stage alone. */
  bus?: { url: string; namespace: string };
}

const VISIBLE_DEADLINE_MS = 15_000;
/** How often a stage's broker looks whether a service that it waits for is there. */
const PROMPT_MS = 10;

/** A database of its own: on MONGODB_URI where that is set, else an embedded store in memory. */
export async function freshDatabase(): Promise<{ uri: string; drop(): Promise<void> }> {
  const name = `t_${randomUUID().replaceAll("-", "").slice(0, 16)}`;
  const given = process.env["MONGODB_URI"];
  if (given) {
    const uri = new URL(given);
    uri.pathname = `/${name}`;
    return {
      uri: uri.href,
      drop: async () => {
        const { MongoClient } = await import("mongodb");
        const client = await MongoClient.connect(uri.href);
        await client.db().dropDatabase();
        await client.close();
      },
    };
  }
  const { startStore } = await import("../store/server.ts");
  const store = await startStore({ dir: ":memory:", port: 0 });
  const uri = new URL(store.url);
  uri.pathname = `/${name}`;
  return { uri: uri.href, drop: () => store.close() };
}

/** A stand-in for a service the stage does not run: only the actions given work, others throw. */
export function standIn<S extends keyof Contracts>(
  name: S,
  actions: Partial<Implementation<S>["actions"]>,
): ServiceSchema {
  const missing = Object.fromEntries(
    Object.keys(contracts[name].actions).map((a) => [
      a,
      () => {
        throw new Error(`stand-in ${name}.${a} is not set up`);
      },
    ]),
  );
  return service(name, () => ({ actions: { ...missing, ...actions } as Implementation<S>["actions"] }));
}

/** The broker's promise: Moleculer waits half a second after each connect for word of other nodes (transit.js, afterConnect); a stage asks for what it needs by `waitForServices`. */
class PromptPromise<T> extends Promise<T> {
  /** Moleculer adds its own `delay` and `timeout` only where there are none. */
  static delay(ms: number): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, ms));
  }

  delay(): this {
    return this;
  }
}

/** Options of a stage's broker, with none of Moleculer's fixed pauses. */
export const brokerOptions = ({ url, namespace }: NonNullable<StageOptions["bus"]>, nodeID: string): BrokerOptions => ({
  namespace,
  nodeID,
  // the types of 0.15.2 leave out URL strings, which the code accepts
  transporter: url as NonNullable<BrokerOptions["transporter"]>,
  validator: new BusValidator(),
  requestTimeout: 50_000,
  logger: false,
  tracking: { enabled: true },
  dependencyInterval: PROMPT_MS,
  registry: { stopDelay: 0 },
  Promise: PromptPromise,
  transit: { serviceChangedDebounceTime: 0 } as NonNullable<BrokerOptions["transit"]>,
});

/**
 * Stops brokers and takes their services away. The test files of a process keep their stages as long as it lives: services, validators and
 * databases of them all would be gone through by each collection of garbage.
 */
export async function stopBrokers(...brokers: readonly ServiceBroker[]): Promise<void> {
  await Promise.all(brokers.map((broker) => broker.stop()));
  for (const { services, registry } of brokers) {
    services.splice(0);
    registry.services.services.splice(0);
    registry.actions.actions.clear();
    registry.events.events.splice(0);
  }
}

/** Starts the stage; every service's actions can be called when it resolves. */
export async function setStage(options: StageOptions): Promise<Stage> {
  const database = await freshDatabase();
  const { onLog } = options;
  const env = readEnv({
    NODE_ENV: "test",
    LOG_LEVEL: "silent",
    HTTP_HOST: "127.0.0.1",
    MEDIA_HOST: "127.0.0.1",
    HTTP_PORT: "0",
    MEDIA_PORT: "0",
    MONGODB_URI: database.uri,
    MIGRATE_AT_START: "true",
    // simulated people speak in tones
    VOICE_DETECTION: "pitch",
    // a test machine that is short of time shows nothing about the limit
    ANSWER_LIMIT_MS: "10000",
    // calls that a test leaves behind are ended at once
    SHUTDOWN_GRACE_SECONDS: "5",
    ...options.env,
  });
  const bus = options.bus ?? { url: "Fake", namespace: `test-${randomUUID()}` };
  const mark = options.bus ? `-${randomUUID()}` : "";
  const broker = new ServiceBroker(brokerOptions(bus, `services${mark}`));
  const caller = new ServiceBroker(brokerOptions(bus, `caller${mark}`));
  provideDeps(broker, {
    env,
    clock: options.clock ?? systemClock,
    ids: randomIds,
    log: rootLog(env, onLog && { write: onLog }),
    random: options.random ?? Math.random,
  });
  for (const schema of options.services) broker.createService(schema);
  const stop = async (): Promise<void> => {
    await stopBrokers(caller, broker);
    await database.drop();
  };
  try {
    await Promise.all([broker.start(), caller.start()]);
    await caller.waitForServices(
      options.services.map((s) => s.name),
      VISIBLE_DEADLINE_MS,
    );
  } catch (error) {
    await stop();
    throw error;
  }
  return { bus: busOf(caller), broker, env, uri: database.uri, stop };
}

const POLL_MS = 10;
/** What is waited for comes within milliseconds; a machine that stands still gets this long, and more with a database that the machine has to run besides. */
const PATIENCE_MS = process.env["MONGODB_URI"] ? 100_000 : 45_000;

/** Asks until the answer is given (not undefined), with pauses of `everyMs`; throws after `deadlineMs`, saying what it waited for. */
export async function until<T>(
  what: string,
  ask: () => Promise<T | undefined> | T | undefined,
  deadlineMs = PATIENCE_MS,
  everyMs = POLL_MS,
): Promise<T> {
  const end = performance.now() + deadlineMs;
  for (;;) {
    const asked = performance.now();
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (performance.now() > end) throw new Error(`waited ${deadlineMs} ms in vain for: ${what}`);
    // a costly question is asked more seldom, so that asking leaves the machine to what is waited for
    await new Promise((resolve) => setTimeout(resolve, Math.max(everyMs, (performance.now() - asked) * 2)));
  }
}

/** Lets real time pass, where time itself is what is tested (a bus that is away for 10 s); never to wait for something to happen. */
export const after = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Askers for tests. */
export const asAdmin = { kind: "s2s", id: "admin-1", role: "admin", reseller_id: null, merchant_id: null } as const;
export const asReseller = (reseller_id: string) =>
  ({ kind: "s2s", id: `r-${reseller_id}`, role: "reseller", reseller_id, merchant_id: null }) as const;
export const asMerchant = (reseller_id: string, merchant_id: string) =>
  ({ kind: "s2s", id: `m-${merchant_id}`, role: "merchant", reseller_id, merchant_id }) as const;
export const asUser = (reseller_id: string, merchant_id: string) =>
  ({ kind: "s2s", id: `u-${merchant_id}`, role: "user", reseller_id, merchant_id }) as const;
