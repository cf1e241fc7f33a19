import { hostname } from "node:os";
import type { ServiceBroker } from "moleculer";
import { systemClock, type Clock } from "../time/clock.ts";
import { clockBy, createStoreClock, type StoreClock } from "../time/store-clock.ts";
import { readEnv, type Env } from "./env.ts";
import { randomIds, type Ids } from "../ids.ts";
import { rootLog, type Log } from "./log.ts";
import { nodeIdOf, processNameOf } from "./node-id.ts";

/** The dependencies every service of a process shares: all that is injected, so that tests can put their own in its place. */
export interface ProcessDeps {
  env: Env;
  /** Instants are the deployment's time. */
  clock: Clock;
  /** What `clock` shows, where that follows a database; absent: `clock` stands by itself. */
  storeClock?: StoreClock;
  ids: Ids;
  log: Log;
  /** A number in [0, 1). */
  random(): number;
}

const provided = new WeakMap<object, ProcessDeps>();
let own: ProcessDeps | null = null;

/** The process's own dependencies, from its environment; NODE_ID is the whole id of this node. */
export function ownDeps(): ProcessDeps {
  if (!own) {
    const given = readEnv();
    const machine = { hostname: hostname(), pid: process.pid };
    const env = Object.freeze({ ...given, NODE_ID: nodeIdOf(processNameOf(process.argv), given.NODE_ID, machine) });
    const log = rootLog(env);
    const storeClock = createStoreClock({ clock: systemClock, log: log.child({ service: "clock" }), holds: true });
    const clock = clockBy(storeClock, systemClock);
    own = { env, clock, storeClock, ids: randomIds, log, random: Math.random };
  }
  return own;
}

/** Gives a broker's services other dependencies than the process's own; to be called before the services are created. */
export const provideDeps = (broker: ServiceBroker, deps: ProcessDeps): void => {
  provided.set(broker, deps);
};

/** The dependencies of the services on this broker. */
export const depsOf = (broker: ServiceBroker): ProcessDeps => provided.get(broker) ?? ownDeps();
