import { createServer } from "node:net";
import type { Server, Socket } from "node:net";
import { Catalog } from "./storage/catalog.ts";
import { Connection } from "./wire/connection.ts";
import type { Engine } from "./commands/context.ts";
import { Cursors } from "./commands/cursors.ts";
import { sweepExpired } from "./storage/ttl-sweep.ts";
import { Retries } from "./storage/retryable-writes.ts";
import { Storage } from "./storage/storage.ts";
import { TurnQueue } from "./wire/turn-queue.ts";
import { GroupCommit } from "./wire/group-commit.ts";

/** Where the store keeps its data (":memory:" for none) and the port it listens on (0: a free one). */
export interface StoreOptions {
  dir: string;
  port: number;
  /** How often expired documents, idle cursors and old retry answers are removed. */
  sweepEveryMs?: number;
  /** Start although acknowledged commits are missing or documents are damaged; those are removed. */
  acceptLoss?: boolean;
  /** The time of the commands ($$NOW, localTime) and of expiry; the default is the machine's. */
  now?: () => Date;
  /** Told of unexpected errors; the default writes them to stderr. */
  report?: (error: unknown) => void;
}

/** A running store. */
export interface RunningStore {
  /** mongodb://127.0.0.1:port/?directConnection=true */
  url: string;
  /** Commits, closes every connection and the file. */
  close(): Promise<void>;
}

/** MongoDB sweeps expired documents once a minute. */
const SWEEP_EVERY_MS = 60_000;
const HOST = "127.0.0.1";
/** Connections at once; a driver opens up to a hundred per client. */
const MAX_CONNECTIONS = 10_000;

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, HOST, () => {
      const address = server.address();
      server.off("error", reject);
      resolve(typeof address === "object" && address !== null ? address.port : port);
    });
  });
}

function report(error: unknown): void {
  console.error("store:", error);
}

/** Removes what has had its time, and again at once while there is more. */
function sweeping(engine: Engine, turn: GroupCommit, everyMs: number, onError: (error: unknown) => void): () => void {
  let again: NodeJS.Immediate | undefined;
  const sweep = (): void => {
    const now = new Date();
    try {
      engine.cursors.sweep(now.getTime());
      const more = turn.run(() => {
        new Retries(engine.storage).sweep(now.getTime());
        return sweepExpired(engine, engine.now());
      });
      if (more) again = setImmediate(sweep);
    } catch (error) {
      onError(error);
    }
  };
  const timer = setInterval(sweep, everyMs);
  return () => {
    clearInterval(timer);
    clearImmediate(again);
  };
}

/** Starts the store on the loopback address. Errors: EADDRINUSE, an unwritable folder, a folder another store has open; StoreDamaged. */
export async function startStore(options: StoreOptions): Promise<RunningStore> {
  const tell = options.report ?? report;
  const { acceptLoss = false } = options;
  const storage = new Storage(options.dir, { acceptLoss, report: tell });
  const catalog = new Catalog(storage);
  if (acceptLoss) catalog.dropDamaged();
  catalog.dropScratch();
  const engine: Engine = {
    storage,
    catalog,
    cursors: new Cursors(),
    address: "",
    now: options.now ?? (() => new Date()),
    startedAt: new Date(),
    failures: new Map(),
    held: { bytes: 0 },
    retrying: new Set(),
  };
  const turn = new GroupCommit(storage, () => catalog.load(), tell);
  const turns = new TurnQueue();
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    return new Connection(engine, turn, turns, socket, ++connections);
  });
  server.maxConnections = MAX_CONNECTIONS;
  let port: number;
  try {
    port = await listen(server, options.port);
  } catch (error) {
    storage.close();
    throw error;
  }
  engine.address = `${HOST}:${port}`;
  const stopSweeping = sweeping(engine, turn, options.sweepEveryMs ?? SWEEP_EVERY_MS, tell);
  return {
    url: `mongodb://${engine.address}/?directConnection=true`,
    close: async () => {
      stopSweeping();
      turns.clear();
      turn.flush();
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      for (const socket of sockets) socket.destroy();
      await closed;
      storage.close();
    },
  };
}
