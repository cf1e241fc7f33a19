import { REST, type Slices } from "../budget.ts";
import { encode, MAX_DOCUMENT_BYTES, type Reply } from "../bson/bson-writer.ts";
import {
  boolArgument,
  countArgument,
  docArgument,
  hintArgument,
  refuseCollation,
  refuseOptions,
  refuseUnknown,
  scopeOf,
  stringArgument,
} from "./command-arguments.ts";
import type { Call } from "./context.ts";
import { cursorId } from "./cursors.ts";
import { StoreError } from "../bson/errors.ts";
import { encodeKey } from "../indexes/key-encoder.ts";
import { visitPath } from "../bson/paths.ts";
import type { Query } from "../planner/query-plan.ts";
import { compileProjection } from "../query/projection.ts";
import { countMatches, prepare, slice, type Prepared } from "../query/query-execution.ts";
import { orderedInSlices } from "../query/sort.ts";
import { asNumber, type Doc, type Value } from "../bson/values.ts";

const FIND_FIELDS = new Set([
  "find",
  "filter",
  "sort",
  "projection",
  "hint",
  "skip",
  "limit",
  "batchSize",
  "singleBatch",
  "max",
  "min",
  "returnKey",
  "showRecordId",
  "tailable",
  "oplogReplay",
  "noCursorTimeout",
  "awaitData",
  "allowPartialResults",
  "collation",
  "allowDiskUse",
  "let",
]);
const FIND_REFUSED = ["max", "min", "returnKey", "showRecordId", "tailable", "awaitData", "noCursorTimeout"];
const COUNT_FIELDS = new Set(["count", "query", "limit", "skip", "hint", "fields", "collation"]);
const DISTINCT_FIELDS = new Set(["distinct", "key", "query", "collation", "hint"]);

/** A find command read and planned. */
export interface PlannedFind {
  prepared: Prepared;
  docs: () => Generator<Uint8Array | typeof REST, void>;
  query: Query;
  skip: number;
  limit: number;
}

/** Reads and plans a find command, for find itself and for explain. */
export function planFind(call: Call): PlannedFind {
  const { command, engine } = call;
  refuseUnknown(command, "find", FIND_FIELDS);
  refuseOptions(command, FIND_REFUSED);
  refuseCollation(command);
  const name = stringArgument(command, "find");
  const scope = scopeOf(call);
  const filter = docArgument(command, "filter") ?? {};
  const sort = docArgument(command, "sort");
  const hint = hintArgument(command);
  const [skip, limit] = [countArgument(command, "skip") ?? 0, countArgument(command, "limit") ?? 0];
  const query: Query = {
    filter,
    ...(sort === undefined || Object.keys(sort).length === 0 ? {} : { sort }),
    ...(hint === undefined ? {} : { hint }),
    ...(limit === 0 ? {} : { wanted: skip + limit }),
  };
  const spec = docArgument(command, "projection");
  const project =
    spec === undefined || Object.keys(spec).length === 0
      ? undefined
      : compileProjection(spec, { inFind: true, filter, scope });
  const collection = engine.catalog.find(call.db, name);
  const prepared = prepare(engine.storage, collection, query, scope);
  function* docs(): Generator<Uint8Array | typeof REST, void> {
    for (const m of slice(prepared.run(), skip, limit))
      yield m === REST ? REST : project === undefined ? m.bytes : encode(project(m.doc));
  }
  return { prepared, docs, query, skip, limit };
}

/** find */
export function find(call: Call): Slices<Reply> {
  const { command, engine } = call;
  const planned = planFind(call);
  const ns = `${call.db}.${stringArgument(command, "find")}`;
  const single = boolArgument(command, "singleBatch");
  return engine.cursors.first(call, ns, planned.docs(), countArgument(command, "batchSize"), single);
}

/** getMore */
export function getMore(call: Call): Slices<Reply> {
  const { command, engine } = call;
  refuseUnknown(command, "getMore", new Set(["getMore", "collection", "batchSize"]));
  return engine.cursors.next(
    cursorId(command["getMore"]),
    `${call.db}.${stringArgument(command, "collection")}`,
    countArgument(command, "batchSize"),
  );
}

/** killCursors */
export function killCursors(call: Call): Reply {
  const { command, engine } = call;
  refuseUnknown(command, "killCursors", new Set(["killCursors", "cursors"]));
  const ids = command["cursors"];
  if (!Array.isArray(ids)) throw new StoreError("TypeMismatch", "killCursors needs an array 'cursors'");
  const ns = `${call.db}.${stringArgument(command, "killCursors")}`;
  const killed: Value[] = [];
  const missing: Value[] = [];
  for (const id of ids) (engine.cursors.kill(cursorId(id), ns) ? killed : missing).push(id);
  return { cursorsKilled: killed, cursorsNotFound: missing, cursorsAlive: [], cursorsUnknown: [] };
}

/** count */
export function* count(call: Call): Slices<Reply> {
  const { command, engine } = call;
  refuseUnknown(command, "count", COUNT_FIELDS);
  refuseCollation(command);
  const collection = engine.catalog.find(call.db, stringArgument(command, "count"));
  const skip = countArgument(command, "skip") ?? 0;
  // A negative limit counts like its positive one.
  const limit = Math.abs(asNumber(command["limit"] ?? 0) ?? 0);
  const hint = hintArgument(command);
  const filter = docArgument(command, "query") ?? {};
  const all = yield* countMatches(
    engine.storage,
    collection,
    { filter, ...(hint === undefined ? {} : { hint }) },
    scopeOf(call),
  );
  const left = Math.max(0, all - skip);
  return { n: limit === 0 ? left : Math.min(left, limit) };
}

/** distinct */
export function* distinct(call: Call): Slices<Reply> {
  const { command, engine } = call;
  refuseUnknown(command, "distinct", DISTINCT_FIELDS);
  refuseCollation(command);
  const collection = engine.catalog.find(call.db, stringArgument(command, "distinct"));
  const path = stringArgument(command, "key").split(".");
  const hint = hintArgument(command);
  const query = { filter: docArgument(command, "query") ?? {}, ...(hint === undefined ? {} : { hint }) };
  const found = new Map<string, Value>();
  let bytes = 0;
  const add = (v: Value): void => {
    const key = Buffer.from(encodeKey([v], [false])).toString("latin1");
    if (!found.has(key)) bytes += key.length;
    if (bytes > MAX_DOCUMENT_BYTES) throw new StoreError(17217, "distinct too big, 16mb cap");
    found.set(key, v);
  };
  const scope = scopeOf(call);
  for (const m of prepare(engine.storage, collection, query, scope).run()) {
    if (m === REST) {
      yield REST;
      continue;
    }
    visitPath(m.doc, path, (v) => {
      if (Array.isArray(v)) v.forEach(add);
      else if (v !== undefined) add(v);
      return false;
    });
  }
  const inOrder = yield* orderedInSlices([...found], ([a], [b]) => (a < b ? -1 : 1), scope.budget);
  return { values: inOrder.map(([, v]) => v) };
}

/** A cursor reply holding everything at once (listCollections, listIndexes). */
export function wholeCursor(call: Call, ns: string, docs: Doc[], batchSize: number | undefined): Slices<Reply> {
  return call.engine.cursors.first(call, ns, docs.map(encode)[Symbol.iterator](), batchSize);
}
