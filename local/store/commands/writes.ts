import { REST, sliced, type Slices } from "../budget.ts";
import { decode } from "../bson/bson-reader.ts";
import type { Reply } from "../bson/bson-writer.ts";
import type { Scope } from "../expressions/expressions.ts";
import {
  boolArgument,
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
import { newDocument, runDelete, runUpdate } from "../update/update-execution.ts";
import type { UpdateStatement } from "../update/update-execution.ts";
import { asNumber } from "../bson/values.ts";
import type { Doc, Value } from "../bson/values.ts";

/** MongoDB's bound on the statements of one write command. */
const MAX_STATEMENTS = 100_000;

/** Neither changes anything here: there are no validators, and an empty timestamp is always kept as it is. mongorestore sends the latter to servers of version 8. */
const BYPASSES = ["bypassDocumentValidation", "bypassEmptyTsReplacement"];
const INSERT = new Set(["insert", "documents", "ordered", ...BYPASSES]);
const UPDATE = new Set(["update", "updates", "ordered", "let", ...BYPASSES]);
const UPDATE_STATEMENT = new Set(["q", "u", "c", "multi", "upsert", "arrayFilters", "collation", "hint", "sort"]);
const DELETE = new Set(["delete", "deletes", "ordered", "let"]);
const DELETE_STATEMENT = new Set(["q", "limit", "collation", "hint"]);

/** An error of one statement as it stands in writeErrors. Errors that are not the statement's own are thrown on. */
export function writeError(index: number, error: unknown): Doc {
  if (!(error instanceof StoreError)) throw error;
  return { index, code: error.code, errmsg: error.message, ...error.extra };
}

/** Refuses a write command without statements, or with too many. Errors: InvalidLength. */
export function checkStatements(items: readonly unknown[]): void {
  if (items.length === 0 || items.length > MAX_STATEMENTS)
    throw new StoreError(
      "InvalidLength",
      `Write batch sizes must be between 1 and ${MAX_STATEMENTS}. Got ${items.length} operations.`,
    );
}

/**
 * Runs the statements of a command one by one, in slices. `totals` is what they have done so far: it is kept whenever the
 * command rests, so that a retryable write that the store's death cut off goes on there. `run` gives false to end.
 */
export function* each<T>(
  call: Call,
  items: readonly T[],
  totals: Doc,
  run: (item: T, index: number) => Slices<boolean>,
): Slices<void> {
  checkStatements(items);
  Object.assign(totals, call.progress);
  for (let index = asNumber(totals["next"]) ?? 0; index < items.length; index++) {
    const item = items[index];
    if (item === undefined) continue;
    call.budget.spend();
    if (call.budget.due()) yield* rest(call, { ...totals, next: index });
    const slices = run(item, index);
    for (let step = slices.next(); ; step = slices.next()) {
      if (step.done !== true) yield* rest(call, { ...totals, next: index });
      else if (step.value) break;
      else return;
    }
  }
}

function* rest(call: Call, progress: Doc): Slices<void> {
  call.keepProgress?.(progress);
  yield REST;
}

/** The statements of a write command: in its body or as a document sequence. Errors: IDLFailedToParse when there are none. */
function statements(call: Call, name: string): Doc[] {
  const raw = call.sequences.get(name);
  return raw === undefined ? docsArgument(call.command, name, true) : raw.map(decode);
}

/** What the statements of a command have done. */
type Totals = Doc & { n: number; nModified: number; upserted: Doc[]; errors: Doc[] };

/** Runs statements, ordered ones up to the first error. */
function* run<T>(
  call: Call,
  items: readonly T[],
  one: (item: T, totals: Totals, index: number) => Totals | Slices<Totals>,
): Slices<Totals> {
  const totals: Totals = { n: 0, nModified: 0, upserted: [], errors: [] };
  const ordered = boolArgument(call.command, "ordered", true);
  yield* each(call, items, totals, function* statement(item, index) {
    try {
      yield* sliced(one(item, totals, index));
      return true;
    } catch (error) {
      totals.errors.push(writeError(index, error));
      return !ordered;
    }
  });
  return totals;
}

function withErrors(reply: Reply, { errors }: Totals): Reply {
  return errors.length === 0 ? reply : { ...reply, writeErrors: errors };
}

/** insert */
export function* insert(call: Call): Slices<Reply> {
  refuseUnknown(call.command, "insert", INSERT);
  const name = stringArgument(call.command, "insert");
  const raw = call.sequences.get("documents");
  if (raw === undefined) throw missing("insert.documents");
  const totals = yield* run(call, raw, (bytes, done) => {
    const made = newDocument(decode(bytes), bytes);
    call.engine.catalog.ensure(call.db, name).insert(made.doc, made.bytes);
    done.n++;
    return done;
  });
  return withErrors({ n: totals.n }, totals);
}

/** Reads one update statement (of update, or of bulkWrite under other names). */
export function updateStatement(s: Doc, name = "update.updates"): UpdateStatement {
  refuseCollation(s);
  const sort = docArgument(s, "sort");
  const hint = hintArgument(s);
  const filter = docArgument(s, "q");
  if (filter === undefined) throw missing(`${name}.${name === "update.updates" ? "q" : "filter"}`);
  const u: Value | undefined = s["u"];
  if (u === undefined) throw missing(`${name}.${name === "update.updates" ? "u" : "updateMods"}`);
  return {
    filter,
    u,
    arrayFilters: docsArgument(s, "arrayFilters"),
    multi: boolArgument(s, "multi"),
    upsert: boolArgument(s, "upsert"),
    ...(sort === undefined ? {} : { sort }),
    ...(hint === undefined ? {} : { hint }),
  };
}

/** Errors: InvalidOptions for a retryable write of many documents. */
export function refuseRetryableMulti(call: Call, multi: boolean): void {
  if (multi && call.command["txnNumber"] !== undefined)
    throw new StoreError("InvalidOptions", "Cannot use (or request) retryable writes with multi=true");
}

/** The scope of a statement that brings constants of its own. */
export function withConstants(scope: Scope, constants: Doc | undefined): Scope {
  return constants === undefined ? scope : { ...scope, variables: { ...scope.variables, ...constants } };
}

/** update */
export function* update(call: Call): Slices<Reply> {
  const { command, engine } = call;
  refuseUnknown(command, "update", UPDATE);
  const name = stringArgument(command, "update");
  const scope = scopeOf(call);
  const parsed = statements(call, "updates").map((statement) => {
    refuseUnknown(statement, "update.updates", UPDATE_STATEMENT, false);
    const s = updateStatement(statement);
    refuseRetryableMulti(call, s.multi);
    return { s, scope: withConstants(scope, docArgument(statement, "c")) };
  });
  const totals = yield* run(call, parsed, function* one(statement, done, index): Slices<Totals> {
    const { s } = statement;
    const collection = s.upsert ? engine.catalog.ensure(call.db, name) : engine.catalog.find(call.db, name);
    const out = yield* runUpdate(call, collection, s, statement.scope);
    done.n += out.matched + (out.upserted === undefined ? 0 : 1);
    done.nModified += out.modified;
    if (out.upserted !== undefined) done.upserted.push({ index, _id: out.upserted });
    return done;
  });
  const { n, nModified, upserted } = totals;
  return withErrors({ n, nModified, ...(upserted.length === 0 ? {} : { upserted }) }, totals);
}

/** delete */
export function* remove(call: Call): Slices<Reply> {
  const { command, engine } = call;
  refuseUnknown(command, "delete", DELETE);
  const name = stringArgument(command, "delete");
  const scope = scopeOf(call);
  const parsed = statements(call, "deletes").map((statement) => {
    refuseUnknown(statement, "delete.deletes", DELETE_STATEMENT, false);
    refuseCollation(statement);
    const filter = docArgument(statement, "q");
    if (filter === undefined) throw missing("delete.deletes.q");
    const limit = numberArgument(statement, "limit");
    if (limit === undefined) throw missing("delete.deletes.limit");
    if (limit !== 0 && limit !== 1)
      throw new StoreError("FailedToParse", `The limit field in delete objects must be 0 or 1. Got ${limit}`);
    refuseRetryableMulti(call, limit === 0);
    const hint = hintArgument(statement);
    return { filter, multi: limit === 0, ...(hint === undefined ? {} : { hint }) };
  });
  const totals = yield* run(call, parsed, function* one(s, done): Slices<Totals> {
    done.n += (yield* runDelete(call, engine.catalog.find(call.db, name), s, scope)).deleted;
    return done;
  });
  return withErrors({ n: totals.n }, totals);
}
