/** Results and errors of the driver as documents that can be matched. */
import type { BulkWriteResult } from "mongodb";
import { type Doc, isDocument } from "./bson-values.ts";

/** The driver declares the class but does not export it, so it is known by a method that no document has. */
function isBulkWriteResult(result: unknown): result is BulkWriteResult {
  return (
    typeof result === "object" &&
    result !== null &&
    "getWriteErrors" in result &&
    typeof result.getWriteErrors === "function"
  );
}

function bulkWriteDocument(result: BulkWriteResult): Doc {
  const { insertedCount, matchedCount, modifiedCount, deletedCount, upsertedCount, upsertedIds, insertedIds } = result;
  return { insertedCount, matchedCount, modifiedCount, deletedCount, upsertedCount, upsertedIds, insertedIds };
}

/** A model object of the driver as the document the specifications describe; anything else unchanged. */
export function resultValue(result: unknown): unknown {
  if (isBulkWriteResult(result)) return bulkWriteDocument(result);
  // The specification leaves upsertedId out when nothing was upserted; the driver says null.
  if (isDocument(result) && result["upsertedId"] === null && result["upsertedCount"] === 0) {
    return Object.fromEntries(Object.entries(result).filter(([key]) => key !== "upsertedId"));
  }
  return result;
}
