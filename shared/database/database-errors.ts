import mongoose from "mongoose";
import { isRecord } from "../json.ts";

/*
 * What an error of the database means: the one place that reads its codes and words. It also holds for what came over the bus,
 * which keeps name, code and message of an error.
 */

/** The driver's and mongoose's classes of a database that is away, changes its primary or is overtaxed, by the name of their errors. */
const ABSENCES: ReadonlySet<unknown> = new Set([
  "MongoClientClosedError",
  "MongoCryptKMSRequestNetworkTimeoutError",
  "MongoExpiredSessionError",
  "MongoNetworkError",
  "MongoNetworkTimeoutError",
  "MongoNotConnectedError",
  "MongoOperationTimeoutError",
  "MongoPoolClearedError",
  "MongoPoolClosedError",
  "MongoServerClosedError",
  "MongoServerSelectionError",
  "MongoStalePrimaryError",
  "MongoSystemError",
  "MongoTopologyClosedError",
  "MongoWaitQueueTimeoutError",
  "MongoWriteConcernError",
  "MongooseServerSelectionError",
  "PoolClearedOnNetworkError",
]);

/** Those of a database that this deployment can't use as it is set: its version, or the credentials for it. */
const MISFITS: ReadonlySet<unknown> = new Set([
  "MongoAWSError",
  "MongoAzureError",
  "MongoCompatibilityError",
  "MongoGCPError",
  "MongoKerberosError",
  "MongoMissingCredentialsError",
  "MongoMissingDependencyError",
  "MongoOIDCError",
]);

/** What a database says while it changes its primary, shuts down, has no time or too many writers: MongoDB's error codes. */
const PASSING = new Set<unknown>([
  6, 7, 24, 43, 46, 50, 63, 64, 89, 91, 112, 133, 134, 150, 189, 202, 234, 262, 365, 391, 462, 9001, 10_058, 10_107,
  11_600, 11_601, 11_602, 13_388, 13_435, 13_436,
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

/** Mongoose's words for a command that waited in vain for the first connection. */
const NEVER_CONNECTED = /buffering timed out/;

const isOfDatabase = (error: unknown): error is Record<string, unknown> =>
  isRecord(error) && typeof error["name"] === "string" && /^(?:Mongo|PoolCleared)/.test(error["name"]);

/** How deep an error may be wrapped. */
const DEEPEST = 5;

/** What an error of the database wraps; undefined: nothing. A bulk write keeps a failure of its connection as its answer, and has that of its write concern in its result. */
function wrapped(error: Record<string, unknown>): unknown {
  if (error instanceof mongoose.mongo.MongoBulkWriteError) {
    const concern = error.result.getWriteConcernError();
    if (concern) return { name: "MongoWriteConcernError", code: concern.code, message: concern.errmsg };
  }
  return error["errorResponse"] instanceof Error ? error["errorResponse"] : error["cause"];
}

/**
 * The error of the database that is behind this one: a bulk write, for instance, wraps whatever failed, its connection too. Of an error that is none of the
 * database's, or wraps none, that error itself.
 */
export function causeOf(error: unknown): unknown {
  let cause = error;
  for (let depth = 0; depth < DEEPEST && isOfDatabase(cause); depth++) {
    const inner = wrapped(cause);
    if (!isOfDatabase(inner)) break;
    cause = inner;
  }
  return cause;
}

/** Throws the error that is behind this one, before it crosses the bus. */
export const throwCause = (error: unknown): never => {
  throw causeOf(error);
};

/** Judges an error by what is behind it. */
const byCause = (error: unknown, is: (cause: Record<string, unknown>) => boolean): boolean => {
  const cause = causeOf(error);
  return isOfDatabase(cause) && is(cause);
};

/** True for a write that lost its unique key to another document, however the database words it: the error itself or one of its write errors. */
export const isDuplicateKey = (error: unknown): boolean =>
  isRecord(error) && (error["code"] === DUPLICATE_KEY || says(error, TAKEN));

/** True for a write that the database gave up for another at the same time (a write conflict, a deadlock): it was not made, and may be asked for again at once. */
export const isGivenUp = (error: unknown): boolean =>
  byCause(error, (cause) => cause["code"] === WRITE_CONFLICT || says(cause, DEADLOCK));

/**
 * True for a write that was not made because another was made first or at the same time: it lost its unique key, or was given up for
 * the other. Whoever reads what is there now sees why, and may write again at once.
 */
export const isLostRace = (error: unknown): boolean => isDuplicateKey(error) || isGivenUp(error);

/** True where the database is away, changes its primary or is overtaxed: the same command may succeed later. */
export const isPassing = (error: unknown): boolean =>
  byCause(
    error,
    (cause) =>
      ABSENCES.has(cause["name"]) ||
      PASSING.has(cause["code"]) ||
      says(cause, DEADLOCK) ||
      (cause["name"] === "MongooseError" && says(cause, NEVER_CONNECTED)),
  );

/** True where the database refuses the command as such: waiting does not help, a person must act. */
export const isRefused = (error: unknown): error is Record<string, unknown> =>
  !isPassing(error) &&
  !isDuplicateKey(error) &&
  byCause(error, (cause) => MISFITS.has(cause["name"]) || REFUSED.has(cause["code"]) || isOfClassM(cause["code"]));

/** The refused writes of an unordered bulk, by their index; null where the error says nothing of single writes. */
export function writeErrorsOf(error: unknown): readonly mongoose.mongo.WriteError[] | null {
  if (!(error instanceof mongoose.mongo.MongoBulkWriteError) || error.result.getWriteConcernError()) return null;
  const errors = [error.writeErrors].flat();
  return errors.length === 0 ? null : errors;
}
