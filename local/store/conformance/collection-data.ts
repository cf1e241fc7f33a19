/** initialData and outcome: the contents of collections before and after a test. */
import type { Document } from "mongodb";
import type { Doc } from "./expectations/bson-values.ts";
import { assertNoMismatch } from "./runner-errors.ts";
import { exactDifferences } from "./expectations/value-match.ts";
import type { ServerUnderTest } from "./server-under-test.ts";
import { documentAt, documentsAt, onlyKeys, stringAt } from "./field-readers.ts";

interface CollectionData {
  database: string;
  collection: string;
  documents: Doc[];
  createOptions: Document | undefined;
}

function readCollectionData(data: Doc): CollectionData {
  onlyKeys("collection data", data, ["collectionName", "databaseName", "createOptions", "documents"]);
  return {
    database: stringAt("databaseName", data["databaseName"]),
    collection: stringAt("collectionName", data["collectionName"]),
    documents: documentsAt("documents", data["documents"]),
    createOptions: data["createOptions"] === undefined ? undefined : documentAt("createOptions", data["createOptions"]),
  };
}

/** Makes a collection hold exactly the given data: dropped, created if needed, filled, all with majority. */
export async function setUpCollection(data: Doc, server: ServerUnderTest): Promise<void> {
  const { database, collection, documents, createOptions } = readCollectionData(data);
  const db = server.internal.db(database, { writeConcern: { w: "majority" } });
  await db.dropCollection(collection);
  if (createOptions !== undefined || documents.length === 0) await db.createCollection(collection, createOptions ?? {});
  if (documents.length > 0) await db.collection(collection).insertMany(documents);
}

/** Asserts that a collection holds exactly the expected documents, in `_id` order. Throws ExpectationFailure. */
export async function assertCollection(data: Doc, server: ServerUnderTest): Promise<void> {
  const { database, collection, documents } = readCollectionData(data);
  const found = await server.internal
    .db(database)
    .collection(collection)
    .find(
      {},
      {
        sort: { _id: 1 },
        readPreference: "primary",
        readConcern: { level: "local" },
        promoteValues: false,
        bsonRegExp: true,
      },
    )
    .toArray();
  assertNoMismatch(
    `outcome: ${database}.${collection} holds other data than expected`,
    exactDifferences(documents, found, "documents"),
  );
}
