import type { Aggregate, Connection, Model, Query, Schema } from "mongoose";
import { sha256 } from "../ids.ts";
import { isRefused } from "./database-errors.ts";

/** A command that the database refuses as such: it will be refused until a person acts. */
export interface RefusedCommand {
  /** The same for each refusal of the same command, whatever its data. */
  key: string;
  collection: string;
  /** The operation, as the driver calls it. */
  command: string;
  code: number | null;
  code_name: string;
  message: string;
  /** When it was refused first, and how often since. */
  since: Date;
  times: number;
}

/** Notice of a refused command, repeated while it is refused; `taken`: the same command was taken again. */
export type RefusalListener = (command: RefusedCommand, taken: boolean) => void;

/** Notices of the same command are at least this far apart. */
const REPEAT_MS = 30_000;
/** Commands kept; beyond it the oldest is forgotten. */
const MAX_KEPT = 100;

interface Kept {
  refused: RefusedCommand;
  told_at: number;
}

/** The value without its data: what two commands of the same code have in common. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return [...new Set(value.map((item) => JSON.stringify(shapeOf(item))))];
  if (typeof value === "string") return value.startsWith("$") ? value : 0;
  if (typeof value !== "object" || value === null || value instanceof Date) return 0;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, shapeOf(item)]));
}

const keyOf = (collection: string, command: string, asked: unknown): string =>
  sha256(JSON.stringify([collection, command, shapeOf(asked)]));

/** The commands that the database refuses on one connection. Learned from the operations' own results, so that none is missed where an error is caught and tried again. */
class RefusedCommands {
  readonly #kept = new Map<string, Kept>();
  readonly #listeners = new Map<string, Set<RefusalListener>>();

  listen(collection: string, listener: RefusalListener): () => void {
    const all = this.#listeners.get(collection) ?? new Set();
    this.#listeners.set(collection, all.add(listener));
    return () => all.delete(listener);
  }

  failed(collection: string, command: string, asked: unknown, error: unknown, now: number): void {
    if (!isRefused(error)) return;
    const key = keyOf(collection, command, asked);
    const code = typeof error["code"] === "number" ? error["code"] : null;
    const code_name = String(error["codeName"] ?? "");
    const before = this.#kept.get(key);
    const since = before?.refused.since ?? new Date(now);
    const times = (before?.refused.times ?? 0) + 1;
    const due = before === undefined || now - before.told_at >= REPEAT_MS;
    const message = String(error["message"]);
    const refused = { key, collection, command, code, code_name, message, since, times };
    this.#kept.set(key, { refused, told_at: due ? now : before.told_at });
    for (const oldest of this.#kept.keys()) if (this.#kept.size > MAX_KEPT) this.#kept.delete(oldest);
    if (due) this.#tell(refused, false);
  }

  taken(collection: string, command: string, asked: () => unknown): void {
    // all is well, nearly always: then this costs nothing
    if (this.#kept.size === 0) return;
    const key = keyOf(collection, command, asked());
    const kept = this.#kept.get(key);
    if (kept === undefined) return;
    this.#kept.delete(key);
    this.#tell(kept.refused, true);
  }

  #tell(refused: RefusedCommand, taken: boolean): void {
    for (const listener of this.#listeners.get(refused.collection) ?? []) listener(refused, taken);
  }
}

const byConnection = new WeakMap<Connection, RefusedCommands>();

const of = (connection: Connection): RefusedCommands => {
  const known = byConnection.get(connection) ?? new RefusedCommands();
  byConnection.set(connection, known);
  return known;
};

/** Tells of the commands on this collection that the database refuses; the answer ends it. */
export const onRefusedCommand = (connection: Connection, collection: string, listener: RefusalListener): (() => void) =>
  of(connection).listen(collection, listener);

const QUERIES = [
  "find",
  "findOne",
  "findOneAndUpdate",
  "findOneAndDelete",
  "findOneAndReplace",
  "countDocuments",
  "distinct",
  "updateOne",
  "updateMany",
  "replaceOne",
  "deleteOne",
  "deleteMany",
] as const;
type Next = (error?: Error) => void;

/** Watches the operations of the schema's models. `now`: ms since 1970. */
export function watchCommands<Doc>(schema: Schema<Doc>, now: () => number): void {
  const asks = (query: Query<unknown, Doc>): unknown => [query.getFilter(), query.getUpdate(), query.projection()];
  const opOf = (query: Query<unknown, Doc>): string => ("op" in query ? String(query.op) : "");
  const onQueries = { document: false, query: true } as const;
  schema.post([...QUERIES], onQueries, function taken(this: Query<unknown, Doc>) {
    of(this.model.db).taken(this.model.collection.name, opOf(this), () => asks(this));
  });
  schema.post(
    [...QUERIES],
    onQueries,
    function failed(this: Query<unknown, Doc>, error: Error, _: unknown, next: Next) {
      of(this.model.db).failed(this.model.collection.name, opOf(this), asks(this), error, now());
      next(error);
    },
  );
  schema.post("aggregate", function taken(this: Aggregate<unknown>) {
    const { db, collection } = this.model();
    of(db).taken(collection.name, "aggregate", () => this.pipeline());
  });
  schema.post("aggregate", function failed(this: Aggregate<unknown>, error: Error, _: unknown, next: Next) {
    const { db, collection } = this.model();
    of(db).failed(collection.name, "aggregate", this.pipeline(), error, now());
    next(error);
  });
  for (const command of ["insertMany", "bulkWrite"] as const) {
    schema.post(command, function taken(this: Model<Doc>) {
      of(this.db).taken(this.collection.name, command, () => null);
    });
    schema.post(command, function failed(this: Model<Doc>, error: Error, _: unknown, next: Next) {
      of(this.db).failed(this.collection.name, command, null, error, now());
      next(error);
    });
  }
}
