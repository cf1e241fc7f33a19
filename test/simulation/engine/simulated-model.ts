import mongoose, { type Schema } from "mongoose";
import { isDuplicateKey } from "../../../shared/database/database-errors.ts";
import { DuplicateKey, type Collection, type Seek } from "../collection/collection.ts";
import type { Filter } from "../collection/match.ts";
import type { Update } from "../collection/update.ts";
import { isPlain, type Doc } from "../collection/values.ts";
import type { Operation, Run } from "./database.ts";

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
