import type { Schema } from "mongoose";
import { isDuplicateKey } from "../../../shared/database/database-errors.ts";
import type { Filter } from "../collection/match.ts";
import type { Update } from "../collection/update.ts";
import type { Doc } from "../collection/values.ts";
import { Collection, type UniqueIndex } from "../collection/collection.ts";
import type { SimLife, Stage } from "./process.ts";

/** One operation on a collection, as the mutations and the trace see it. */
export interface Operation {
  collection: string;
  verb: string;
  filter: Filter;
  update: Update | null;
  docs: readonly Doc[];
}

/** The simulated database, one for all processes. */
export class Database {
  readonly collections = new Map<string, Collection>();
  /** Hears of each document as it is written, and of what it was before. */
  onPut: (collection: string, doc: Doc, old: Doc | null) => void = () => undefined;
  readonly #now: () => Date;
  readonly #lacks: readonly string[];
  /** `lacks`: unique indexes that are not made, by name. */
  constructor(now: () => Date, lacks: readonly string[] = []) {
    this.#now = now;
    this.#lacks = lacks;
  }

  collection(name: string, schema: Schema<never>): Collection {
    const known = this.collections.get(name);
    if (known) return known;
    const unique = schema.indexes().flatMap(([fields, options]): UniqueIndex[] =>
      options.unique && !this.#lacks.includes(String(options.name))
        ? [
            {
              name: String(options.name),
              paths: Object.keys(fields),
              partial: (options.partialFilterExpression as Filter | undefined) ?? null,
            },
          ]
        : [],
    );
    const made = new Collection(name, unique, this.#now, (doc, old) => this.onPut(name, doc, old));
    this.collections.set(name, made);
    return made;
  }

  docs<T = Doc>(name: string): T[] {
    return [...(this.collections.get(name)?.docs.values() ?? [])] as T[];
  }
}

/** How a model reaches its collection: through chance, time and the mutations. */
export type Run = <T>(operation: Operation, work: (o: Operation) => T) => Promise<T>;

const networkError = (): Error =>
  Object.assign(new Error("connection 7 to 127.0.0.1:27017 closed"), { name: "MongoNetworkError" });

/** Steps that only look for work are many: their faults are made rarer by this. */
const IDLE_SHARE = 0.1;
const READS = new Set(["find", "aggregate", "count"]);

/** The database's time, as slow and as unsure to come as any read. */
export function storeTime(stage: Stage, life: SimLife): Promise<Date> {
  const { faults, world } = stage;
  const lost = stage.strikes("store clock lost", (faults.storeLost + faults.storeReplyLost) * IDLE_SHARE)
    ? networkError()
    : null;
  const slow = stage.strikes("store clock slow", faults.storeSlow * IDLE_SHARE) ? world.random.between(20, 3000) : 0;
  const ms = world.random.between(0.2, 2) + slow + stage.farMs;
  // answered at any moment on its way
  const out = world.random.between(0, ms);
  return new Promise((resolve, reject) => {
    world.after(out, null, () => {
      const now = new Date(Math.floor(world.now + stage.storeAheadMs));
      world.after(ms - out, life, () => (lost ? reject(lost) : resolve(now)));
    });
  });
}

/** Everything a life does at the database. `change` lets a mutation put another operation in the place of one; null leaves it out. */
export function storeAccess(stage: Stage, life: SimLife, change: (o: Operation) => Operation | null): Run {
  const { world } = stage;
  /** A duplicate key is an answer; any other error is one of the caller's, or something the simulated database can't do. */
  const worked = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      if (!isDuplicateKey(error))
        stage.wrong.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
      throw error;
    }
  };
  return (operation, work) => {
    const { faults } = stage;
    const { random } = world;
    const away = world.now < stage.awayUntil.store;
    if (READS.has(operation.verb)) {
      const lost =
        away || stage.strikes("store read lost", (faults.storeLost + faults.storeReplyLost) * IDLE_SHARE)
          ? networkError()
          : null;
      const slow = stage.strikes("store read slow", faults.storeSlow * IDLE_SHARE) ? random.between(20, 3000) : 0;
      return stage.glance(
        life,
        `${operation.verb} ${operation.collection}`,
        () => worked(() => work(operation)),
        slow + random.between(0.2, 2),
        lost,
      );
    }
    const { writeMs } = stage;
    // applied at any moment of it: at its beginning, as a majority that is slow to acknowledge, or at its end
    const out = writeMs > 0 ? random.between(0, writeMs) : 0;
    const idle = operation.collection === "calls" && "due_at" in operation.filter;
    const rare = idle ? IDLE_SHARE : 1;
    const slow = stage.strikes("store slow", faults.storeSlow * rare) ? random.between(20, 3000) : 0;
    return stage.step(
      life,
      `${operation.verb} ${operation.collection}`,
      () => {
        const changed = change(operation);
        if (changed === null) return work({ ...operation, filter: { _id: { $in: [] } }, docs: [] });
        const value = worked(() => work(changed));
        if (!idle && world.trace)
          world.note(
            life.process.name,
            `${operation.verb} ${operation.collection} ${JSON.stringify(changed.filter).slice(0, 150)} ${JSON.stringify(changed.update ?? changed.docs).slice(0, 420)} = ${value === null ? "null" : typeof value === "object" ? "{}" : String(value)}`,
          );
        return value;
      },
      {
        idle,
        outMs: slow + out + random.between(0.1, 1.2),
        backMs: writeMs - out + random.between(0.1, 1.2),
        lost: stage.strikes("store reply lost", faults.storeReplyLost * rare) ? networkError() : null,
        undone: away || stage.strikes("store request lost", faults.storeLost * rare) ? networkError() : null,
      },
    );
  };
}
