import { createRequire } from "node:module";
import mongoose from "mongoose";
import {
  causeOf,
  isDuplicateKey,
  isLostRace,
  isPassing,
  isRefused,
  writeErrorsOf,
} from "../../../shared/database/database-errors.ts";
import { codeOf } from "../../../shared/errors.ts";

const { MongoServerError, MongoBulkWriteError, MongoNetworkError } = mongoose.mongo;
const answer = (code: number, errmsg: string): Error => new MongoServerError({ ok: 0, code, errmsg, message: errmsg });
/** As it comes over the bus: a plain error with the name, the message and the code of the first. */
const overTheBus = (error: Error): unknown => Object.assign(new Error(error.message), { ...error, name: error.name });

const EXCLUSION = 'conflicting key value violates exclusion constraint "documents_rum_index_478"';

/** What databases answered, MongoDB's own words first, then DocumentDB's behind FerretDB; and what it means. */
const SEEN: [string, Error, "duplicate" | "passing" | "refused" | "other"][] = [
  [
    "a duplicate key",
    answer(11_000, "E11000 duplicate key error collection: a.b index: c dup key: { d: 1 }"),
    "duplicate",
  ],
  [
    "a duplicate key in other words",
    answer(11_000, "Duplicate key violation on the requested collection: Index 'c'"),
    "duplicate",
  ],
  ["a findAndModify that lost its unique key", answer(1, EXCLUSION), "duplicate"],
  ["one that lost its id", answer(1, 'duplicate key value violates unique constraint "collection_pk_12"'), "duplicate"],
  ["a findAndModify given up for another", answer(1, "deadlock detected"), "passing"],
  ["a write given up for another", answer(16_908_292, "deadlock detected"), "passing"],
  ["a write conflict", answer(112, "Caused by :: Write conflict during plan execution"), "passing"],
  ["a change of primary", answer(10_107, "not primary"), "passing"],
  ["no time left", answer(50, "operation exceeded time limit"), "passing"],
  ["a broken connection", new MongoNetworkError("connection 3 closed"), "passing"],
  [
    "a variable in a wrong place",
    answer(9, "The $$NOW operator cannot be used within this specific context."),
    "refused",
  ],
  ["an unknown expression", answer(168, "Unrecognized expression '$no'"), "refused"],
  ["an unknown operator", answer(2, "unknown operator: $no"), "refused"],
  ["a command that is not supported", answer(115, "not supported"), "refused"],
  ["an unknown command", answer(59, "no such command: 'no'"), "refused"],
  ["a missing right", answer(13, "not authorized on a to execute command"), "refused"],
  [
    "$expr in an upsert",
    answer(50_593_821, "Use of the $expr operator is not permitted within the query predicate"),
    "refused",
  ],
  ["an unknown expression in a write", answer(353_632_285, "Unrecognized expression '$no'"), "refused"],
  ["a fault within the database", answer(1, "something else"), "other"],
  ["an error of the program", new TypeError("violates nothing"), "other"],
];

test.each(SEEN)("%s is told apart, here and over the bus", (_what, error, meaning) => {
  for (const seen of [error, overTheBus(error)]) {
    expect([isDuplicateKey(seen), isPassing(seen), isRefused(seen)]).toEqual(
      ["duplicate", "passing", "refused"].map((m) => m === meaning),
    );
    expect(codeOf(seen)).toBe(meaning === "passing" || meaning === "refused" ? "STORE_UNAVAILABLE" : "INTERNAL");
  }
});

const require = createRequire(import.meta.url);
const DRIVER = ["mongodb/lib/error.js", "mongodb/lib/cmap/errors.js", "mongodb/lib/client-side-encryption/errors.js"];
const isClass = (value: unknown): value is { name: string; prototype: Error } =>
  typeof value === "function" && value.prototype instanceof Error;
const classesIn = (exports: object): [string, Error][] =>
  Object.values(exports)
    .filter(isClass)
    .map(({ name, prototype }) => {
      const result = { getWriteConcernError: () => undefined };
      return [name, Object.assign(Object.create(prototype) as Error, { message: "of no weight", result })];
    });
const KNOWN = new Map(
  [...DRIVER, "mongodb/lib/bulk/common.js"]
    .flatMap((file) => classesIn(require(file) as object))
    .concat(classesIn(mongoose.Error)),
);
/** Every class whose errors say by themselves that the database is away, or that this deployment can't use it; all others are judged by code, words and cause. */
const AWAY = `MongoClientClosedError MongoCryptKMSRequestNetworkTimeoutError MongoExpiredSessionError MongoNetworkError
  MongoNetworkTimeoutError MongoNotConnectedError MongoOperationTimeoutError MongoServerClosedError MongoServerSelectionError
  MongoStalePrimaryError MongoSystemError MongoTopologyClosedError MongoWriteConcernError MongooseServerSelectionError
  PoolClearedError PoolClearedOnNetworkError PoolClosedError WaitQueueTimeoutError`.split(/\s+/);
const MISFIT = `MongoAWSError MongoAzureError MongoCompatibilityError MongoGCPError MongoKerberosError
  MongoMissingCredentialsError MongoMissingDependencyError MongoOIDCError`.split(/\s+/);
/** What is wrong with the program or a document, whatever the database does. */
const FAULTS =
  `CastError DivergentArrayError DocumentNotFoundError MissingSchemaError MongoAPIError MongoBatchReExecutionError
  MongoBulkWriteError MongoChangeStreamError MongoClientBulkWriteCursorError MongoClientBulkWriteError
  MongoClientBulkWriteExecutionError MongoCryptAzureKMSRequestError MongoCryptCreateDataKeyError
  MongoCryptCreateEncryptedCollectionError MongoCryptError MongoCryptInvalidArgumentError MongoCursorExhaustedError
  MongoCursorInUseError MongoDecompressionError MongoDriverError MongoError MongoGridFSChunkError MongoGridFSStreamError
  MongoInvalidArgumentError MongoParseError MongoRuntimeError MongoServerError MongoTailableCursorError MongoTransactionError
  MongoUnexpectedServerResponseError MongooseBulkSaveIncompleteError OverwriteModelError ParallelSaveError StrictModeError
  StrictPopulateError ValidationError ValidatorError VersionError`.split(/\s+/);

test("every class of error of the driver and of mongoose has its place", () => {
  expect([...KNOWN.keys()].toSorted()).toEqual([...AWAY, ...MISFIT, ...FAULTS].toSorted());
  const told = (is: (error: unknown) => boolean) =>
    [...KNOWN].filter(([, e]) => is(e) && is(overTheBus(e))).map(([n]) => n);
  expect(told(isPassing).toSorted()).toEqual(AWAY.toSorted());
  expect(told(isRefused).toSorted()).toEqual(MISFIT.toSorted());
  expect(told((error) => codeOf(error) === "INTERNAL").toSorted()).toEqual(FAULTS.toSorted());
});

test("what the driver itself asks again for is passing", () => {
  const { GET_MORE_RESUMABLE_CODES } = require("mongodb/lib/error.js") as { GET_MORE_RESUMABLE_CODES: Set<number> };
  const codes = [...GET_MORE_RESUMABLE_CODES];
  expect(codes.length).toBeGreaterThan(10);
  expect(codes.filter((code) => !isPassing(answer(code, "of no weight")))).toEqual([]);
});

test("a command that waited in vain for the first connection found the database away", () => {
  const waited = new mongoose.Error("Operation `leads.find()` buffering timed out after 10000ms");
  expect([isPassing(waited), isPassing(new mongoose.Error("something else"))]).toEqual([true, false]);
});

/** A bulk write that failed as a whole: as the driver makes it, of the failure or of what the database said of its write concern. */
const bulkOf = (failure: object, concern?: object): Error =>
  Reflect.construct(MongoBulkWriteError, [failure, { getWriteConcernError: () => concern }]) as Error;

test.each<[string, Error, string]>([
  ["its connection broke", bulkOf(new MongoNetworkError("connect ECONNREFUSED")), "STORE_UNAVAILABLE"],
  ["the primary stepped down", bulkOf(answer(10_107, "not primary")), "STORE_UNAVAILABLE"],
  ["its user may not", bulkOf(answer(13, "not authorized")), "STORE_UNAVAILABLE"],
  [
    "it waited for a majority in vain",
    bulkOf({ message: "x", code: 100 }, { code: 100, errmsg: "x" }),
    "STORE_UNAVAILABLE",
  ],
  ["a bulk within a bulk", bulkOf(bulkOf(new MongoNetworkError("closed"))), "STORE_UNAVAILABLE"],
  ["a fault within the database", bulkOf(answer(1, "something else")), "INTERNAL"],
  ["a fault of the program", bulkOf(new TypeError("x")), "INTERNAL"],
])("a bulk write is judged by what it failed for, here and over the bus: %s", (_what, error, code) => {
  expect([codeOf(error), codeOf(overTheBus(causeOf(error) as Error))]).toEqual([code, code]);
});

test("an error that is none of the database's stays itself, whatever it was thrown for", () => {
  const own = new Error("of ours", { cause: new MongoNetworkError("closed") });
  expect([causeOf(own), codeOf(own)]).toEqual([own, "INTERNAL"]);
});

test("the write errors of an unordered bulk are told apart one by one; an error without any has none", () => {
  const bulk = (writeErrors: object[]): unknown =>
    Object.assign(Object.create(MongoBulkWriteError.prototype) as object, {
      writeErrors,
      result: { getWriteConcernError: () => undefined },
    });
  const lost = { index: 0, code: 11_000, errmsg: "Duplicate key violation on the requested collection: Index 'uniq'" };
  const inOtherWords = { index: 1, code: 1, errmsg: EXCLUSION };
  const deadlocked = { index: 2, code: 16_908_292, errmsg: "deadlock detected" };
  expect(writeErrorsOf(bulk([lost, inOtherWords, deadlocked]))?.map(isDuplicateKey)).toEqual([true, true, false]);
  expect(writeErrorsOf(bulk([]))).toBeNull();
  expect(writeErrorsOf(answer(11_000, "E11000"))).toBeNull();
});

test("a write that was given up for another lost a race like one that lost its unique key; one without an answer may have been made", () => {
  const lost = SEEN.filter(([, error]) => isLostRace(error) && isLostRace(overTheBus(error))).map(([what]) => what);
  expect(lost).toEqual([
    "a duplicate key",
    "a duplicate key in other words",
    "a findAndModify that lost its unique key",
    "one that lost its id",
    "a findAndModify given up for another",
    "a write given up for another",
    "a write conflict",
  ]);
});
