import type { Slices } from "../budget.ts";
import { decode } from "../bson/bson-reader.ts";
import { encode } from "../bson/bson-writer.ts";
import type { Reply } from "../bson/bson-writer.ts";
import {
  boolArgument,
  countArgument,
  docArgument,
  docsArgument,
  hintArgument,
  refuseCollation,
  refuseUnknown,
  scopeOf,
  stringArgument,
} from "./command-arguments.ts";
import type { Call } from "./context.ts";
import { StoreError } from "../bson/errors.ts";
import type { Scope } from "../expressions/expressions.ts";
import { asNumber } from "../bson/values.ts";
import type { Doc } from "../bson/values.ts";
import { updateStatement, writeError } from "./writes.ts";
import { newDocument, runDelete, runUpdate } from "../update/update-execution.ts";

const FIELDS = new Set([
  "bulkWrite",
  "ops",
  "nsInfo",
  "ordered",
  "errorsOnly",
  "bypassDocumentValidation",
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

interface Totals {
  nInserted: number;
  nMatched: number;
  nModified: number;
  nUpserted: number;
  nDeleted: number;
}

interface Bulk {
  call: Call;
  namespaces: [string, string][];
  scope: Scope;
  totals: Totals;
}

function namespaceOf(bulk: Bulk, index: number | undefined): [string, string] {
  const ns = bulk.namespaces[index ?? -1];
  if (ns === undefined)
    throw new StoreError("BadValue", `BulkWrite ops entry has an invalid nsInfo index: ${String(index)}`);
  return ns;
}

function insertOne(bulk: Bulk, op: Doc): Doc {
  refuseUnknown(op, "bulkWrite.ops", INSERT, false);
  const [db, name] = namespaceOf(bulk, asNumber(op["insert"]));
  const made = newDocument(docArgument(op, "document") ?? {});
  bulk.call.engine.catalog.ensure(db, name).insert(made.doc, made.bytes);
  bulk.totals.nInserted++;
  return { n: 1 };
}

function updateSome(bulk: Bulk, op: Doc): Doc {
  refuseUnknown(op, "bulkWrite.ops", UPDATE, false);
  const [db, name] = namespaceOf(bulk, asNumber(op["update"]));
  const { filter, updateMods, constants: _constants, update: _update, ...rest } = op;
  const s = updateStatement({ ...rest, q: filter ?? {}, ...(updateMods === undefined ? {} : { u: updateMods }) });
  const constants = docArgument(op, "constants");
  const { catalog } = bulk.call.engine;
  const collection = s.upsert ? catalog.ensure(db, name) : catalog.find(db, name);
  const scope =
    constants === undefined ? bulk.scope : { ...bulk.scope, variables: { ...bulk.scope.variables, ...constants } };
  const out = runUpdate(bulk.call, collection, s, scope);
  bulk.totals.nMatched += out.matched;
  bulk.totals.nModified += out.modified;
  if (out.upserted === undefined) return { n: out.matched, nModified: out.modified };
  bulk.totals.nUpserted++;
  return { n: 1, nModified: 0, upserted: { _id: out.upserted } };
}

function deleteSome(bulk: Bulk, op: Doc): Doc {
  refuseUnknown(op, "bulkWrite.ops", DELETE, false);
  refuseCollation(op);
  const [db, name] = namespaceOf(bulk, asNumber(op["delete"]));
  const hint = hintArgument(op);
  const sort = docArgument(op, "sort");
  const s = {
    filter: docArgument(op, "filter") ?? {},
    multi: boolArgument(op, "multi"),
    ...(hint === undefined ? {} : { hint }),
    ...(sort === undefined ? {} : { sort }),
  };
  const { deleted } = runDelete(bulk.call, bulk.call.engine.catalog.find(db, name), s, bulk.scope);
  bulk.totals.nDeleted += deleted;
  return { n: deleted };
}

function runOne(bulk: Bulk, op: Doc): Doc {
  if (op["insert"] !== undefined) return insertOne(bulk, op);
  if (op["update"] !== undefined) return updateSome(bulk, op);
  if (op["delete"] !== undefined) return deleteSome(bulk, op);
  throw new StoreError(
    "IDLUnknownField",
    `BSON field 'bulkWrite.ops.${Object.keys(op)[0] ?? ""}' is an unknown field.`,
  );
}

function namespaces(call: Call): [string, string][] {
  const infos = call.sequences.get("nsInfo")?.map(decode) ?? docsArgument(call.command, "nsInfo");
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
  const totals: Totals = { nInserted: 0, nMatched: 0, nModified: 0, nUpserted: 0, nDeleted: 0 };
  const bulk: Bulk = {
    call,
    namespaces: namespaces(call),
    scope: scopeOf(call),
    totals,
  };
  const ops = call.sequences.get("ops")?.map(decode) ?? docsArgument(command, "ops");
  const ordered = boolArgument(command, "ordered", true);
  const errorsOnly = boolArgument(command, "errorsOnly");
  const results: Uint8Array[] = [];
  let nErrors = 0;
  for (const [idx, op] of ops.entries()) {
    try {
      const result = runOne(bulk, op);
      if (!errorsOnly) results.push(encode({ ok: 1, idx, ...result }));
    } catch (error) {
      const { index: _index, ...rest } = writeError(idx, error);
      results.push(encode({ ok: 0, idx, n: 0, ...rest }));
      nErrors++;
      if (ordered) break;
    }
  }
  const batch = countArgument(docArgument(command, "cursor") ?? {}, "batchSize");
  const cursor = yield* call.engine.cursors.first(
    call,
    "admin.$cmd.bulkWrite",
    results[Symbol.iterator](),
    batch ?? Number.MAX_SAFE_INTEGER,
  );
  return { ...cursor, nErrors, ...totals };
}
