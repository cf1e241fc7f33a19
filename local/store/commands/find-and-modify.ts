import type { Slices } from "../budget.ts";
import { RawDoc } from "../bson/bson-writer.ts";
import type { Reply } from "../bson/bson-writer.ts";
import { encode } from "../bson/bson-writer.ts";
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
import type { Scope } from "../expressions/expressions.ts";
import { compileProjection } from "../query/projection.ts";
import type { Doc, Value } from "../bson/values.ts";
import { runDelete, runUpdate } from "../update/update-execution.ts";
import type { Encoded } from "../update/update-execution.ts";

/** The fields of findAndModify, also for explain. */
export const FIND_AND_MODIFY_FIELDS: ReadonlySet<string> = new Set([
  "findAndModify",
  "findandmodify",
  "query",
  "sort",
  "remove",
  "update",
  "new",
  "fields",
  "upsert",
  "bypassDocumentValidation",
  "bypassEmptyTsReplacement",
  "collation",
  "arrayFilters",
  "hint",
  "let",
]);

/** The collection findAndModify names. */
export function findAndModifyCollection(command: Doc): string {
  return stringArgument(command, command["findAndModify"] === undefined ? "findandmodify" : "findAndModify");
}

function shown(found: Encoded | undefined, call: Call, scope: Scope, filter: Doc): RawDoc | null {
  if (found === undefined) return null;
  const fields = docArgument(call.command, "fields");
  const project =
    fields === undefined || Object.keys(fields).length === 0
      ? undefined
      : compileProjection(fields, { inFind: true, filter, scope });
  return new RawDoc(project === undefined ? found.bytes : encode(project(found.doc)));
}

interface Parts {
  filter: Doc;
  sort?: Doc;
  hint?: Value;
}

function* removing(call: Call, name: string, parts: Parts, scope: Scope): Slices<Reply> {
  const { command } = call;
  if (command["update"] !== undefined)
    throw new StoreError("FailedToParse", "Cannot specify both an update and remove=true");
  if (boolArgument(command, "upsert"))
    throw new StoreError("FailedToParse", "Cannot specify both upsert=true and remove=true");
  if (boolArgument(command, "new"))
    throw new StoreError(
      "FailedToParse",
      "Cannot specify both new=true and remove=true; 'remove' always returns the deleted document",
    );
  const { deleted, before } = yield* runDelete(
    call,
    call.engine.catalog.find(call.db, name),
    { ...parts, multi: false },
    scope,
  );
  return { lastErrorObject: { n: deleted }, value: shown(before, call, scope, parts.filter) };
}

/** findAndModify: one document updated, replaced, upserted or removed, as it was before or after. */
export function* findAndModify(call: Call): Slices<Reply> {
  const { command, engine } = call;
  refuseUnknown(command, "findAndModify", FIND_AND_MODIFY_FIELDS);
  refuseCollation(command);
  const name = findAndModifyCollection(command);
  const scope = scopeOf(call);
  const sort = docArgument(command, "sort");
  const hint = hintArgument(command);
  const parts: Parts = {
    filter: docArgument(command, "query") ?? {},
    ...(sort === undefined || Object.keys(sort).length === 0 ? {} : { sort }),
    ...(hint === undefined ? {} : { hint }),
  };
  if (boolArgument(command, "remove")) return yield* removing(call, name, parts, scope);
  const u = command["update"];
  if (u === undefined) throw new StoreError("FailedToParse", "Either an update or remove=true must be specified");
  const upsert = boolArgument(command, "upsert");
  const collection = upsert ? engine.catalog.ensure(call.db, name) : engine.catalog.find(call.db, name);
  const statement = { ...parts, u, arrayFilters: docsArgument(command, "arrayFilters"), multi: false, upsert };
  const out = yield* runUpdate(call, collection, statement, scope);
  const existing = out.matched > 0;
  const lastErrorObject: Doc = {
    n: existing || out.upserted !== undefined ? 1 : 0,
    updatedExisting: existing,
    ...(out.upserted === undefined ? {} : { upserted: out.upserted }),
  };
  const doc = boolArgument(command, "new") ? out.after : out.before;
  return { lastErrorObject, value: shown(doc, call, scope, parts.filter) };
}
