import { decode } from "../bson/bson-reader.ts";
import type { Reply } from "../bson/bson-writer.ts";
import type { Collection } from "../storage/collection.ts";
import {
  boolArgument,
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
import { newDocument, runDelete, runUpdate } from "../update/update-execution.ts";
import type { UpdateStatement } from "../update/update-execution.ts";
import { asNumber, isDoc } from "../bson/values.ts";
import type { Doc, Value } from "../bson/values.ts";

/** MongoDB's bound on the statements of one write command. */
const MAX_STATEMENTS = 100_000;

const INSERT = new Set(["insert", "documents", "ordered", "bypassDocumentValidation"]);
const UPDATE = new Set(["update", "updates", "ordered", "bypassDocumentValidation", "let"]);
const UPDATE_STATEMENT = new Set(["q", "u", "c", "multi", "upsert", "arrayFilters", "collation", "hint", "sort"]);
const DELETE = new Set(["delete", "deletes", "ordered", "let"]);
const DELETE_STATEMENT = new Set(["q", "limit", "collation", "hint"]);

/** An error of one statement as it stands in writeErrors. Errors that are not the statement's own are thrown on. */
export function writeError(index: number, error: unknown): Doc {
  if (!(error instanceof StoreError)) throw error;
  return { index, code: error.code, errmsg: error.message, ...error.extra };
}

/** Runs statements one by one: ordered ones end at the first error. */
function each<T>(items: readonly T[], ordered: boolean, run: (item: T, index: number) => void): Doc[] {
  if (items.length === 0 || items.length > MAX_STATEMENTS)
    throw new StoreError(
      "InvalidLength",
      `Write batch sizes must be between 1 and ${MAX_STATEMENTS}. Got ${items.length} operations.`,
    );
  const errors: Doc[] = [];
  for (const [index, item] of items.entries()) {
    try {
      run(item, index);
    } catch (error) {
      errors.push(writeError(index, error));
      if (ordered) break;
    }
  }
  return errors;
}

function withErrors(reply: Reply, errors: Doc[]): Reply {
  return errors.length === 0 ? reply : { ...reply, writeErrors: errors };
}

/** The statements of a write command: in its body or as a document sequence. */
function statements(call: Call, name: string): Doc[] {
  const raw = call.sequences.get(name);
  return raw === undefined ? docsArgument(call.command, name) : raw.map(decode);
}

/** insert */
export function insert(call: Call): Reply {
  refuseUnknown(call.command, "insert", INSERT);
  const raw = call.sequences.get("documents");
  if (raw === undefined)
    throw new StoreError("IDLFailedToParse", "BSON field 'insert.documents' is missing but a required field");
  const name = stringArgument(call.command, "insert");
  let collection: Collection | undefined;
  let n = 0;
  const errors = each(raw, boolArgument(call.command, "ordered", true), (bytes) => {
    const made = newDocument(decode(bytes), bytes);
    collection ??= call.engine.catalog.ensure(call.db, name);
    collection.insert(made.doc, made.bytes);
    n++;
  });
  return withErrors({ n }, errors);
}

/** Reads one update statement (of update, or of bulkWrite under other names). */
export function updateStatement(s: Doc): UpdateStatement {
  refuseCollation(s);
  const sort = docArgument(s, "sort");
  const hint = hintArgument(s);
  const u: Value | undefined = s["u"];
  if (u === undefined)
    throw new StoreError("IDLFailedToParse", "BSON field 'update.updates.u' is missing but a required field");
  return {
    filter: docArgument(s, "q") ?? {},
    u,
    arrayFilters: docsArgument(s, "arrayFilters"),
    multi: boolArgument(s, "multi"),
    upsert: boolArgument(s, "upsert"),
    ...(sort === undefined ? {} : { sort }),
    ...(hint === undefined ? {} : { hint }),
  };
}

function refuseRetryableMulti(call: Call, multi: boolean): void {
  if (multi && call.command["txnNumber"] !== undefined)
    throw new StoreError("InvalidOptions", "Cannot use (or request) retryable writes with multi=true");
}

/** update */
export function update(call: Call): Reply {
  const { command, engine } = call;
  refuseUnknown(command, "update", UPDATE);
  const name = stringArgument(command, "update");
  const scope = scopeOf(call);
  let n = 0;
  let nModified = 0;
  const upserted: Doc[] = [];
  const parsed = statements(call, "updates").map((statement) => {
    refuseUnknown(statement, "update.updates", UPDATE_STATEMENT, false);
    const s = updateStatement(statement);
    refuseRetryableMulti(call, s.multi);
    return { s, constants: docArgument(statement, "c") };
  });
  const errors = each(parsed, boolArgument(command, "ordered", true), ({ s, constants }, index) => {
    const collection = s.upsert ? engine.catalog.ensure(call.db, name) : engine.catalog.find(call.db, name);
    const out = runUpdate(
      call,
      collection,
      s,
      constants === undefined ? scope : { ...scope, variables: { ...scope.variables, ...constants } },
    );
    n += out.matched + (out.upserted === undefined ? 0 : 1);
    nModified += out.modified;
    if (out.upserted !== undefined) upserted.push({ index, _id: out.upserted });
  });
  return withErrors({ n, nModified, ...(upserted.length === 0 ? {} : { upserted }) }, errors);
}

/** delete */
export function remove(call: Call): Reply {
  const { command, engine } = call;
  refuseUnknown(command, "delete", DELETE);
  const collection = engine.catalog.find(call.db, stringArgument(command, "delete"));
  const scope = scopeOf(call);
  let n = 0;
  const parsed = statements(call, "deletes").map((statement) => {
    refuseUnknown(statement, "delete.deletes", DELETE_STATEMENT, false);
    refuseCollation(statement);
    const limit = asNumber(statement["limit"]);
    if (limit !== 0 && limit !== 1)
      throw new StoreError("FailedToParse", `The limit field in delete objects must be 0 or 1. Got ${String(limit)}`);
    if (!isDoc(statement["q"]))
      throw new StoreError("IDLFailedToParse", "BSON field 'delete.deletes.q' is missing but a required field");
    refuseRetryableMulti(call, limit === 0);
    const hint = hintArgument(statement);
    return { filter: statement["q"], multi: limit === 0, ...(hint === undefined ? {} : { hint }) };
  });
  const errors = each(parsed, boolArgument(command, "ordered", true), (s) => {
    n += runDelete(call, collection, s, scope).deleted;
  });
  return withErrors({ n }, errors);
}
