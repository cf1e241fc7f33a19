import mongoose, { type Schema } from "mongoose";
import { isDuplicateKey } from "../../../shared/errors.ts";
import type { Filter } from "../collection/match.ts";
import type { Update } from "../collection/update.ts";
import { isPlain, type Doc } from "../collection/values.ts";
import { Collection, DuplicateKey, type Seek, type UniqueIndex } from "../collection/collection.ts";
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
  readonly #now: () => Date;
  constructor(now: () => Date) {
    this.#now = now;
  }

  collection(name: string, schema: Schema<never>): Collection {
    const known = this.collections.get(name);
    if (known) return known;
    const unique = schema.indexes().flatMap(([fields, options]): UniqueIndex[] =>
      options.unique
        ? [
            {
              name: String(options.name),
              paths: Object.keys(fields),
              partial: (options.partialFilterExpression as Filter | undefined) ?? null,
            },
          ]
        : [],
    );
    const made = new Collection(name, unique, this.#now);
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
    if (READS.has(operation.verb)) {
      const lost = stage.strikes("store read lost", (faults.storeLost + faults.storeReplyLost) * IDLE_SHARE)
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
        outMs: slow + random.between(0.1, 1.2),
        backMs: random.between(0.1, 1.2),
        lost: stage.strikes("store reply lost", faults.storeReplyLost * rare) ? networkError() : null,
        undone: stage.strikes("store request lost", faults.storeLost * rare) ? networkError() : null,
      },
    );
  };
}

/** A query that is made ready step by step and runs when it is awaited. */
class Query<T> implements PromiseLike<T> {
  readonly #run: (how: Seek) => Promise<T>;
  readonly #how: Seek;
  #running: Promise<T> | null = null;
  constructor(run: (how: Seek) => Promise<T>, how: Seek = {}) {
    this.#run = run;
    this.#how = { ...how };
  }
  sort(sort: Record<string, number>): this {
    this.#how.sort = sort;
    return this;
  }
  limit(n: number): this {
    this.#how.limit = n;
    return this;
  }
  skip(n: number): this {
    this.#how.skip = n;
    return this;
  }
  select(projection: Record<string, unknown>): this {
    this.#how.projection = projection;
    return this;
  }
  lean(): this {
    return this;
  }
  hint(): this {
    return this;
  }
  option(): this {
    return this;
  }
  maxTimeMS(): this {
    return this;
  }
  exec(): Promise<T> {
    return (this.#running ??= this.#run(this.#how));
  }
  // oxlint-disable-next-line unicorn/no-thenable -- mongoose's query is awaited as it is
  then<A = T, B = never>(
    done?: ((v: T) => A | PromiseLike<A>) | null,
    failed?: ((e: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    // oxlint-disable-next-line promise/no-callback-in-promise -- the same
    return this.exec().then(done, failed);
  }
  catch<B = never>(failed?: ((e: unknown) => B | PromiseLike<B>) | null): Promise<T | B> {
    return this.exec().catch(failed);
  }
  finally(done?: (() => void) | null): Promise<T> {
    return this.exec().finally(done);
  }
}

type Options = {
  sort?: Record<string, number>;
  returnDocument?: string;
  new?: boolean;
  upsert?: boolean;
  projection?: Record<string, unknown>;
  updatePipeline?: boolean;
};

type Filled = (doc: Doc) => Doc;
const fillers = new WeakMap<object, Filled>();

/** Defaults of a schema, filled in where a document leaves a field out; fields that the schema does not know are refused. */
function filledIn(schema: Schema<never>): Filled {
  const made = fillers.get(schema);
  if (made) return made;
  const defaults: [string, () => unknown][] = [];
  const known = new Set<string>();
  schema.eachPath((path, type) => {
    known.add(path.split(".")[0] ?? path);
    const value: unknown = (type.options as { default?: unknown }).default;
    const isList = type.instance === "Array";
    if (value === undefined && !isList) return;
    defaults.push([
      path,
      () =>
        value === undefined ? [] : typeof value === "function" ? (value as () => unknown)() : structuredClone(value),
    ]);
  });
  const fill: Filled = (doc) => {
    for (const key in doc)
      if (!known.has(key)) throw new Error(`Field \`${key}\` is not in schema and strict mode is set to throw.`);
    const out = { ...doc };
    for (const [path, value] of defaults) if (out[path] === undefined && !path.includes(".")) out[path] = value();
    return out;
  };
  fillers.set(schema, fill);
  return fill;
}

const bulkError = (faults: { index: number; code: number; errmsg: string }[]): Error => {
  const error = Object.create(mongoose.mongo.MongoBulkWriteError.prototype) as Error & Record<string, unknown>;
  const define = (name: string, value: unknown): void => {
    Object.defineProperty(error, name, { value, enumerable: true, configurable: true, writable: true });
  };
  define("message", faults[0]?.errmsg ?? "");
  define("code", faults[0]?.code);
  define("writeErrors", faults);
  define("result", { getWriteConcernError: () => undefined });
  return error;
};

/** What the services use of a mongoose model, over a simulated collection. */
export function simulatedModel(collection: Collection, schema: Schema<never>, run: Run): object {
  const filled = filledIn(schema);
  const known = new Set(Object.keys(schema.paths).map((p) => p.split(".")[0] ?? p));
  const of = (verb: string, filter: Filter, update: Update | null = null, docs: readonly Doc[] = []): Operation => ({
    collection: collection.name,
    verb,
    filter,
    update,
    docs,
  });
  const checked = (update: Update): Update => {
    for (const fields of Array.isArray(update) ? [] : Object.values(update)) {
      if (isPlain(fields))
        for (const path in fields)
          if (!known.has(path.split(".")[0] ?? path))
            throw new Error(`Path "${path}" is not in schema, strict mode is set to throw.`);
    }
    return update;
  };
  const find = (filter: Filter = {}, projection?: Record<string, unknown> | null, options: Options = {}) =>
    new Query<Doc[]>((how) => run(of("find", filter), (o) => collection.find(o.filter, how)), {
      ...(options.sort ? { sort: options.sort } : {}),
      projection: projection ?? null,
    });
  const findOne = (filter: Filter = {}, projection?: Record<string, unknown> | null) =>
    new Query<Doc | null>(
      (how) => run(of("find", filter), (o) => collection.find(o.filter, { ...how, limit: 1 })[0] ?? null),
      { projection: projection ?? null },
    );
  const changeOne = (filter: Filter, update: Update) =>
    run(of("update", filter, checked(update)), (o) => collection.changeAll(o.filter, o.update ?? {}, 1));
  const insert = (doc: Doc): Promise<Doc> =>
    run(of("insert", {}, null, [filled(doc)]), (o) => {
      for (const d of o.docs) collection.insert(d);
      return doc;
    });
  const toResult = ({ matched, modified }: { matched: number; modified: number }) => ({
    acknowledged: true,
    matchedCount: matched,
    modifiedCount: modified,
    upsertedCount: 0,
  });

  return {
    modelName: collection.name,
    schema,
    collection: { name: collection.name, dropIndex: () => Promise.resolve() },
    find,
    findOne,
    findById: (id: string, projection?: Record<string, unknown> | null) => findOne({ _id: id }, projection),
    exists: (filter: Filter) => findOne(filter, { _id: 1 }),
    findOneAndUpdate: (filter: Filter, update: Update, options: Options = {}) =>
      new Query<Doc | null>((how) =>
        run(of("change", filter, checked(update)), (o) =>
          collection.change(o.filter, o.update ?? {}, {
            sort: how.sort ?? options.sort ?? null,
            after: options.returnDocument === "after" || options.new === true,
            upsert: options.upsert === true,
            projection: how.projection ?? options.projection ?? null,
          }),
        ),
      ),
    findOneAndDelete: (filter: Filter) =>
      new Query<Doc | null>(() =>
        run(of("remove", filter), (o) => {
          const [found] = collection.find(o.filter, { limit: 1 });
          if (found) collection.remove({ _id: found["_id"] }, 1);
          return found ?? null;
        }),
      ),
    updateOne: (filter: Filter, update: Update, options: Options = {}) =>
      new Query(() =>
        options.upsert
          ? run(of("update", filter, checked(update)), (o) => {
              const before = collection.find(o.filter, { limit: 1 }).length;
              collection.change(o.filter, o.update ?? {}, { upsert: true });
              return { ...toResult({ matched: before, modified: before }), upsertedCount: 1 - before };
            })
          : changeOne(filter, update).then(toResult),
      ),
    updateMany: (filter: Filter, update: Update) =>
      new Query(() =>
        run(of("update", filter, checked(update)), (o) => toResult(collection.changeAll(o.filter, o.update ?? {}))),
      ),
    replaceOne: (filter: Filter, doc: Doc) =>
      new Query(() =>
        run(of("replace", filter, null, [filled(doc)]), (o) =>
          toResult(o.docs[0] ? collection.replace(o.filter, o.docs[0]) : { matched: 0, modified: 0 }),
        ),
      ),
    deleteOne: (filter: Filter) =>
      new Query(() => run(of("remove", filter), (o) => ({ deletedCount: collection.remove(o.filter, 1) }))),
    deleteMany: (filter: Filter) =>
      new Query(() => run(of("remove", filter), (o) => ({ deletedCount: collection.remove(o.filter, Infinity) }))),
    countDocuments: (filter: Filter) =>
      new Query(() => run(of("count", filter), (o) => collection.find(o.filter).length)),
    distinct: (field: string, filter: Filter = {}) =>
      new Query(() => run(of("find", filter), (o) => [...new Set(collection.find(o.filter).map((d) => d[field]))])),
    aggregate: (stages: Doc[]) => new Query(() => run(of("aggregate", {}), () => collection.aggregate(stages))),
    create: (doc: Doc | Doc[]) => (Array.isArray(doc) ? Promise.all(doc.map(insert)) : insert(doc)),
    insertMany: (docs: Doc[]) =>
      run(of("insert", {}, null, docs.map(filled)), (o) => {
        const faults: { index: number; code: number; errmsg: string }[] = [];
        o.docs.forEach((d, index) => {
          try {
            collection.insert(d);
          } catch (error) {
            if (!(error instanceof DuplicateKey)) throw error;
            faults.push({ index, code: error.code, errmsg: error.message });
          }
        });
        if (faults.length > 0) throw bulkError(faults);
        return { acknowledged: true, insertedCount: o.docs.length };
      }),
    bulkWrite: (operations: Doc[]) => oneByOne(operations, (filter, update) => changeOne(filter, update)),
    createIndexes: () => Promise.resolve(),
  };
}

/** An unordered bulk write: each write is atomic for itself, others come in between, and where the connection breaks some are done and some are not. */
async function oneByOne(
  operations: readonly Doc[],
  write: (filter: Filter, update: Update) => Promise<{ matched: number; modified: number }>,
): Promise<unknown> {
  const done = await Promise.allSettled(
    operations.map((operation) => {
      const one = operation["updateOne"] as { filter: Filter; update: Update } | undefined;
      if (!one) throw new Error(`the simulated database does not know ${Object.keys(operation).join()} of bulkWrite`);
      return write(one.filter, one.update);
    }),
  );
  const failures = done.flatMap((d, index) =>
    d.status === "rejected" ? [{ index, reason: d.reason as unknown }] : [],
  );
  const broken = failures.find((f) => !isDuplicateKey(f.reason));
  if (broken) throw broken.reason;
  if (failures.length > 0)
    throw bulkError(failures.map(({ index }) => ({ index, code: 11_000, errmsg: "duplicate key" })));
  const of = (what: "matched" | "modified"): number =>
    done.reduce((sum, d) => sum + (d.status === "fulfilled" ? d.value[what] : 0), 0);
  return { matchedCount: of("matched"), modifiedCount: of("modified"), hasWriteErrors: () => false };
}
