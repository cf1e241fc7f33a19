import type { Doc } from "./values.ts";

/** MongoDB's error codes, by their codeName. */
export const CODES = {
  InternalError: 1,
  BadValue: 2,
  FailedToParse: 9,
  TypeMismatch: 14,
  Overflow: 15,
  InvalidLength: 16,
  IllegalOperation: 20,
  InvalidBSON: 22,
  NamespaceNotFound: 26,
  IndexNotFound: 27,
  PathNotViable: 28,
  ConflictingUpdateOperators: 40,
  CursorNotFound: 43,
  NamespaceExists: 48,
  MaxTimeMSExpired: 50,
  DollarPrefixedFieldName: 52,
  NotSingleValueField: 54,
  EmptyFieldName: 56,
  CommandNotFound: 59,
  ImmutableField: 66,
  CannotCreateIndex: 67,
  InvalidOptions: 72,
  InvalidNamespace: 73,
  IndexOptionsConflict: 85,
  IndexKeySpecsConflict: 86,
  CommandNotSupported: 115,
  InvalidPipelineOperator: 168,
  QueryPlanKilled: 175,
  TransactionTooOld: 225,
  OperationNotSupportedInTransaction: 263,
  ConversionFailure: 241,
  NoSuchTransaction: 251,
  IndexBuildAborted: 276,
  QueryExceededMemoryLimitNoDiskUseAllowed: 292,
  DataCorruptionDetected: 301,
  InvalidIdField: 53,
  IDLUnknownField: 40415,
  IDLFailedToParse: 40414,
  DuplicateKey: 11000,
  BSONObjectTooLarge: 10334,
} as const;

/** A codeName of {@link CODES}. */
export type CodeName = keyof typeof CODES;

/** An error answered to the client with MongoDB's code and codeName; `extra` is merged into the reply (keyPattern, keyValue …). */
export class StoreError extends Error {
  readonly code: number;
  readonly codeName: string;
  readonly extra: Doc;
  constructor(codeName: CodeName | number, message: string, extra: Doc = {}) {
    super(message);
    this.name = "StoreError";
    this.code = typeof codeName === "number" ? codeName : CODES[codeName];
    // The server names codes that have no entry in its table "Location<code>".
    this.codeName = typeof codeName === "number" ? `Location${codeName}` : codeName;
    this.extra = extra;
  }
}
