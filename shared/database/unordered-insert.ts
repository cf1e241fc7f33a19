import type { Model } from "mongoose";
import { isDuplicateKey, writeErrorsOf } from "./database-errors.ts";

/** Result of inserting one document; `present`: one with its id or unique key exists already. */
export type Written = "written" | "present" | "failed";

const WRITE = { ordered: false, lean: true, rawResult: true, throwOnValidationError: true } as const;

/** The single refusals of an unordered insert of which a part was refused; anything else is thrown on. */
const refusedIn = (error: unknown) => {
  const refused = writeErrorsOf(error);
  if (refused === null) throw error;
  return refused;
};

/** Inserts what can be inserted, each document for itself; returns each result in order. Throws where no result is known. */
export async function insertEach<Doc>(model: Model<Doc>, docs: readonly Doc[]): Promise<Written[]> {
  const written: Written[] = docs.map(() => "written");
  try {
    await model.insertMany([...docs], WRITE);
  } catch (error) {
    for (const fault of refusedIn(error)) written[fault.index] = isDuplicateKey(fault) ? "present" : "failed";
  }
  return written;
}

/** Inserts the documents that are not there yet; true for each that was not. Throws the driver's error when one failed for any other reason. */
export async function insertNew<Doc>(model: Model<Doc>, docs: readonly Doc[]): Promise<boolean[]> {
  const fresh = docs.map(() => true);
  try {
    await model.insertMany([...docs], WRITE);
  } catch (error) {
    const refused = refusedIn(error);
    if (!refused.every(isDuplicateKey)) throw error;
    for (const { index } of refused) fresh[index] = false;
  }
  return fresh;
}
