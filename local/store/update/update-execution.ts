import { BSONRegExp, ObjectId } from "bson";
import { REST, type Flow } from "../budget.ts";
import { encode } from "../bson/bson-writer.ts";
import type { Collection } from "../storage/collection.ts";
import { sameValue } from "../bson/comparison.ts";
import { conjunctsOf } from "../planner/conjuncts.ts";
import type { Call } from "../commands/context.ts";
import { StoreError } from "../bson/errors.ts";
import type { Scope } from "../expressions/expressions.ts";
import { setField } from "../bson/paths.ts";
import { prepare } from "../query/query-execution.ts";
import type { Match } from "../query/query-execution.ts";
import { compileFilter } from "../query/matcher.ts";
import { compileUpdate, immutableId } from "./update.ts";
import type { Update } from "./update.ts";
import { visitTargets } from "./update-paths.ts";
import { isDoc } from "../bson/values.ts";
import type { Doc, Value } from "../bson/values.ts";

/** One update statement, its parts checked for type. */
export interface UpdateStatement {
  filter: Doc;
  u: Value;
  arrayFilters: Doc[];
  multi: boolean;
  upsert: boolean;
  sort?: Doc;
  hint?: Value;
}

/** A document with its encoding. */
export interface Encoded {
  doc: Doc;
  bytes: Uint8Array;
}

/** What an update did. `before` and `after` are those of the last document touched. */
export interface UpdateOutcome {
  matched: number;
  modified: number;
  upserted?: Value;
  before?: Encoded;
  after?: Encoded;
}

/** Documents an operation will change are collected before the first is written, at most this many. */
const MAX_MULTI = 10_000_000;

/** Checks a new document and gives it an _id, first. `bytes`: its encoding, if it can be stored as it came. Errors: InvalidIdField and others. */
export function newDocument(doc: Doc, bytes?: Uint8Array): Encoded {
  const id = doc["_id"];
  if (id !== undefined) checkId(id);
  if (id !== undefined && Object.keys(doc)[0] === "_id") return { doc, bytes: bytes ?? encode(doc) };
  const ordered: Doc = { _id: id ?? new ObjectId() };
  for (const [k, v] of Object.entries(doc)) if (k !== "_id") setField(ordered, k, v);
  return { doc: ordered, bytes: encode(ordered) };
}

function checkId(id: Value): void {
  if (Array.isArray(id)) throw new StoreError("InvalidIdField", "The '_id' value cannot be of type array");
  if (id instanceof BSONRegExp) throw new StoreError("InvalidIdField", "The '_id' value cannot be of type regex");
  const dollar = isDoc(id)
    ? Object.keys(id).find((k) => k.startsWith("$") && !["$ref", "$id", "$db"].includes(k))
    : undefined;
  if (dollar !== undefined)
    throw new StoreError(
      "DollarPrefixedFieldName",
      `_id fields may not contain '$'-prefixed fields: ${dollar} is not valid for storage.`,
    );
}

/** The document an upsert starts from: the equalities of its filter. Errors: NotSingleValueField for two on one path. */
function upsertBase(filter: Doc, replacing: boolean): Doc {
  const doc: Doc = {};
  const seen = new Map<string, Value>();
  // An $or of one clause demands it.
  const conjuncts = conjunctsOf(filter).flatMap((c) =>
    c.op === "$or" && Array.isArray(c.arg) && c.arg.length === 1
      ? c.arg.filter(isDoc).flatMap((d) => conjunctsOf(d))
      : c,
  );
  for (const c of conjuncts) {
    const value = c.inElement
      ? undefined
      : c.op === "$eq"
        ? c.arg
        : (c.op === "$in" || c.op === "$all") && Array.isArray(c.arg) && c.arg.length === 1
          ? c.arg[0]
          : undefined;
    if (value === undefined || value instanceof BSONRegExp || (replacing && c.path !== "_id")) continue;
    const other = seen.get(c.path);
    if (other !== undefined)
      throw new StoreError(
        "NotSingleValueField",
        `cannot infer query fields to set, path '${c.path}' is matched twice`,
      );
    seen.set(c.path, value);
    visitTargets(doc, c.path, true, { positional: () => undefined, filters: new Map() }, (t) => t.set(value));
  }
  return doc;
}

function upsert(collection: Collection, s: UpdateStatement, update: Update): UpdateOutcome {
  const base = upsertBase(s.filter, update.kind === "replacement");
  const made = update.apply(base, true);
  const wanted = base["_id"];
  if (wanted !== undefined && made["_id"] !== undefined && !sameValue(wanted, made["_id"])) throw immutableId();
  const { doc, bytes } = newDocument(made);
  collection.insert(doc, bytes);
  return { matched: 0, modified: 0, upserted: doc["_id"] ?? null, after: { doc, bytes } };
}

function changeOne(collection: Collection, m: Match, update: Update): { modified: boolean; after: Encoded } {
  const doc = update.apply(m.doc, false);
  if (doc === m.doc) return { modified: false, after: m };
  return { modified: true, after: { doc, bytes: collection.replace(m.rid, m.doc, doc) } };
}

/** Runs one update statement. `collection` may be missing only when nothing is to be upserted. */
export function runUpdate(
  call: Call,
  collection: Collection | undefined,
  s: UpdateStatement,
  scope: Scope,
): UpdateOutcome {
  const update = compileUpdate(s.u, s.arrayFilters, s.filter, scope);
  if (s.multi && update.kind === "replacement")
    throw new StoreError("FailedToParse", "multi update is not supported for replacement-style update");
  if (s.multi && s.sort !== undefined) throw new StoreError("FailedToParse", "Cannot specify sort with multi=true");
  if (collection === undefined) {
    compileFilter(s.filter, scope);
    return { matched: 0, modified: 0 };
  }
  const query = {
    filter: s.filter,
    ...(s.sort === undefined ? {} : { sort: s.sort }),
    ...(s.hint === undefined ? {} : { hint: s.hint }),
    ...(s.multi ? {} : { wanted: 1 }),
  };
  const found = [...limited(prepare(call.engine.storage, collection, query, scope).run(), s.multi ? MAX_MULTI : 1)];
  if (found.length === 0) return s.upsert ? upsert(collection, s, update) : { matched: 0, modified: 0 };
  const out: UpdateOutcome = { matched: 0, modified: 0 };
  for (const m of found) {
    const { modified, after } = changeOne(collection, m, update);
    out.matched++;
    if (modified) out.modified++;
    out.before = m;
    out.after = after;
  }
  return out;
}

function* limited<T>(items: Flow<T>, max: number): Generator<T, void> {
  let n = 0;
  for (const item of items) {
    if (item === REST) continue;
    yield item;
    if (++n >= max) return;
  }
}

/** Runs one delete statement; the removed document comes back when it is one. */
export function runDelete(
  call: Call,
  collection: Collection | undefined,
  s: { filter: Doc; multi: boolean; sort?: Doc; hint?: Value },
  scope: Scope,
): { deleted: number; before?: Match } {
  if (collection === undefined) {
    compileFilter(s.filter, scope);
    return { deleted: 0 };
  }
  const query = {
    filter: s.filter,
    ...(s.sort === undefined ? {} : { sort: s.sort }),
    ...(s.hint === undefined ? {} : { hint: s.hint }),
    ...(s.multi ? {} : { wanted: 1 }),
  };
  const found = [...limited(prepare(call.engine.storage, collection, query, scope).run(), s.multi ? MAX_MULTI : 1)];
  for (const m of found) collection.remove(m.rid, m.doc);
  const [before] = found;
  return { deleted: found.length, ...(before === undefined ? {} : { before }) };
}
