import { BSONRegExp, ObjectId } from "bson";
import { REST, type Slices } from "../budget.ts";
import { encode } from "../bson/bson-writer.ts";
import type { Collection } from "../storage/collection.ts";
import { sameValue } from "../bson/comparison.ts";
import { conjunctsOf } from "../planner/conjuncts.ts";
import type { Call } from "../commands/context.ts";
import { StoreError } from "../bson/errors.ts";
import type { Scope } from "../expressions/expressions.ts";
import { setField } from "../bson/paths.ts";
import { compileFilter } from "../query/matcher.ts";
import { Match, prepare } from "../query/query-execution.ts";
import type { Query } from "../planner/query-plan.ts";
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

/** Whether the first field is _id: JavaScript says so only where no field is named like a number. */
function beginsWithId(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.buffer, bytes.byteOffset + 5, 4).toString("latin1") === "_id\0";
}

/** Checks a new document and gives it an _id, first. `bytes`: its encoding, if it can be stored as it came. Errors: InvalidIdField and others. */
export function newDocument(doc: Doc, bytes?: Uint8Array): Encoded {
  const id = doc["_id"];
  if (id !== undefined) checkId(id);
  if (id !== undefined && (bytes === undefined ? Object.keys(doc)[0] === "_id" : beginsWithId(bytes)))
    return { doc, bytes: bytes ?? encode(doc) };
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

/** The first or all documents a write is meant for. */
function* searched(call: Call, collection: Collection, query: Query, scope: Scope, multi: boolean): Slices<Match[]> {
  const found: Match[] = [];
  for (const m of prepare(call.engine.storage, collection, query, scope).run()) {
    if (m === REST) {
      yield REST;
      continue;
    }
    found.push(m);
    if (!multi) break;
    scope.budget.hold(m.bytes.length);
  }
  return found;
}

/**
 * Finds what a write is meant for and hands it to `change`, document by document. The search may rest, and others write
 * meanwhile: a document that has changed since it was found is judged again; where one alone was wanted, another is searched.
 */
function* changing(
  call: Call,
  collection: Collection,
  query: Query,
  scope: Scope,
  multi: boolean,
  change: (m: Match) => void,
): Slices<number> {
  const test = compileFilter(query.filter, scope);
  for (;;) {
    let seen = collection.changes;
    const found = yield* searched(call, collection, query, scope, multi);
    let done = 0;
    for (const m of found) {
      scope.budget.spend();
      if (multi && scope.budget.due()) yield REST;
      const now = collection.changes === seen ? m : reread(collection, m, test);
      if (now === undefined) continue;
      const before = collection.changes;
      change(now);
      done++;
      if (before === seen) seen = collection.changes;
    }
    if (multi || done > 0 || found.length === 0) return done;
  }
}

function reread(collection: Collection, m: Match, test: (doc: Doc) => boolean): Match | undefined {
  if (collection.dropped) throw new StoreError("QueryPlanKilled", `collection dropped: ${collection.ns}`);
  const stored = collection.stored(m.rid);
  if (stored === undefined) return undefined;
  if (Buffer.compare(stored.bytes, m.bytes) === 0) return m;
  const now = new Match(collection.checked(stored));
  return test(now.doc) ? now : undefined;
}

/** Runs one update statement. `collection` may be missing only when nothing is to be upserted. */
export function* runUpdate(
  call: Call,
  collection: Collection | undefined,
  s: UpdateStatement,
  scope: Scope,
): Slices<UpdateOutcome> {
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
  const out: UpdateOutcome = { matched: 0, modified: 0 };
  const changed = yield* changing(call, collection, query, scope, s.multi, (m) => {
    const { modified, after } = changeOne(collection, m, update);
    out.matched++;
    if (modified) out.modified++;
    out.before = m;
    out.after = after;
  });
  return changed === 0 && s.upsert ? upsert(collection, s, update) : out;
}

/** Runs one delete statement; the removed document comes back when it is one. */
export function* runDelete(
  call: Call,
  collection: Collection | undefined,
  s: { filter: Doc; multi: boolean; sort?: Doc; hint?: Value },
  scope: Scope,
): Slices<{ deleted: number; before?: Match }> {
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
  let before: Match | undefined;
  const deleted = yield* changing(call, collection, query, scope, s.multi, (m) => {
    collection.remove(m.rid, m.doc);
    before = m;
  });
  return { deleted, ...(before === undefined ? {} : { before }) };
}
