/** expectError: does the error an operation raised fit what the file says of it? */
import {
  MongoBulkWriteError,
  MongoClientBulkWriteError,
  MongoError,
  MongoOperationTimeoutError,
  MongoServerError,
} from "mongodb";
import { type Doc, bsonTag, isDocument, shown } from "./bson-values.ts";
import { clientBulkWriteDocument } from "../operations/client-bulk-write.ts";
import { type Mismatch, RunnerError } from "../runner-errors.ts";
import { match, type MatchScope } from "./value-match.ts";
import { resultValue } from "./driver-results.ts";
import { documentAt, flagAt, onlyKeys, stringAt, stringsAt } from "../field-readers.ts";

const KEYS = [
  "isError",
  "isClientError",
  "isTimeoutError",
  "errorContains",
  "errorCode",
  "errorCodeName",
  "errorLabelsContain",
  "errorLabelsOmit",
  "errorResponse",
  "expectResult",
  "writeErrors",
  "writeConcernErrors",
];

/** Names of the codes that write errors carry: the driver keeps a write error's code, but not its codeName. */
const CODE_NAMES: Readonly<Record<number, string>> = {
  2: "BadValue",
  9: "FailedToParse",
  14: "TypeMismatch",
  16: "InvalidLength",
  20: "IllegalOperation",
  26: "NamespaceNotFound",
  27: "IndexNotFound",
  28: "PathNotViable",
  40: "ConflictingUpdateOperators",
  52: "DollarPrefixedFieldName",
  54: "NotSingleValueField",
  55: "InvalidDBRef",
  57: "DottedFieldName",
  59: "CommandNotFound",
  66: "ImmutableField",
  72: "InvalidOptions",
  73: "InvalidNamespace",
  79: "UnknownReplWriteConcern",
  100: "UnsatisfiableWriteConcern",
  112: "WriteConflict",
  115: "CommandNotSupported",
  121: "DocumentValidationFailure",
  166: "CommandNotSupportedOnView",
  11000: "DuplicateKey",
};

function differ(place: string, expected: string, actual: string): Mismatch[] {
  return [{ place, expected, actual }];
}

/** Did the driver itself raise it? Anything else is a bug of the runner and must not pass for the error a test wants. */
function isOfDriver(error: unknown): error is Error {
  return error instanceof MongoError || (error instanceof Error && /^BSON\w*Error$/.test(error.name));
}

function writeErrors(error: Error): { code: number; message: string }[] {
  if (!(error instanceof MongoBulkWriteError)) return [];
  const all = Array.isArray(error.writeErrors) ? error.writeErrors : [error.writeErrors];
  return all.map((one) => ({ code: one.code, message: one.errmsg ?? "" }));
}

function codeNames(error: MongoServerError): string[] {
  const named = error.codeName === undefined ? [] : [error.codeName];
  const codes = [Number(error.code), ...writeErrors(error).map((one) => one.code)];
  const translated = codes.flatMap((code) => CODE_NAMES[code] ?? []);
  if (named.length === 0 && translated.length === 0)
    throw new RunnerError(
      `errorCodeName cannot be compared: the driver gives only code ${codes.join(", ")}, whose name this runner does not know`,
    );
  return [...named, ...translated];
}

function origin(expected: Doc, error: Error): Mismatch[] {
  const told = `${error.name}: ${error.message}`;
  const fromServer = error instanceof MongoServerError;
  const client =
    expected["isClientError"] === undefined || flagAt("isClientError", expected["isClientError"], false) !== fromServer
      ? []
      : differ("isClientError", shown(expected["isClientError"]), told);
  const timedOut = error instanceof MongoOperationTimeoutError;
  const timeout =
    expected["isTimeoutError"] === undefined || flagAt("isTimeoutError", expected["isTimeoutError"], false) === timedOut
      ? []
      : differ("isTimeoutError", shown(expected["isTimeoutError"]), told);
  return [...client, ...timeout];
}

function contents(expected: Doc, error: Error): Mismatch[] {
  const { errorContains, errorCode, errorCodeName } = expected;
  const told = `${error.name}: ${error.message}`;
  const server = error instanceof MongoServerError ? error : undefined;
  const found: Mismatch[] = [];
  if (errorContains !== undefined) {
    const part = stringAt("errorContains", errorContains).toLowerCase();
    const messages = [error.message, ...writeErrors(error).map((one) => one.message)];
    if (!messages.some((message) => message.toLowerCase().includes(part)))
      found.push(...differ("errorContains", part, told));
  }
  if (errorCode !== undefined && (server === undefined || Number(server.code) !== errorCode))
    found.push(...differ("errorCode", shown(errorCode), server === undefined ? told : `${server.code} (${told})`));
  if (errorCodeName !== undefined) {
    const name = stringAt("errorCodeName", errorCodeName);
    const names = server === undefined ? [] : codeNames(server);
    if (!names.some((one) => one.toLowerCase() === name.toLowerCase()))
      found.push(...differ("errorCodeName", name, `${names.join(", ")} (${told})`));
  }
  return found;
}

function labels(expected: Doc, error: Error): Mismatch[] {
  const present = error instanceof MongoError ? error.errorLabels : [];
  const lacking = stringsAt("errorLabelsContain", expected["errorLabelsContain"]).filter(
    (label) => !present.includes(label),
  );
  const unwanted = stringsAt("errorLabelsOmit", expected["errorLabelsOmit"]).filter((label) => present.includes(label));
  return [
    ...lacking.flatMap((label) => differ("errorLabelsContain", label, present.join(", ") || "no labels")),
    ...unwanted.flatMap((label) => differ("errorLabelsOmit", `not ${label}`, present.join(", "))),
  ];
}

function partialResult(error: Error): unknown {
  if (error instanceof MongoBulkWriteError) return resultValue(error.result);
  if (!(error instanceof MongoClientBulkWriteError) || error.partialResult === undefined) return undefined;
  return clientBulkWriteDocument(error.partialResult);
}

/** The lists of a client-level bulkWrite's error: exactly the expected ones, each matched as a root-level document. */
function clientBulkErrors(expected: Doc, error: Error, scope: MatchScope): Mismatch[] {
  const { writeErrors: wanted, writeConcernErrors: concerns } = expected;
  const actual = error instanceof MongoClientBulkWriteError ? error : undefined;
  const found: Mismatch[] = [];
  if (wanted !== undefined) {
    const errors = Object.fromEntries([...(actual?.writeErrors ?? [])].map(([index, one]) => [String(index), one]));
    const byIndex = documentAt("writeErrors", wanted);
    for (const index of new Set([...Object.keys(byIndex), ...Object.keys(errors)])) {
      const one = byIndex[index];
      found.push(
        ...(one === undefined
          ? differ(`writeErrors.${index}`, "no error", shown(errors[index]))
          : match(one, errors[index], scope, `writeErrors.${index}`, "root")),
      );
    }
  }
  if (concerns !== undefined)
    found.push(...match(concerns, actual?.writeConcernErrors ?? [], scope, "writeConcernErrors", "roots"));
  return found;
}

function attached(expected: Doc, error: Error, scope: MatchScope): Mismatch[] {
  const response = error instanceof MongoServerError ? error.errorResponse : undefined;
  const reply =
    expected["errorResponse"] === undefined
      ? []
      : match(expected["errorResponse"], response, scope, "errorResponse", "root");
  const partial = partialResult(error);
  const result =
    expected["expectResult"] === undefined
      ? []
      : match(expected["expectResult"], partial, scope, "expectError.expectResult", "root");
  return [...reply, ...result];
}

/**
 * Every way in which an error differs from an expectError document. Throws RunnerFault if the document has an unknown
 * key, and throws the error itself on if it is none of the driver's.
 */
export function errorDifferences(expected: Doc, error: unknown, scope: MatchScope): Mismatch[] {
  onlyKeys("expectError", expected, KEYS);
  if (Object.keys(expected).length === 0) throw new RunnerError("expectError must say something of the error");
  if (expected["isError"] === false) throw new RunnerError("expectError.isError cannot be false");
  if (!isOfDriver(error))
    throw isDocument(error) || bsonTag(error) !== undefined
      ? new RunnerError(`the operation threw ${shown(error)}`)
      : error;
  // A client-level bulkWrite wraps the error that stopped it: code and text are those of the inner one.
  const told = error instanceof MongoClientBulkWriteError && error.cause instanceof MongoError ? error.cause : error;
  return [
    ...origin(expected, error),
    ...contents(expected, told),
    ...labels(expected, told),
    ...attached(expected, error, scope),
    ...clientBulkErrors(expected, error, scope),
  ];
}
