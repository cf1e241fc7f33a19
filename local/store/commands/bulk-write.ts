import { sliced, type Slices } from "../budget.ts";
import { decode } from "../bson/bson-reader.ts";
import { encode } from "../bson/bson-writer.ts";
import type { Reply } from "../bson/bson-writer.ts";
import {
  boolArgument,
  countArgument,
  docArgument,
  docsArgument,
  hintArgument,
  missing,
  numberArgument,
  refuseCollation,
  refuseUnknown,
  scopeOf,
  stringArgument,
} from "./command-arguments.ts";
import type { Call } from "./context.ts";
import { StoreError } from "../bson/errors.ts";
import type { Scope } from "../expressions/expressions.ts";
import type { Doc } from "../bson/values.ts";
import { each, refuseRetryableMulti, updateStatement, withConstants, writeError } from "./writes.ts";
import { newDocument, runDelete, runUpdate } from "../update/update-execution.ts";

const FIELDS = new Set([
  "bulkWrite",
  "ops",
  "nsInfo",
  "ordered",
  "errorsOnly",
  "bypassDocumentValidation",
  "bypassEmptyTsReplacement",
  "let",
  "cursor",
]);
const INSERT = new Set(["insert", "document"]);
const UPDATE = new Set([
  "update",
  "filter",
  "updateMods",
  "multi",
  "upsert",
  "arrayFilters",
  "hint",
  "collation",
  "constants",
  "sort",
]);
const DELETE = new Set(["delete", "filter", "multi", "hint", "collation", "sort"]);

type Totals = Doc & {
  nInserted: number;
  nMatched: number;
  nModified: number;
  nUpserted: number;
  nDeleted: number;
  nErrors: number;
  results: Doc[];
};

interface Bulk {
  call: Call;
  namespaces: [string, string][];
  scope: Scope;
  totals: Totals;
}

/** The database and collection an operation names by its index in nsInfo. */
function namespaceOf(bulk: Bulk, op: Doc, kind: string): [string, string] {
  const index = numberArgument(op, kind);
  const ns = bulk.namespaces[index ?? -1];
  if (ns === undefined)
    throw new StoreError("BadValue", `BulkWrite ops entry has an invalid nsInfo index: ${String(index)}`);
  return ns;
}

/** An operation, checked; run, it gives what it has done. */
type Operation = () => Doc | Slices<Doc>;

function insertOne(bulk: Bulk, op: Doc): Operation {
  refuseUnknown(op, "bulkWrite.ops", INSERT, false);
  const [db, name] = namespaceOf(bulk, op, "insert");
  const document = docArgument(op, "document");
  if (document === undefined) throw missing("bulkWrite.ops.document");
  return () => {
    const made = newDocument(document);
    bulk.call.engine.catalog.ensure(db, name).insert(made.doc, made.bytes);
    bulk.totals.nInserted++;
    return { n: 1 };
  };
}

function updateSome(bulk: Bulk, op: Doc): Operation {
  refuseUnknown(op, "bulkWrite.ops", UPDATE, false);
  const [db, name] = namespaceOf(bulk, op, "update");
  const { filter, updateMods, constants: _constants, update: _update, ...rest } = op;
  const named = { ...rest, ...(filter === undefined ? {} : { q: filter }) };
  const s = updateStatement({ ...named, ...(updateMods === undefined ? {} : { u: updateMods }) }, "bulkWrite.ops");
  refuseRetryableMulti(bulk.call, s.multi);
  const scope = withConstants(bulk.scope, docArgument(op, "constants"));
  const { catalog } = bulk.call.engine;
  return function* updated(): Slices<Doc> {
    const collection = s.upsert ? catalog.ensure(db, name) : catalog.find(db, name);
    const out = yield* runUpdate(bulk.call, collection, s, scope);
    bulk.totals.nMatched += out.matched;
    bulk.totals.nModified += out.modified;
    if (out.upserted === undefined) return { n: out.matched, nModified: out.modified };
    bulk.totals.nUpserted++;
    return { n: 1, nModified: 0, upserted: { _id: out.upserted } };
  };
}

function deleteSome(bulk: Bulk, op: Doc): Operation {
  refuseUnknown(op, "bulkWrite.ops", DELETE, false);
  refuseCollation(op);
  const [db, name] = namespaceOf(bulk, op, "delete");
  const filter = docArgument(op, "filter");
  if (filter === undefined) throw missing("bulkWrite.ops.filter");
  const hint = hintArgument(op);
  const sort = docArgument(op, "sort");
  const s = {
    filter,
    multi: boolArgument(op, "multi"),
    ...(hint === undefined ? {} : { hint }),
    ...(sort === undefined ? {} : { sort }),
  };
  refuseRetryableMulti(bulk.call, s.multi);
  return function* deleted(): Slices<Doc> {
    const collection = bulk.call.engine.catalog.find(db, name);
    const out = yield* runDelete(bulk.call, collection, s, bulk.scope);
    bulk.totals.nDeleted += out.deleted;
    return { n: out.deleted };
  };
}

function operation(bulk: Bulk, op: Doc): Operation {
  if (op["insert"] !== undefined) return insertOne(bulk, op);
  if (op["update"] !== undefined) return updateSome(bulk, op);
  if (op["delete"] !== undefined) return deleteSome(bulk, op);
  throw new StoreError(
    "IDLUnknownField",
    `BSON field 'bulkWrite.ops.${Object.keys(op)[0] ?? ""}' is an unknown field.`,
  );
}

function namespaces(call: Call): [string, string][] {
  const infos = call.sequences.get("nsInfo")?.map(decode) ?? docsArgument(call.command, "nsInfo", true);
  return infos.map((info) => {
    refuseUnknown(info, "bulkWrite.nsInfo", new Set(["ns"]), false);
    const ns = stringArgument(info, "ns");
    const dot = ns.indexOf(".");
    if (dot < 1) throw new StoreError("InvalidNamespace", `Invalid namespace specified: '${ns}'`);
    return [ns.slice(0, dot), ns.slice(dot + 1)];
  });
}

/** bulkWrite (MongoDB 8): statements on several collections at once, what the driver's client.bulkWrite sends. */
export function* bulkWrite(call: Call): Slices<Reply> {
  const { command } = call;
  refuseUnknown(command, "bulkWrite", FIELDS);
  if (call.db !== "admin") throw new StoreError(13, "bulkWrite may only be run against the admin database.");
  const totals: Totals = {
    nInserted: 0,
    nMatched: 0,
    nModified: 0,
    nUpserted: 0,
    nDeleted: 0,
    nErrors: 0,
    results: [],
  };
  const bulk: Bulk = { call, namespaces: namespaces(call), scope: scopeOf(call), totals };
  const ops = call.sequences.get("ops")?.map(decode) ?? docsArgument(command, "ops", true);
  const ordered = boolArgument(command, "ordered", true);
  const errorsOnly = boolArgument(command, "errorsOnly");
  const parsed = ops.map((op) => operation(bulk, op));
  yield* each(call, parsed, totals, function* one(run, idx) {
    try {
      const result = yield* sliced(run());
      if (!errorsOnly) totals.results.push({ ok: 1, idx, ...result });
      return true;
    } catch (error) {
      const { index: _index, ...rest } = writeError(idx, error);
      totals.results.push({ ok: 0, idx, n: 0, ...rest });
      totals.nErrors++;
      return !ordered;
    }
  });
  const batch = countArgument(docArgument(command, "cursor") ?? {}, "batchSize");
  const cursor = yield* call.engine.cursors.first(
    call,
    "admin.$cmd.bulkWrite",
    totals.results.map(encode)[Symbol.iterator](),
    batch ?? Number.MAX_SAFE_INTEGER,
  );
  const { results: _results, next: _next, ...counts } = totals;
  return { ...cursor, ...counts };
}
