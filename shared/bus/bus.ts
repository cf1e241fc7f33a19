import type { CallingOptions, Context, Service, ServiceBroker, ServiceSchema } from "moleculer";
import type { Contracts, ServiceName } from "../contracts/index.ts";
import { contractOf, contracts } from "../contracts/index.ts";
import { READERS_KEYWORDS, type ActionContract, type Static, type TSchema } from "../contracts/define.ts";
import type { By } from "../contracts/records/identity.ts";
import { isRecord } from "../json.ts";
import { depsOf, type ProcessDeps } from "../process/process-deps.ts";
import { trustOf } from "./bus-trust.ts";
import { drainOf } from "./drain.ts";
import { sizeRefusal } from "./message-sizes.ts";
import { metricsOf, type Metrics } from "../metrics/metrics.ts";
import { tracerOf, type Tracer } from "../tracing/tracer.ts";
import { storeOptionsOf } from "../metrics/monitor.ts";
import { readinessOf } from "../metrics/readiness.ts";
import { throwCause } from "../database/database-errors.ts";
import { refusalAlarm } from "../database/refusal-alarm.ts";
import { openStore, type Store } from "../database/mongo.ts";
import { createStoreClock, type StoreClock } from "../time/store-clock.ts";

type ActionsOf<S extends ServiceName> = Contracts[S]["actions"];
type Entries = {
  [S in ServiceName]: { [A in keyof ActionsOf<S> & string as `${S}.${A}`]: ActionsOf<S>[A] };
}[ServiceName];
type Merge<U> = (U extends unknown ? (u: U) => void : never) extends (i: infer I) => void ? I : never;
type Actions = Merge<Entries>;
type AllEvents = Merge<{ [S in ServiceName]: Contracts[S]["events"] }[ServiceName]>;
type Side<E, K extends "params" | "result"> = E extends Record<K, infer X extends TSchema> ? Static<X> : never;

/** Name of an action on the bus, `leads.push`. */
export type ActionName = keyof Actions & string;
/** Name of an event on the bus. */
export type EventName = keyof AllEvents & string;
/** What an action takes. */
export type ParamsOf<N extends ActionName> = Side<Actions[N], "params">;
/** What an action gives. */
export type ResultOf<N extends ActionName> = Side<Actions[N], "result">;
/** What narrows a list: all that its action takes beside who asks and which page. */
export type ListFilter<N extends ActionName> = Omit<ParamsOf<N>, "by" | "limit" | "cursor">;
/** What an event carries. */
export type EventOf<N extends EventName> = AllEvents[N] extends TSchema ? Static<AllEvents[N]> : never;

/** How a call is made: on a named node, or with its own time-out. */
export interface CallHow {
  node?: string;
  timeout_ms?: number;
}

/** The typed bus: the only door to other services. Failures keep their code (shared/errors.ts codeOf). MESSAGE_TOO_LARGE (message-sizes.ts). */
export interface Bus {
  call<N extends ActionName>(name: N, params: ParamsOf<N>, how?: CallHow): Promise<ResultOf<N>>;
  /** A hint to one instance of each interested service; may be lost. */
  emit<N extends EventName>(name: N, event: EventOf<N>): void;
  /** A hint to every instance; may be lost. */
  broadcast<N extends EventName>(name: N, event: EventOf<N>): void;
}

/** What a service is built on. */
export interface ServiceDeps extends ProcessDeps {
  bus: Bus;
  /** The deployment's time with its bounds. */ storeClock: StoreClock;
  /** The database; asked for only by services that own a collection. */
  store(): Store;
  /** This process's id on the bus. */
  nodeId: string;
  /** The asker with auth's proof of it (shared/bus/bus-trust.ts). */
  proven(by: By): By;
  /** Where it counts what it does (shared/metrics/catalogue.ts). */
  metrics: Metrics;
  traces: Tracer;
  /** Aborted from SIGTERM on, while the process is still on the bus: no new work is taken. */
  draining: AbortSignal;
}

/** A call being handled: a bus that carries its trace on. */
export interface Handling {
  bus: Bus;
}

/** What a service does: exactly the actions of its contract, and the events it listens to. */
export interface Implementation<S extends ServiceName> {
  actions: {
    [A in keyof ActionsOf<S>]: (
      params: Side<ActionsOf<S>[A], "params">,
      handling: Handling,
    ) => Promise<Side<ActionsOf<S>[A], "result">> | Side<ActionsOf<S>[A], "result">;
  };
  /** Handlers of the events named in `listens`. */
  events?: { [N in EventName]?: (event: EventOf<N>) => void | Promise<void> };
  started?(): Promise<void> | void;
  /** From SIGTERM on, before the process leaves the bus: ends what is under way within SHUTDOWN_GRACE_SECONDS. */
  drain?(): Promise<void>;
  /** Calls under way here, for which processes that they need stay. */
  calls?(): number;
  stopped?(): Promise<void> | void;
}

/** Handlers of some of a service's actions: a part that the service is put together from. */
export type Handlers<S extends ServiceName, A extends keyof ActionsOf<S>> = Pick<Implementation<S>["actions"], A>;

const optionsOf = (
  name: ActionName,
  how: CallHow | undefined,
  headers: Record<string, string> | undefined,
): CallingOptions => {
  const timeout = how?.timeout_ms ?? contractOf(name)?.timeout_ms;
  return {
    ...(timeout === undefined ? {} : { timeout }),
    ...(how?.node === undefined ? {} : { nodeID: how.node }),
    ...(headers && { headers }),
  };
};

/** The typed view of a broker, or of a context of it, which carries its trace on. */
export function busOf(broker: ServiceBroker): Bus;
export function busOf(context: Context<unknown, object>, broker: ServiceBroker): Bus;
export function busOf(
  carrier: ServiceBroker | Context<unknown, object>,
  broker: ServiceBroker = carrier as ServiceBroker,
): Bus {
  const caller = carrier as Pick<ServiceBroker, "call" | "emit" | "broadcast">;
  const signed = (): { headers: Record<string, string> } | undefined => {
    const headers = trustOf(broker).eventHeaders();
    return headers && { headers };
  };
  return {
    async call<N extends ActionName>(name: N, params: ParamsOf<N>, how?: CallHow) {
      const refusal = sizeRefusal(name, "params", params);
      if (refusal) throw refusal;
      const options = optionsOf(name, how, trustOf(broker).callHeaders(name));
      return caller.call<ResultOf<N>, ParamsOf<N>>(name, params, options);
    },
    emit: (name, event) => {
      caller.emit(name, event, signed()).catch(() => undefined);
    },
    broadcast: (name, event) => {
      caller.broadcast(name, event, signed()).catch(() => undefined);
    },
  };
}

interface Running {
  implementation: Implementation<ServiceName> | null;
  started: boolean;
  store: Store | null;
  storeClock: StoreClock;
  /** Ends the reading of the store's clock. */
  unfollow: (() => Promise<void>) | null;
}

/** What a service is given beside its own clock and log. */
const serviceDeps = (
  name: ServiceName,
  broker: ServiceBroker,
  own: ProcessDeps & { storeClock: StoreClock },
  mine: Pick<Running, "store">,
): ServiceDeps => ({
  ...own,
  bus: busOf(broker),
  nodeId: broker.nodeID,
  proven: (by: By) => trustOf(broker).proven(by),
  draining: drainOf(broker).draining,
  metrics: metricsOf(broker),
  traces: tracerOf(broker, name),
  store: () => (mine.store ??= openStore(own.env.MONGODB_URI, storeOptionsOf(broker))),
});

/** Why a service can't work at this moment; null: it can. */
function faultOf({ started, store, storeClock }: Running): string | null {
  if (!started) return "it has not started yet";
  if (store?.isUp() === false) return "the database is away";
  return store && !storeClock.known() ? "the database's time is not known" : null;
}

/** What the broker needs before a service is built: the services it waits for at start, and the events it subscribes to. */
export interface ServiceOptions {
  dependencies?: ServiceName[];
  listens?: EventName[];
}

type EventHandlers = Record<string, ((event: unknown) => void | Promise<void>) | undefined>;

const subscriptions = (
  names: readonly EventName[],
  handlersOf: (self: Service) => EventHandlers | undefined,
): NonNullable<ServiceSchema["events"]> =>
  Object.fromEntries(
    names.map((name) => [
      name,
      {
        handler(this: Service, ctx: Context<unknown, object>) {
          return trustOf(this.broker).hears(name, ctx) ? handlersOf(this)?.[name]?.(ctx.params) : undefined;
        },
      },
    ]),
  );

/** An answer that can be sent. MESSAGE_TOO_LARGE, said in the log too: a caller may be of a version that does not know the word. */
function sendable(self: Service, action: string, answer: unknown): unknown {
  const refusal = sizeRefusal(action, "result", answer);
  if (!refusal) return answer;
  depsOf(self.broker).log.error(
    { service: "bus", event: "bus.answer_too_large", action, error: refusal.message },
    "an answer is too large for the bus and is not sent",
  );
  throw refusal;
}

type ActionHandlers = Record<string, (params: unknown, handling: Handling) => unknown>;

const FOR_READERS: ReadonlySet<string> = new Set(["title", "description", "examples", ...READERS_KEYWORDS]);
const isSchemaMap = (word: string): boolean => word === "properties" || word === "patternProperties";
const entriesWith = (value: object, map: (inner: unknown) => unknown): object =>
  Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, map(inner)]));

/** A schema without what is for readers only: Moleculer sends each node the schemas of all actions of all others. */
export function checkedPart(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(checkedPart);
  if (!isRecord(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema).flatMap(([word, inner]) => {
      if (FOR_READERS.has(word)) return [];
      return [[word, isSchemaMap(word) && isRecord(inner) ? entriesWith(inner, checkedPart) : checkedPart(inner)]];
    }),
  );
}

/** The actions of a contract for Moleculer; each admits its caller before anything is done. */
const actionsOf = (
  name: ServiceName,
  handlersOf: (self: Service) => ActionHandlers,
): NonNullable<ServiceSchema["actions"]> =>
  Object.fromEntries(
    Object.entries<ActionContract>(contracts[name].actions).map(([action, contract]) => [
      action,
      {
        params: checkedPart(contract.params) as Record<string, never>,
        since: contract.since,
        async handler(this: Service, ctx: Context<unknown, object>) {
          const full = `${name}.${action}`;
          trustOf(this.broker).admit(full, ctx.params, ctx);
          const handle = async () => handlersOf(this)[action]?.(ctx.params, { bus: busOf(ctx, this.broker) });
          return sendable(this, full, await handle().catch(throwCause));
        },
      },
    ]),
  );

/** Declares a service. `build` runs once per broker, when the service is created; what it returns must cover the contract. */
export function service<S extends ServiceName>(
  name: S,
  build: (deps: ServiceDeps) => Implementation<S>,
  options: ServiceOptions = {},
): ServiceSchema {
  const running = new WeakMap<object, Running>();
  const of = (self: Service): Running & { implementation: Implementation<S> } => {
    const r = running.get(self);
    if (!r?.implementation) throw new Error(`the service ${name} was used before it was created`);
    return r as Running & { implementation: Implementation<S> };
  };

  return {
    name,
    ...(options.dependencies ? { dependencies: [...options.dependencies] } : {}),
    actions: actionsOf(name, (self) => of(self).implementation.actions as unknown as ActionHandlers),
    events: subscriptions(
      options.listens ?? [],
      (self) => of(self).implementation.events as unknown as EventHandlers | undefined,
    ),
    created(this: Service) {
      const deps = depsOf(this.broker);
      trustOf(this.broker).mustBe(name);
      const log = deps.log.child({ service: name });
      const storeClock = deps.storeClock ?? createStoreClock({ clock: deps.clock, log, holds: false });
      const mine: Running = { implementation: null, started: false, store: null, storeClock, unfollow: null };
      running.set(this, mine);
      const own = { ...deps, log, storeClock };
      mine.implementation = build(serviceDeps(name, this.broker, own, mine)) as unknown as Implementation<ServiceName>;
      const { drain: end, calls } = mine.implementation;
      drainOf(this.broker).add({ service: name, ...(end && { drain: end }), ...(calls && { calls }) });
      readinessOf(this.broker).add(name, () => faultOf(mine));
    },
    async started(this: Service) {
      const mine = of(this);
      await mine.store?.open();
      if (mine.store) mine.unfollow = await mine.storeClock.follow(mine.store);
      const log = depsOf(this.broker).log.child({ service: name });
      mine.store?.onRefused(refusalAlarm(log, (e) => busOf(this.broker).broadcast("database.command_refused", e)));
      await mine.implementation.started?.();
      mine.started = true;
    },
    async stopped(this: Service) {
      const mine = of(this);
      // a broker that was not told to drain first does it now, with all its services still at work
      await drainOf(this.broker).run();
      await mine.implementation.stopped?.();
      await mine.unfollow?.();
      await mine.store?.close();
    },
  };
}
