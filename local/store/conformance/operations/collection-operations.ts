/** Operations of the CRUD and index specifications on a collection. */
import { type AnyBulkWriteOperation, type Collection, type Document, type UpdateFilter } from "mongodb";
import { type Doc, isDocument } from "../expectations/bson-values.ts";
import { RunnerError } from "../runner-errors.ts";
import { OpenCursor } from "./open-cursor.ts";
import type { Operation } from "./operation.ts";
import { documentAt, documentsAt, onlyKeys, singleEntry, stringAt } from "../field-readers.ts";

const FIND = [
  "allowDiskUse",
  "allowPartialResults",
  "batchSize",
  "collation",
  "cursorType",
  "hint",
  "let",
  "limit",
  "max",
  "maxAwaitTimeMS",
  "min",
  "noCursorTimeout",
  "oplogReplay",
  "projection",
  "returnKey",
  "showRecordId",
  "singleBatch",
  "skip",
  "sort",
];
const UPDATE = ["arrayFilters", "bypassDocumentValidation", "collation", "hint", "let", "upsert"];
const FIND_AND = [
  "bypassDocumentValidation",
  "collation",
  "hint",
  "let",
  "projection",
  "returnDocument",
  "sort",
  "upsert",
  "arrayFilters",
];
const INDEX = [
  "background",
  "bits",
  "bucketSize",
  "collation",
  "commitQuorum",
  "default_language",
  "expireAfterSeconds",
  "hidden",
  "language_override",
  "max",
  "min",
  "name",
  "partialFilterExpression",
  "sparse",
  "sphereVersion",
  "storageEngine",
  "textIndexVersion",
  "unique",
  "version",
  "weights",
  "wildcardProjection",
];
/** Options of aggregate on a collection and on a database. */
export const AGGREGATE_OPTIONS = [
  "allowDiskUse",
  "batchSize",
  "bypassDocumentValidation",
  "collation",
  "hint",
  "let",
  "maxAwaitTimeMS",
];

const filter = (given: Doc): Doc => (given["filter"] === undefined ? {} : documentAt("filter", given["filter"]));

function update(given: Doc): UpdateFilter<Document> | Document[] {
  return isDocument(given["update"]) ? given["update"] : documentsAt("update", given["update"]);
}

/** The fields that each kind of request in a bulkWrite may have. */
const REQUESTS: Readonly<Record<string, readonly string[]>> = {
  insertOne: ["document"],
  updateOne: ["filter", "update", "arrayFilters", "collation", "hint", "sort", "upsert"],
  updateMany: ["filter", "update", "arrayFilters", "collation", "hint", "upsert"],
  replaceOne: ["filter", "replacement", "collation", "hint", "sort", "upsert"],
  deleteOne: ["filter", "collation", "hint"],
  deleteMany: ["filter", "collation", "hint"],
};

function bulkRequest(request: Doc): AnyBulkWriteOperation {
  const [kind, model] = singleEntry("bulkWrite request", request);
  const allowed = REQUESTS[kind];
  if (allowed === undefined) throw new RunnerError(`unknown bulkWrite request "${kind}"`);
  onlyKeys(`bulkWrite request ${kind}`, model, allowed);
  const content: Document = model;
  switch (kind) {
    case "insertOne":
      return { insertOne: { document: documentAt("document", model["document"]) } };
    case "updateOne":
      return { updateOne: { ...content, filter: filter(model), update: update(model) } };
    case "updateMany":
      return { updateMany: { ...content, filter: filter(model), update: update(model) } };
    case "replaceOne":
      return {
        replaceOne: { ...content, filter: filter(model), replacement: documentAt("replacement", model["replacement"]) },
      };
    case "deleteOne":
      return { deleteOne: { ...content, filter: filter(model) } };
    default:
      return { deleteMany: { ...content, filter: filter(model) } };
  }
}

const writes: Record<string, Operation<Collection>> = {
  insertOne: {
    needs: ["document"],
    options: ["bypassDocumentValidation"],
    yields: "root",
    run: (target, given, options) => target.insertOne(documentAt("document", given["document"]), options),
  },
  insertMany: {
    needs: ["documents"],
    options: ["bypassDocumentValidation", "ordered"],
    yields: "root",
    run: (target, given, options) => target.insertMany(documentsAt("documents", given["documents"]), options),
  },
  updateOne: {
    needs: ["filter", "update"],
    options: [...UPDATE, "sort"],
    yields: "root",
    run: (target, given, options) => target.updateOne(filter(given), update(given), options),
  },
  updateMany: {
    needs: ["filter", "update"],
    options: UPDATE,
    yields: "root",
    run: (target, given, options) => target.updateMany(filter(given), update(given), options),
  },
  replaceOne: {
    needs: ["filter", "replacement"],
    options: ["bypassDocumentValidation", "collation", "hint", "let", "sort", "upsert"],
    yields: "root",
    run: (target, given, options) =>
      target.replaceOne(filter(given), documentAt("replacement", given["replacement"]), options),
  },
  deleteOne: {
    needs: ["filter"],
    options: ["collation", "hint", "let"],
    yields: "root",
    run: (target, given, options) => target.deleteOne(filter(given), options),
  },
  deleteMany: {
    needs: ["filter"],
    options: ["collation", "hint", "let"],
    yields: "root",
    run: (target, given, options) => target.deleteMany(filter(given), options),
  },
  bulkWrite: {
    needs: ["requests"],
    options: ["bypassDocumentValidation", "let", "ordered"],
    yields: "root",
    run: (target, given, options) =>
      target.bulkWrite(documentsAt("requests", given["requests"]).map(bulkRequest), options),
  },
  findOneAndDelete: {
    needs: ["filter"],
    options: ["collation", "hint", "let", "projection", "sort"],
    yields: "root",
    run: (target, given, options) => target.findOneAndDelete(filter(given), options),
  },
  findOneAndReplace: {
    needs: ["filter", "replacement"],
    options: FIND_AND.filter((name) => name !== "arrayFilters"),
    yields: "root",
    run: (target, given, options) =>
      target.findOneAndReplace(filter(given), documentAt("replacement", given["replacement"]), options),
  },
  findOneAndUpdate: {
    needs: ["filter", "update"],
    options: FIND_AND,
    yields: "root",
    run: (target, given, options) => target.findOneAndUpdate(filter(given), update(given), options),
  },
};

const reads: Record<string, Operation<Collection>> = {
  find: {
    may: ["filter"],
    options: FIND,
    yields: "roots",
    run: (target, given, options) => target.find(filter(given), options).toArray(),
  },
  findOne: {
    may: ["filter"],
    options: FIND,
    yields: "root",
    run: (target, given, options) => target.findOne(filter(given), options),
  },
  createFindCursor: {
    may: ["filter"],
    options: FIND,
    yields: "nested",
    run: (target, given, options) => OpenCursor.open(target.find(filter(given), options)),
  },
  aggregate: {
    needs: ["pipeline"],
    options: AGGREGATE_OPTIONS,
    yields: "roots",
    run: (target, given, options) => target.aggregate(documentsAt("pipeline", given["pipeline"]), options).toArray(),
  },
  countDocuments: {
    may: ["filter"],
    options: ["collation", "hint", "limit", "skip"],
    yields: "nested",
    run: (target, given, options) => target.countDocuments(filter(given), options),
  },
  count: {
    may: ["filter"],
    options: ["collation", "hint", "limit", "skip"],
    yields: "nested",
    run: (target, given, options) => target.count(filter(given), options),
  },
  estimatedDocumentCount: {
    yields: "nested",
    run: (target, _given, options) => target.estimatedDocumentCount(options),
  },
  distinct: {
    needs: ["fieldName"],
    may: ["filter"],
    options: ["collation", "hint"],
    yields: "nested",
    run: (target, given, options) => target.distinct(stringAt("fieldName", given["fieldName"]), filter(given), options),
  },
};

const indexes: Record<string, Operation<Collection>> = {
  createIndex: {
    needs: ["keys"],
    options: INDEX,
    yields: "nested",
    run: (target, given, options) => {
      const keys: Document = documentAt("keys", given["keys"]);
      return target.createIndex(keys, options);
    },
  },
  dropIndex: {
    needs: ["name"],
    yields: "nested",
    run: (target, given, options) => target.dropIndex(stringAt("name", given["name"]), options),
  },
  dropIndexes: { yields: "nested", run: (target, _given, options) => target.dropIndexes(options) },
  listIndexes: {
    options: ["batchSize"],
    yields: "roots",
    run: (target, _given, options) => target.listIndexes(options).toArray(),
  },
  listIndexNames: {
    options: ["batchSize"],
    yields: "nested",
    run: async (target, _given, options) =>
      (await target.listIndexes(options).toArray()).map((index: Doc) => index["name"]),
  },
  rename: {
    needs: ["to"],
    options: ["dropTarget"],
    yields: "nested",
    run: async (target, given, options) => {
      await target.rename(stringAt("to", given["to"]), options);
    },
  },
  drop: { yields: "nested", run: (target, _given, options) => target.drop(options) },
};

/** Collection operations by their name in test files. */
export const collectionOperations: Readonly<Record<string, Operation<Collection>>> = {
  ...writes,
  ...reads,
  ...indexes,
};
