import type { ServiceBroker } from "moleculer";
import { systemClock, type Clock } from "./clock.ts";
import { readEnv, type Env } from "./env.ts";
import { randomIds, type Ids } from "./ids.ts";
import { rootLog, type Log } from "./log.ts";

/** What a process stands on: all that is injected, so that tests can put their own in its place. */
export interface Ground {
  env: Env;
  clock: Clock;
  ids: Ids;
  log: Log;
  /** A number in [0, 1). */ random(): number;
}

const grounds = new WeakMap<object, Ground>();
let own: Ground | null = null;

/** The ground of the process itself, from its environment. */
export function processGround(): Ground {
  if (!own) {
    const env = readEnv();
    own = { env, clock: systemClock, ids: randomIds, log: rootLog(env), random: Math.random };
  }
  return own;
}

/** Gives a broker's services another ground than the process's: before the services are created. */
export const provideGround = (broker: ServiceBroker, ground: Ground): void => {
  grounds.set(broker, ground);
};

/** The ground of the services on this broker. */
export const groundOf = (broker: ServiceBroker): Ground => grounds.get(broker) ?? processGround();
