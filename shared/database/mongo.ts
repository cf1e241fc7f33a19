import mongoose, { type Connection, type ConnectOptions, type Model, type Schema } from "mongoose";
import { onRefusedCommand, watchCommands, type RefusalListener } from "./refused-commands.ts";
import { checkCollections, makeCollection, type OwnedModel } from "./migration.ts";
import { systemClock } from "../time/clock.ts";
import { skewFault, type ClockReading } from "./clock-skew.ts";
import { isFresh, TOLD_WITHIN_MS, type ClockSource } from "../time/store-clock.ts";
import { toldTimeIn } from "./told-time.ts";

/** The database as a service sees it: its own models on one shared connection. Its time is that of which $$NOW is made; it throws the driver's error. */
export interface Store extends Required<ClockSource> {
  /** The model of one collection; the collection has one owner, which is made with its indexes before the service starts. */
  model<Doc>(collection: string, schema: Schema<Doc>): Model<Doc>;
  /** Connects, compares the clocks, and makes the collections with their indexes or sees that they are there; throws the driver's error when the database does not answer within 20 s, ClockSkewError when its clock and ours are apart, MigrationMissingError. */
  open(): Promise<void>;
  /** Releases the connection; the last release closes it. */
  close(): Promise<void>;
  /** Tells of every command on this service's collections that the database refuses as such, until the store is closed. */
  onRefused(listener: RefusalListener): void;
  /** True while the driver has a usable connection. */
  isUp(): boolean;
}

const SERVER_SELECTION_MS = 5000;
const SOCKET_MS = 30_000;
const POOL = 50;
const CONNECTED = 1;
/** Default time limit of a query, write or aggregation, enforced by the database. */
export const MAX_QUERY_MS = 8000;
/** Writes that take no time limit from their connection, as reads, aggregations and findOneAndUpdate do. */
const WRITES = [
  "updateOne",
  "updateMany",
  "deleteOne",
  "deleteMany",
  "replaceOne",
  "findOneAndDelete",
  "findOneAndReplace",
] as const;

/** The first connection gets this many times SERVER_SELECTION_MS: the database may still be starting, or the host be busy. */
const CONNECT_TRIES = 4;

const OPTIONS: ConnectOptions = {
  serverSelectionTimeoutMS: SERVER_SELECTION_MS,
  socketTimeoutMS: SOCKET_MS,
  maxPoolSize: POOL,
  // overrides the URI: an acknowledged write is never rolled back, and no decision reads a stale copy
  retryWrites: true,
  w: "majority",
  readConcernLevel: "majority",
  readPreference: "primary",
  autoIndex: false,
  autoCreate: false,
};

/** How a store is opened. */
export interface StoreOptions {
  /** This process's clock, ms since 1970. */
  now?: () => number;
  /** Whether what is missing of the collections and indexes is made, or is an error; absent: it is made. */
  migrate?: boolean;
  /** Waits for an answer as long as it takes: an index of a large collection is made in hours. */
  patient?: boolean;
  /** Hears of every command of this process on the database, once it is over. */
  onCommand?: CommandListener;
}

/** How long a command took, and whether it failed. */
export type CommandListener = (command: string, ms: number, failed: boolean) => void;

interface Shared {
  connection: Connection;
  options: ConnectOptions;
  users: number;
  connected: Promise<void> | null;
  clocks: Promise<void> | null;
}

/** The database's clock and ours are too far apart for this process to work with it. */
export class ClockSkewError extends Error {
  constructor(sentence: string) {
    super(sentence);
    this.name = "ClockSkewError";
  }
}

/** Clocks are read this often at most; the reading with the shortest way decides. */
const CLOCK_READINGS = 3;
const shared = new Map<string, Shared>();

/** Tells of the commands of a connection; the driver makes events of them only where they are asked for. */
function tellCommands(connection: Connection, onCommand: CommandListener): void {
  const client = connection.getClient();
  client.on("commandSucceeded", ({ commandName, duration }) => onCommand(commandName, duration, false));
  client.on("commandFailed", ({ commandName, duration }) => onCommand(commandName, duration, true));
}

function acquire(uri: string, patient: boolean, onCommand: CommandListener | undefined): Shared {
  const known = shared.get(uri);
  if (known) {
    known.users++;
    return known;
  }
  const options = {
    ...OPTIONS,
    monitorCommands: onCommand !== undefined,
    ...(patient ? { socketTimeoutMS: 0 } : {}),
  };
  const connection = mongoose.createConnection(uri, options);
  connection.set("maxTimeMS", MAX_QUERY_MS);
  connection.on("error", () => undefined); // every operation reports its own failure
  const made = { connection, options, users: 1, connected: null, clocks: null };
  // not by the first try's promise: the first try may fail
  if (onCommand) connection.once("connected", () => tellCommands(connection, onCommand));
  shared.set(uri, made);
  return made;
}

const boundedSchemas = new WeakSet<object>();

/** The schema, whose models' writes are bounded too, and whose refused commands are told of. */
function prepared<Doc>(schema: Schema<Doc>, now: () => number): Schema<Doc> {
  if (boundedSchemas.has(schema)) return schema;
  boundedSchemas.add(schema);
  schema.pre([...WRITES], { document: false, query: true }, function boundWrite() {
    if (this.getOptions().maxTimeMS === undefined) this.setOptions({ maxTimeMS: MAX_QUERY_MS });
  });
  watchCommands(schema, now);
  return schema;
}

/** Waits for the first connection; asks again where no server answered in time. */
async function connect({ connection, options }: Shared, uri: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await (tries === 1 ? connection.asPromise() : connection.openUri(uri, options));
      return;
    } catch (error) {
      if (tries === CONNECT_TRIES || !(error instanceof mongoose.Error.MongooseServerSelectionError)) throw error;
    }
  }
}

/** The database's time, in its answer to hello. */
async function timeOf(connection: Connection): Promise<Date | null> {
  const { localTime } = (await connection.getClient().db("admin").command({ hello: 1 })) as { localTime?: Date };
  return localTime ?? null;
}

/** Refuses a database whose clock is apart from ours, unless the deployment knows that and holds it off. A slow answer is asked again before it counts. */
async function compareClocks(connection: Connection, now: () => number): Promise<void> {
  const told = await toldTimeIn(connection)
    .told()
    .catch(() => null);
  const readings: ClockReading[] = [];
  while (readings.length < CLOCK_READINGS && (readings.length === 0 || skewFault(readings) !== null)) {
    const asked_ms = now();
    const localTime = await timeOf(connection);
    if (!localTime) return; // without localTime there is nothing to compare
    const ahead_ms = told && isFresh(told, localTime, TOLD_WITHIN_MS) ? told.ahead_ms : 0;
    readings.push({ asked_ms, answered_ms: now(), store_ms: localTime.getTime() - ahead_ms });
  }
  const fault = skewFault(readings);
  if (fault !== null) throw new ClockSkewError(fault);
}

const wallNow = (): number => systemClock.now().getTime();

/** Opens a store on `uri`; writes wait for a majority. Connections are shared by all services of the process. */
export function openStore(
  uri: string,
  { now = wallNow, migrate = true, patient = false, onCommand }: StoreOptions = {},
): Store {
  const held = acquire(uri, patient, onCommand);
  const models: OwnedModel[] = [];
  const listening: (() => void)[] = [];
  let open = true;
  return {
    model<Doc>(collection: string, schema: Schema<Doc>): Model<Doc> {
      const known = held.connection.models[collection];
      const model =
        (known as Model<Doc> | undefined) ?? held.connection.model<Doc>(collection, prepared(schema, now), collection);
      models.push(model);
      return model;
    },
    async open() {
      await (held.connected ??= connect(held, uri));
      await (held.clocks ??= compareClocks(held.connection, now));
      await (migrate ? Promise.all(models.map(makeCollection)) : checkCollections(models));
    },
    async close() {
      if (!open) return;
      open = false;
      for (const end of listening) end();
      if (--held.users > 0) return;
      shared.delete(uri);
      // not `close`: mongoose would keep it for good
      await held.connection.destroy();
    },
    onRefused(listener) {
      for (const { collection } of models) listening.push(onRefusedCommand(held.connection, collection.name, listener));
    },
    isUp: () => held.connection.readyState === CONNECTED,
    time: () => timeOf(held.connection),
    ...toldTimeIn(held.connection),
  };
}

/** Options every schema shares: our own string ids, no version key, unknown fields are an error, not dropped. */
export const SCHEMA_OPTIONS = { versionKey: false, strict: "throw", minimize: false, id: false } as const;
