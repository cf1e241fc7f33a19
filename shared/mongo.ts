import mongoose, { type Connection, type Model, type Schema } from "mongoose";

/** The database as a service sees it: its own models on one shared connection. */
export interface Store {
  /** The model of one collection; the collection has one owner, and its indexes are made before the service starts. */
  model<Doc>(collection: string, schema: Schema<Doc>): Model<Doc>;
  /** Connects and makes the indexes; throws the driver's error when the database does not answer within 5 s. */
  open(): Promise<void>;
  /** Lets go of the connection; the last one to do so closes it. */
  close(): Promise<void>;
  /** True while the driver has a usable connection. */
  isUp(): boolean;
}

const SERVER_SELECTION_MS = 5000;
const SOCKET_MS = 30_000;
const POOL = 50;
const CONNECTED = 1;

interface Shared { connection: Connection; users: number; closed: Promise<void> | null }
const shared = new Map<string, Shared>();

function acquire(uri: string): Shared {
  const known = shared.get(uri);
  if (known) { known.users++; return known; }
  const connection = mongoose.createConnection(uri, {
    serverSelectionTimeoutMS: SERVER_SELECTION_MS, socketTimeoutMS: SOCKET_MS, maxPoolSize: POOL,
    retryWrites: true, w: "majority", readConcernLevel: "majority", autoIndex: false, autoCreate: false,
  });
  connection.on("error", () => undefined); // every operation reports its own failure
  const made = { connection, users: 1, closed: null };
  shared.set(uri, made);
  return made;
}

/** Opens a store on `uri`; writes wait for a majority. Connections are shared by all services of the process. */
export function openStore(uri: string): Store {
  const held = acquire(uri);
  const models: { createIndexes(): Promise<unknown> }[] = [];
  let open = true;
  return {
    model<Doc>(collection: string, schema: Schema<Doc>): Model<Doc> {
      const known = held.connection.models[collection];
      const model = (known as Model<Doc> | undefined) ?? held.connection.model<Doc>(collection, schema, collection);
      models.push(model);
      return model;
    },
    async open() {
      await held.connection.asPromise();
      await Promise.all(models.map((m) => m.createIndexes()));
    },
    async close() {
      if (!open) return;
      open = false;
      if (--held.users > 0) return;
      shared.delete(uri);
      await held.connection.close();
    },
    isUp: () => held.connection.readyState === CONNECTED,
  };
}

/** Options every schema shares: our own string ids, no version key, unknown fields are a fault rather than a loss. */
export const SCHEMA_OPTIONS = { versionKey: false, strict: "throw", minimize: false, id: false } as const;
