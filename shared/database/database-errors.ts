import mongoose from "mongoose";
import { isRecord } from "../json.ts";

/*
 * What an error of the database means: the one place that reads its codes and words. It also holds for what came over the bus,
 * which keeps name, code and message of an error.
 */

const NAMES_OF_AN_ABSENCE = new Set<unknown>([
  "MongoServerSelectionError",
  "MongoNetworkError",
  "MongoNetworkTimeoutError",
  "MongoNotConnectedError",
  "MongoTopologyClosedError",
  "MongooseServerSelectionError",
  "MongoWriteConcernError",
  "MongoPoolClearedError",
  "MongoOperationTimeoutError",
]);

/** What a database says while it changes its primary, shuts down, has no time or too many writers: MongoDB's error codes. */
const PASSING = new Set<unknown>([
  6, 7, 50, 64, 89, 91, 112, 134, 189, 262, 9001, 10_058, 10_107, 11_600, 11_602, 13_435, 13_436,
]);

/**
 * What a database says of a command that it will never take as it is: it has no such command, stage, operator or option, can't parse
 * it here, or the user may not send it (MongoDB's error codes; 238, 303 and 304 of those that are compatible with it).
 */
const REFUSED = new Set<unknown>([
  2, 8, 9, 13, 18, 20, 59, 72, 73, 115, 166, 168, 224, 238, 303, 304, 322, 323, 8000, 13_297, 14_031, 15_983, 31_249,
  31_325, 40_324, 40_415,
]);

const DUPLICATE_KEY = 11_000;
const WRITE_CONFLICT = 112;
/** In these words PostgreSQL under a compatible database reports a unique key that another document has, with a code of its own. */
const TAKEN = /violates (?:unique|exclusion) constraint/;
const DEADLOCK = /deadlock detected/;

/** DocumentDB's own errors where they are not translated: a PostgreSQL SQLSTATE of class M, packed into a number, six bits a character. */
const isOfClassM = (code: unknown): boolean =>
  typeof code === "number" && code > 2 ** 18 && code % 64 === "M".charCodeAt(0) - "0".charCodeAt(0);

const says = (error: Record<string, unknown>, words: RegExp): boolean =>
  [error["message"], error["errmsg"]].some((said) => typeof said === "string" && words.test(said));

const isOfDatabase = (error: unknown): error is Record<string, unknown> =>
  isRecord(error) && typeof error["name"] === "string" && error["name"].startsWith("Mongo");

/** True for a write that lost its unique key to another document, however the database words it: the error itself or one of its write errors. */
export const isDuplicateKey = (error: unknown): boolean =>
  isRecord(error) && (error["code"] === DUPLICATE_KEY || says(error, TAKEN));

/** True for a write that the database gave up for another at the same time (a write conflict, a deadlock): it was not made, and may be asked for again at once. */
export const isGivenUp = (error: unknown): boolean =>
  isOfDatabase(error) && (error["code"] === WRITE_CONFLICT || says(error, DEADLOCK));

/**
 * True for a write that was not made because another was made first or at the same time: it lost its unique key, or was given up for
 * the other. Whoever reads what is there now sees why, and may write again at once.
 */
export const isLostRace = (error: unknown): boolean => isDuplicateKey(error) || isGivenUp(error);

/** True where the database is away, changes its primary or is overtaxed: the same command may succeed later. */
export const isPassing = (error: unknown): boolean =>
  isOfDatabase(error) &&
  (NAMES_OF_AN_ABSENCE.has(error["name"]) || PASSING.has(error["code"]) || says(error, DEADLOCK));

/** True where the database refuses the command as such: waiting does not help, a person must act. */
export const isRefused = (error: unknown): error is Record<string, unknown> =>
  isOfDatabase(error) &&
  !isPassing(error) &&
  !isDuplicateKey(error) &&
  (REFUSED.has(error["code"]) || isOfClassM(error["code"]));

/** The refused writes of an unordered bulk, by their index; null where the error says nothing of single writes. */
export function writeErrorsOf(error: unknown): readonly mongoose.mongo.WriteError[] | null {
  if (!(error instanceof mongoose.mongo.MongoBulkWriteError) || error.result.getWriteConcernError()) return null;
  const errors = [error.writeErrors].flat();
  return errors.length === 0 ? null : errors;
}
