/** The entity map of one test: clients, databases, collections, sessions, cursors and saved values, by name. */
import { type ClientSession, type Collection, type Db, MongoClient, type ServerApi, ServerApiVersion } from "mongodb";
import type { Doc } from "../expectations/bson-values.ts";
import type { OpenCursor } from "./open-cursor.ts";
import { type EventLog, observe } from "../expectations/command-events.ts";
import { RunnerError } from "../runner-errors.ts";
import type { MatchScope } from "../expectations/value-match.ts";
import { driverOptions } from "./driver-options.ts";
import { type ServerUnderTest, withUriOptions } from "../server-under-test.ts";
import { documentAt, flagAt, onlyKeys, singleEntry, stringAt } from "../field-readers.ts";

/** Everything a name can stand for. */
export type Entity =
  | { kind: "client"; client: MongoClient; log: EventLog }
  | { kind: "database"; database: Db }
  | { kind: "collection"; collection: Collection }
  | { kind: "session"; session: ClientSession; lsid: unknown }
  | { kind: "cursor"; open: OpenCursor }
  | { kind: "value"; value: unknown };

type EntityOf<Kind extends Entity["kind"]> = Extract<Entity, { kind: Kind }>;

function isOf<Kind extends Entity["kind"]>(entity: Entity, kind: Kind): entity is EntityOf<Kind> {
  return entity.kind === kind;
}

/** Names of one test. Every look-up throws RunnerFault if the name is undefined or of another kind. */
export class EntityMap implements MatchScope {
  readonly #entities = new Map<string, Entity>();
  #undo: (() => Promise<void>)[] = [];

  set(name: string, entity: Entity): void {
    if (this.#entities.has(name)) throw new RunnerError(`the entity name "${name}" is already in use`);
    this.#entities.set(name, entity);
  }

  any(name: string): Entity {
    const entity = this.#entities.get(name);
    if (entity === undefined) throw new RunnerError(`there is no entity named "${name}"`);
    return entity;
  }

  get<Kind extends Entity["kind"]>(name: string, kind: Kind): EntityOf<Kind> {
    const entity = this.any(name);
    if (!isOf(entity, kind)) throw new RunnerError(`the entity "${name}" is a ${entity.kind}, not a ${kind}`);
    return entity;
  }

  valueEntity(name: string): unknown {
    return this.get(name, "value").value;
  }

  sessionId(name: string): unknown {
    return this.get(name, "session").lsid;
  }

  /** Stops recording events on every client; what was recorded stays. */
  stopObserving(): void {
    for (const entity of this.#entities.values()) if (entity.kind === "client") entity.log.stop();
  }

  /** Keeps what must be undone on the server when the operations of the test are over. */
  undoLater(action: () => Promise<void>): void {
    this.#undo.push(action);
  }

  /** Undoes, latest first, what was kept with undoLater. Throws what an action throws. */
  async undo(): Promise<void> {
    const actions = this.#undo.toReversed();
    this.#undo = [];
    for (const action of actions) await action();
  }

  /** Closes cursors, ends sessions, closes clients; errors of closing are no result of a test. */
  async close(): Promise<void> {
    const all = [...this.#entities.values()];
    this.#entities.clear();
    await Promise.allSettled(all.map((entity) => (entity.kind === "cursor" ? entity.open.cursor.close() : undefined)));
    await Promise.allSettled(
      all.map((entity) => (entity.kind === "session" ? entity.session.endSession() : undefined)),
    );
    await Promise.allSettled(all.map((entity) => (entity.kind === "client" ? entity.client.close() : undefined)));
  }
}

function clientUri(entity: Doc, server: ServerUnderTest): string {
  const given = entity["uriOptions"] === undefined ? {} : documentAt("uriOptions", entity["uriOptions"]);
  const options = Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, Array.isArray(value) ? value.map(String) : String(value)]),
  );
  const uri = withUriOptions(server.uri, options);
  if (server.facts.topology !== "sharded" || entity["useMultipleMongoses"] === undefined) return uri;
  const found = /^(mongodb:\/\/(?:[^@/]*@)?)([^/]+)(\/.*)$/.exec(uri);
  if (found === null) return uri;
  const [, head = "", hosts = "", tail = ""] = found;
  if (!flagAt("useMultipleMongoses", entity["useMultipleMongoses"], false))
    return `${head}${hosts.split(",")[0] ?? hosts}${tail}`;
  if (!hosts.includes(","))
    throw new RunnerError("useMultipleMongoses needs a connection string with more than one mongos");
  return uri;
}

function serverApi(value: unknown): ServerApi {
  const api = documentAt("serverApi", value);
  onlyKeys("serverApi", api, ["version", "strict", "deprecationErrors"]);
  const version = Object.values(ServerApiVersion).find((known) => known === api["version"]);
  if (version === undefined) throw new RunnerError(`the driver knows no server API version ${String(api["version"])}`);
  return {
    version,
    strict: flagAt("strict", api["strict"], false),
    deprecationErrors: flagAt("deprecationErrors", api["deprecationErrors"], false),
  };
}

const CLIENT_KEYS = [
  "id",
  "uriOptions",
  "useMultipleMongoses",
  "observeEvents",
  "ignoreCommandMonitoringEvents",
  "observeSensitiveCommands",
  "serverApi",
];
const OPTION_KEYS = ["readConcern", "readPreference", "writeConcern", "timeoutMS"];

function createClient(entity: Doc, server: ServerUnderTest): Entity {
  onlyKeys("client entity", entity, CLIENT_KEYS);
  const api = entity["serverApi"] === undefined ? {} : { serverApi: serverApi(entity["serverApi"]) };
  const client = new MongoClient(clientUri(entity, server), { monitorCommands: true, ...api });
  return { kind: "client", client, log: observe(client, entity) };
}

function createDatabase(entity: Doc, entities: EntityMap): Entity {
  onlyKeys("database entity", entity, ["id", "client", "databaseName", "databaseOptions"]);
  const { client } = entities.get(stringAt("database.client", entity["client"]), "client");
  const options = driverOptions("databaseOptions", entity["databaseOptions"], OPTION_KEYS);
  return { kind: "database", database: client.db(stringAt("databaseName", entity["databaseName"]), options) };
}

function createCollection(entity: Doc, entities: EntityMap): Entity {
  onlyKeys("collection entity", entity, ["id", "database", "collectionName", "collectionOptions"]);
  const { database } = entities.get(stringAt("collection.database", entity["database"]), "database");
  const options = driverOptions("collectionOptions", entity["collectionOptions"], OPTION_KEYS);
  return {
    kind: "collection",
    collection: database.collection(stringAt("collectionName", entity["collectionName"]), options),
  };
}

function createSession(entity: Doc, entities: EntityMap): Entity {
  onlyKeys("session entity", entity, ["id", "client", "sessionOptions"]);
  const { client } = entities.get(stringAt("session.client", entity["client"]), "client");
  const session = client.startSession(
    driverOptions("sessionOptions", entity["sessionOptions"], [
      "causalConsistency",
      "snapshot",
      "snapshotTime",
      "defaultTransactionOptions",
      "defaultTimeoutMS",
    ]),
  );
  // Read now: the id is wanted after endSession too, when the driver no longer gives it.
  return { kind: "session", session, lsid: session.id };
}

/** Creates one entity of a createEntities list and puts it into the map. Throws RunnerFault if it cannot be. */
export function createEntity(definition: Doc, entities: EntityMap, server: ServerUnderTest): void {
  const [kind, entity] = singleEntry("entity", definition);
  const name = stringAt(`${kind}.id`, entity["id"]);
  switch (kind) {
    case "client":
      entities.set(name, createClient(entity, server));
      return;
    case "database":
      entities.set(name, createDatabase(entity, entities));
      return;
    case "collection":
      entities.set(name, createCollection(entity, entities));
      return;
    case "session":
      entities.set(name, createSession(entity, entities));
      return;
    default:
      throw new RunnerError(`unknown kind of entity "${kind}"`);
  }
}
