/** MongoClient.bulkWrite: the requests of a test file as the driver's models, and its result as a document. */
import type { AnyClientBulkWriteModel, ClientBulkWriteResult, Document } from "mongodb";
import type { Doc } from "../expectations/bson-values.ts";
import { RunnerError } from "../runner-errors.ts";
import { onlyKeys, singleEntry, stringAt } from "../field-readers.ts";

/** The fields that each kind of model may have. */
const MODELS: Readonly<Record<string, readonly string[]>> = {
  insertOne: ["namespace", "document"],
  updateOne: ["namespace", "filter", "update", "arrayFilters", "collation", "hint", "sort", "upsert"],
  updateMany: ["namespace", "filter", "update", "arrayFilters", "collation", "hint", "upsert"],
  replaceOne: ["namespace", "filter", "replacement", "collation", "hint", "sort", "upsert"],
  deleteOne: ["namespace", "filter", "collation", "hint"],
  deleteMany: ["namespace", "filter", "collation", "hint"],
};

/** One `{ insertOne: { namespace, ... } }` of a test file as a model; RunnerFault on an unknown kind or field. */
export function clientModel(request: Doc): AnyClientBulkWriteModel<Document> {
  const [kind, fields] = singleEntry("clientBulkWrite model", request);
  const allowed = MODELS[kind];
  if (allowed === undefined) throw new RunnerError(`unknown clientBulkWrite model "${kind}"`);
  onlyKeys(`clientBulkWrite model ${kind}`, fields, allowed);
  const content: Document = fields;
  const namespace = stringAt(`${kind}.namespace`, fields["namespace"]);
  // What a model lacks (a filter, an update) is for the driver to find: files test that.
  switch (kind) {
    case "insertOne":
      return { name: kind, namespace, document: content["document"] };
    case "updateOne":
    case "updateMany":
      return { ...content, name: kind, namespace, filter: content["filter"], update: content["update"] };
    case "replaceOne":
      return { ...content, name: kind, namespace, filter: content["filter"], replacement: content["replacement"] };
    case "deleteOne":
      return { ...content, name: kind, namespace, filter: content["filter"] };
    default:
      return { ...content, name: "deleteMany", namespace, filter: content["filter"] };
  }
}

function byIndex<Result>(
  results: ReadonlyMap<number, Result> | undefined,
  asDocument: (result: Result) => Doc,
): Doc | undefined {
  return results === undefined
    ? undefined
    : Object.fromEntries([...results].map(([index, result]) => [String(index), asDocument(result)]));
}

/** The result as the CRUD specification describes it: maps as documents, upsertedId only where something was upserted. */
export function clientBulkWriteDocument(result: ClientBulkWriteResult): Doc {
  const { acknowledged, insertedCount, upsertedCount, matchedCount, modifiedCount, deletedCount } = result;
  return {
    acknowledged,
    insertedCount,
    upsertedCount,
    matchedCount,
    modifiedCount,
    deletedCount,
    insertResults: byIndex(result.insertResults, ({ insertedId }) => ({ insertedId })),
    updateResults: byIndex(result.updateResults, (one) => ({
      matchedCount: one.matchedCount,
      modifiedCount: one.modifiedCount,
      ...(one.didUpsert ? { upsertedId: one.upsertedId } : {}),
    })),
    deleteResults: byIndex(result.deleteResults, (one) => ({ deletedCount: one.deletedCount })),
  };
}
