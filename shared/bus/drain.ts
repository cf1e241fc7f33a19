import { Strategies, type Endpoint, type ServiceBroker } from "moleculer";
import type { ServiceName } from "../contracts/index.ts";
import { isRecord } from "../json.ts";
import { depsOf } from "../process/process-deps.ts";
import { errorForLog } from "../process/log.ts";
import { MS_PER_SECOND } from "../time/clock.ts";

/** What a service does on the way out, while its process is still on the bus. */
export interface DrainPart {
  service: ServiceName;
  /** Ends what is under way within `SHUTDOWN_GRACE_SECONDS`. */
  drain?: () => Promise<void>;
  /** Calls under way in this process, ringing ones that it waits for included. */
  calls?: () => number;
}

/** The drain of a process: after SIGTERM and before it leaves the bus. */
export interface Drain {
  /** Aborted at its beginning: no new work from then on. */
  readonly draining: AbortSignal;
  add(part: DrainPart): void;
  /** Drains, once; resolves when the process may leave the bus. */
  run(): Promise<void>;
}

/** The services that a call under way needs beside its conversation, whichever process leads it. */
const NEEDED_BY_CALLS: readonly string[] = ["config", "dialer", "gateway", "leads", "numbers"] satisfies ServiceName[];
/** The service whose processes lead calls. */
const LEADS_CALLS: ServiceName = "conversation";
/** When everything is shut down, SIGTERM reaches the processes this far apart at most. */
const TOGETHER_MS = 1000;
const LOOK_EVERY_MS = 100;

/** What a process tells its neighbours of its drain: part of its node's metadata, which neighbours that know nothing of it pass over. */
interface Told {
  draining: boolean;
  calls: number;
}

const toldBy = (metadata: unknown): Told => {
  const said = isRecord(metadata) ? metadata : {};
  return { draining: said["draining"] === true, calls: typeof said["calls"] === "number" ? said["calls"] : 0 };
};

interface Neighbour extends Told {
  services: readonly unknown[];
}

const neighboursOf = (broker: ServiceBroker): Neighbour[] =>
  broker.registry
    .getNodeList({ onlyAvailable: true, withServices: true })
    .flatMap((node) =>
      node.local
        ? []
        : [{ ...toldBy(node.metadata), services: node.services.map((service): unknown => service["name"]) }],
    );

/** Whether calls that another process leads still need this one's services: no process that stays offers them. Pure. */
export function isNeeded(own: readonly string[], neighbours: readonly Neighbour[], justBegun: boolean): boolean {
  const staying = new Set(neighbours.filter(({ draining }) => !draining).flatMap(({ services }) => services));
  if (!own.some((name) => NEEDED_BY_CALLS.includes(name) && !staying.has(name))) return false;
  if (neighbours.some(({ draining, calls }) => draining && calls > 0)) return true;
  return justBegun && staying.has(LEADS_CALLS);
}

function createDrain(broker: ServiceBroker): Drain {
  const beginning = new AbortController();
  const parts: DrainPart[] = [];
  let running: Promise<void> | null = null;

  const tell = async (): Promise<void> => {
    if (!broker.transit) return;
    const calls = parts.reduce((sum, part) => sum + (part.calls?.() ?? 0), 0);
    Object.assign(broker.metadata, { draining: true, calls } satisfies Told);
    broker.registry.regenerateLocalRawInfo(true);
    await broker.registry.discoverer.sendLocalNodeInfo();
  };

  /** Waits while others need this process. */
  const stay = async (graceMs: number): Promise<void> => {
    const { clock } = depsOf(broker);
    const began = clock.monotonicMs();
    const own = parts.map(({ service }) => service);
    for (let ms = 0; broker.transit && ms < graceMs; ms = clock.monotonicMs() - began) {
      if (!isNeeded(own, neighboursOf(broker), ms < TOGETHER_MS)) return;
      await clock.wait(LOOK_EVERY_MS);
    }
  };

  const drain = async (): Promise<void> => {
    const { clock, env, log } = depsOf(broker);
    const began = clock.monotonicMs();
    beginning.abort();
    const drains = parts.map((part) =>
      (part.drain?.() ?? Promise.resolve()).catch((error: unknown) =>
        log.error(
          { service: part.service, event: "drain.failed", error: errorForLog(error) },
          "a service could not drain; it is shut down",
        ),
      ),
    );
    await tell();
    await Promise.all(drains);
    await tell();
    await stay(env.SHUTDOWN_GRACE_SECONDS * MS_PER_SECOND - (clock.monotonicMs() - began));
  };

  return {
    draining: beginning.signal,
    add: (part) => parts.push(part),
    run: () => (running ??= drain()),
  };
}

const drains = new WeakMap<object, Drain>();

/** The drain of a broker's process. */
export function drainOf(broker: ServiceBroker): Drain {
  const drain = drains.get(broker) ?? createDrain(broker);
  drains.set(broker, drain);
  return drain;
}

/** Makes a broker drain before it leaves the bus, whatever asks it to stop. For `created` of its options. */
export function leaveDrained(broker: ServiceBroker): void {
  const leave = broker.stop.bind(broker);
  let leaving: Promise<void> | null = null;
  broker.stop = () => (leaving ??= drainOf(broker).run().then(leave));
}

/** Chooses among the processes that offer something: in turn, those that drain only where no other is left. */
export class StayingFirst extends Strategies.RoundRobin {
  override select(list: Endpoint[]): Endpoint {
    const staying = list.filter(({ node }) => !toldBy(node.metadata).draining);
    return super.select(staying.length > 0 ? staying : list);
  }
}
