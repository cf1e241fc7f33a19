import { REST, UNLIMITED } from "../budget.ts";
import { compareValues } from "../bson/comparison.ts";
import { StoreError } from "../bson/errors.ts";
import type { Collection } from "./collection.ts";
import type { Index } from "./index-table.ts";
import type { Engine } from "../commands/context.ts";
import { prepare } from "../query/query-execution.ts";
import { visitPath } from "../bson/paths.ts";
import type { Doc, Value } from "../bson/values.ts";

/** Documents removed in one go, so that a sweep does not hold up the clients for long. */
const BATCH = 100;

function expired(v: Value | undefined, before: Date): boolean {
  return v instanceof Date && compareValues(v, before) <= 0;
}

function sweepIndex(engine: Engine, collection: Collection, index: Index, seconds: number, now: Date): number {
  const [path] = index.keys.paths;
  if (path === undefined) return 0;
  const before = new Date(now.getTime() - seconds * 1000);
  const due: Doc = { [path]: { $lte: before } };
  const partial = index.definition.partialFilterExpression;
  const { run } = prepare(
    engine.storage,
    collection,
    { filter: partial === undefined ? due : { $and: [due, partial] }, hint: index.definition.name, wanted: BATCH },
    { now, variables: {}, budget: UNLIMITED },
  );
  const found = [];
  for (const m of run()) {
    if (m === REST) continue;
    found.push(m);
    if (found.length >= BATCH) break;
  }
  let removed = 0;
  for (const m of found) {
    // An array expires by its earliest date; the filter has found one that is due.
    const isDue = visitPath(m.doc, path.split("."), (v) =>
      Array.isArray(v) ? v.some((x) => expired(x, before)) : expired(v, before),
    );
    if (!isDue) continue;
    collection.remove(m.rid, m.doc);
    removed++;
  }
  return removed;
}

/** One sweep; a damaged document stops that of its own index alone, which has not yet written then (it was reported when it was read). */
function sweepWhole(engine: Engine, collection: Collection, index: Index, seconds: number, now: Date): number {
  try {
    return sweepIndex(engine, collection, index, seconds, now);
  } catch (error) {
    if (error instanceof StoreError && error.codeName === "DataCorruptionDetected") return 0;
    throw error;
  }
}

/** One pass over all TTL indexes; true when a batch was full and another pass is due at once. */
export function sweepExpired(engine: Engine, now: Date): boolean {
  let full = false;
  for (const collection of engine.catalog.list()) {
    for (const index of collection.indexes) {
      const seconds = index.definition.expireAfterSeconds;
      if (seconds !== undefined && sweepWhole(engine, collection, index, seconds, now) >= BATCH) full = true;
    }
  }
  return full;
}
