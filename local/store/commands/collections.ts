import type { Slices } from "../budget.ts";
import { Binary, Double } from "bson";
import type { Reply } from "../bson/bson-writer.ts";
import { checkNamespace } from "../storage/catalog.ts";
import type { Collection } from "../storage/collection.ts";
import type { Index } from "../storage/index-table.ts";
import {
  boolArgument,
  countArgument,
  docArgument,
  docsArgument,
  refuseCollation,
  refuseOptions,
  refuseUnknown,
  scopeOf,
  stringArgument,
} from "./command-arguments.ts";
import { identical } from "../bson/comparison.ts";
import type { Call } from "./context.ts";
import { StoreError } from "../bson/errors.ts";
import { ID_INDEX, indexDefinition } from "../indexes/index-definition.ts";
import { compileFilter } from "../query/matcher.ts";
import { wholeCursor } from "./reads.ts";
import { isDoc, isTrue } from "../bson/values.ts";
import type { Doc, Value } from "../bson/values.ts";

const CREATE_FIELDS = new Set([
  "create",
  "capped",
  "size",
  "max",
  "autoIndexId",
  "storageEngine",
  "validator",
  "validationLevel",
  "validationAction",
  "indexOptionDefaults",
  "viewOn",
  "pipeline",
  "collation",
  "timeseries",
  "clusteredIndex",
  "expireAfterSeconds",
  "changeStreamPreAndPostImages",
  "encryptedFields",
  "temp",
  "idIndex",
]);
const CREATE_REFUSED = [
  "capped",
  "size",
  "max",
  "storageEngine",
  "validator",
  "validationLevel",
  "validationAction",
  "pipeline",
  "indexOptionDefaults",
  "viewOn",
  "timeseries",
  "clusteredIndex",
  "expireAfterSeconds",
  "changeStreamPreAndPostImages",
  "encryptedFields",
];

function existing(call: Call, name: string): Collection {
  const collection = call.engine.catalog.find(call.db, name);
  if (collection === undefined) throw new StoreError("NamespaceNotFound", `ns does not exist: ${call.db}.${name}`);
  return collection;
}

/** create. Errors: NamespaceExists; CommandNotSupported for views, capped and other special collections. */
export function create(call: Call): Reply {
  refuseUnknown(call.command, "create", CREATE_FIELDS);
  refuseOptions(call.command, CREATE_REFUSED);
  refuseCollation(call.command);
  const name = stringArgument(call.command, "create");
  checkNamespace(call.db, name);
  // MongoDB takes a create that changes nothing.
  if (call.engine.catalog.find(call.db, name) === undefined) call.engine.catalog.create(call.db, name);
  return {};
}

/** drop: also when there is nothing to drop, as MongoDB 7 does. */
export function drop(call: Call): Reply {
  refuseUnknown(call.command, "drop", new Set(["drop"]));
  const collection = call.engine.catalog.find(call.db, stringArgument(call.command, "drop"));
  if (collection === undefined) return {};
  const nIndexesWas = collection.indexes.length;
  call.engine.catalog.drop(collection);
  call.engine.cursors.closeOn(collection.ns);
  return { nIndexesWas, ns: collection.ns };
}

/** dropDatabase */
export function dropDatabase(call: Call): Reply {
  refuseUnknown(call.command, "dropDatabase", new Set(["dropDatabase"]));
  for (const collection of call.engine.catalog.list(call.db)) call.engine.catalog.drop(collection);
  call.engine.cursors.closeOn(`${call.db}.`);
  return { dropped: call.db };
}

/** listCollections */
export function listCollections(call: Call): Slices<Reply> {
  refuseUnknown(
    call.command,
    "listCollections",
    new Set(["listCollections", "filter", "nameOnly", "authorizedCollections", "cursor"]),
  );
  const test = compileFilter(docArgument(call.command, "filter") ?? {}, scopeOf(call));
  const nameOnly = boolArgument(call.command, "nameOnly");
  const docs = call.engine.catalog
    .list(call.db)
    .map((c): Doc => ({
      name: c.name,
      type: "collection",
      ...(nameOnly
        ? {}
        : {
            options: {},
            info: { readOnly: false, uuid: new Binary(c.uuid, Binary.SUBTYPE_UUID) },
            idIndex: { v: 2, key: ID_INDEX.key, name: ID_INDEX.name },
          }),
    }))
    .filter(test);
  return wholeCursor(
    call,
    `${call.db}.$cmd.listCollections`,
    docs,
    countArgument(docArgument(call.command, "cursor") ?? {}, "batchSize"),
  );
}

/** listDatabases */
export function listDatabases(call: Call): Reply {
  refuseUnknown(call.command, "listDatabases", new Set(["listDatabases", "filter", "nameOnly", "authorizedDatabases"]));
  const test = compileFilter(docArgument(call.command, "filter") ?? {}, scopeOf(call));
  const names = [...new Set(call.engine.catalog.list().map((c) => c.db))];
  const nameOnly = boolArgument(call.command, "nameOnly");
  const databases = names
    .map((name): Doc => (nameOnly ? { name } : { name, sizeOnDisk: new Double(0), empty: false }))
    .filter(test);
  return nameOnly ? { databases } : { databases, totalSize: new Double(0), totalSizeMb: new Double(0) };
}

/** createIndexes, which takes as long as it takes. */
export function* createIndexes(call: Call): Slices<Reply> {
  const { command, engine } = call;
  refuseUnknown(
    command,
    "createIndexes",
    new Set(["createIndexes", "indexes", "commitQuorum", "ignoreUnknownIndexOptions"]),
  );
  const name = stringArgument(command, "createIndexes");
  const specs = docsArgument(command, "indexes");
  if (specs.length === 0) throw new StoreError("BadValue", "Must specify at least one index to create");
  specs.forEach(refuseCollation);
  const ignoreUnknown = boolArgument(command, "ignoreUnknownIndexOptions");
  const definitions = specs.map((s) => indexDefinition(withoutCollation(s), ignoreUnknown));
  const there = engine.catalog.find(call.db, name);
  const collection = there ?? engine.catalog.create(call.db, name);
  const before = there?.indexes.length ?? 1;
  call.budget.uncap();
  for (const definition of definitions) yield* engine.catalog.createIndex(collection, definition, call.budget);
  const after = collection.indexes.length;
  return {
    numIndexesBefore: before,
    numIndexesAfter: after,
    createdCollectionAutomatically: there === undefined,
    ...(after === before ? { note: "all indexes already exist" } : {}),
  };
}

function withoutCollation(spec: Doc): Doc {
  return Object.fromEntries(Object.entries(spec).filter(([k]) => k !== "collation"));
}

/** listIndexes. Errors: NamespaceNotFound. */
export function listIndexes(call: Call): Slices<Reply> {
  refuseUnknown(call.command, "listIndexes", new Set(["listIndexes", "cursor"]));
  const collection = existing(call, stringArgument(call.command, "listIndexes"));
  return wholeCursor(
    call,
    collection.ns,
    collection.describeIndexes(),
    countArgument(docArgument(call.command, "cursor") ?? {}, "batchSize"),
  );
}

function chosen(collection: Collection, which: Value): Index[] {
  if (which === "*") return collection.indexes.filter((i) => i.definition.name !== ID_INDEX.name);
  if (Array.isArray(which)) return which.flatMap((w) => chosen(collection, w));
  const index = collection.indexes.find((i) =>
    isDoc(which) ? identical(i.definition.key, which) : i.definition.name === which,
  );
  if (index === undefined) throw new StoreError("IndexNotFound", `index not found with name [${String(which)}]`);
  if (index.definition.name === ID_INDEX.name) throw new StoreError("InvalidOptions", "cannot drop _id index");
  return [index];
}

/** dropIndexes: by name, by key, a list of names, or "*". Errors: IndexNotFound, InvalidOptions for the index on _id. */
export function dropIndexes(call: Call): Reply {
  refuseUnknown(call.command, "dropIndexes", new Set(["dropIndexes", "index"]));
  const collection = existing(call, stringArgument(call.command, "dropIndexes"));
  const nIndexesWas = collection.indexes.length;
  for (const index of chosen(collection, call.command["index"] ?? null))
    call.engine.catalog.dropIndex(collection, index);
  call.engine.cursors.closeOn(collection.ns);
  return {
    nIndexesWas,
    ...(isTrue(call.command["index"] === "*") ? { msg: "non-_id indexes dropped for collection" } : {}),
  };
}
