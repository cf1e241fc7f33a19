import mongoose from "mongoose";
import {
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
