import { Code, Decimal128, Double, Long, Timestamp } from "bson";
import type { Binary, BSONRegExp, BSONSymbol, MaxKey, MinKey, ObjectId } from "bson";

/**
 * A BSON value in memory. Every BSON type has exactly one form, so that a field that is not touched is written back as it came:
 * int32 is an integral number, a double with a fraction is a number, a double without one (1.0, NaN, Infinity, -0) is a `Double`, int64 is a `Long`.
 */
export type Value =
  | null
  | boolean
  | number
  | string
  | Date
  | Doc
  | Value[]
  | Double
  | Long
  | Decimal128
  | ObjectId
  | Binary
  | Timestamp
  | BSONRegExp
  | BSONSymbol
  | Code
  | MinKey
  | MaxKey;

/** A BSON document in memory; keys keep their order. */
export interface Doc {
  [key: string]: Value;
}

/** MongoDB's comparison order of types (canonicalizeBSONType in the server); the same numbers open each index key. */
export const KIND = {
  minKey: 1,
  undefined: 3,
  null: 5,
  number: 10,
  string: 15,
  object: 20,
  array: 25,
  binary: 30,
  objectId: 35,
  bool: 40,
  date: 45,
  timestamp: 47,
  regex: 50,
  code: 60,
  codeWithScope: 65,
  maxKey: 127,
} as const;

/** One of the numbers of {@link KIND}. */
export type Kind = (typeof KIND)[keyof typeof KIND];

const KIND_OF_BSON_TYPE: Record<string, Kind> = {
  Double: KIND.number,
  Int32: KIND.number,
  Long: KIND.number,
  Decimal128: KIND.number,
  ObjectId: KIND.objectId,
  Binary: KIND.binary,
  Timestamp: KIND.timestamp,
  BSONRegExp: KIND.regex,
  BSONSymbol: KIND.string,
  Code: KIND.code,
  MinKey: KIND.minKey,
  MaxKey: KIND.maxKey,
};

/** The BSON class name of a wrapped value, or undefined for plain ones. Reads the prototype only: a document may have any field name. */
export function bsonType(v: object): string | undefined {
  const proto: unknown = Object.getPrototypeOf(v);
  if (proto === Object.prototype || proto === null) return undefined;
  const t: unknown = Reflect.get(v, "_bsontype");
  return typeof t === "string" ? t : undefined;
}

/** True for an embedded document: not an array, not a Date, not a BSON class. */
export function isDoc(v: Value | undefined): v is Doc {
  return typeof v === "object" && v !== null && Object.getPrototypeOf(v) === Object.prototype;
}

/** The place of a value's type in MongoDB's order; a missing field counts as null. */
export function kindOf(v: Value | undefined): Kind {
  switch (typeof v) {
    case "undefined":
      return KIND.null;
    case "number":
      return KIND.number;
    case "string":
      return KIND.string;
    case "boolean":
      return KIND.bool;
    default:
  }
  if (v === null) return KIND.null;
  if (Array.isArray(v)) return KIND.array;
  if (v instanceof Date) return KIND.date;
  const name = bsonType(v);
  if (name === undefined) return KIND.object;
  if (v instanceof Code && v.scope !== null && v.scope !== undefined) return KIND.codeWithScope;
  return KIND_OF_BSON_TYPE[name] ?? KIND.object;
}

/** Numbers and aliases of `$type`, as MongoDB documents them. */
export const TYPE_ALIASES: Record<string, number> = {
  double: 1,
  string: 2,
  object: 3,
  array: 4,
  binData: 5,
  undefined: 6,
  objectId: 7,
  bool: 8,
  date: 9,
  null: 10,
  regex: 11,
  dbPointer: 12,
  javascript: 13,
  symbol: 14,
  javascriptWithScope: 15,
  int: 16,
  timestamp: 17,
  long: 18,
  decimal: 19,
  minKey: -1,
  maxKey: 127,
};

const ALIAS_OF_BSON_TYPE: Record<string, string> = {
  Double: "double",
  Int32: "int",
  Long: "long",
  Decimal128: "decimal",
  ObjectId: "objectId",
  Binary: "binData",
  Timestamp: "timestamp",
  BSONRegExp: "regex",
  BSONSymbol: "symbol",
  Code: "javascript",
  MinKey: "minKey",
  MaxKey: "maxKey",
};

/** The `$type` alias of a value: "int", "long", "objectId" …; "missing" for undefined. */
export function typeAlias(v: Value | undefined): string {
  switch (typeof v) {
    case "undefined":
      return "missing";
    case "number":
      return isInt32(v) ? "int" : "double";
    case "string":
      return "string";
    case "boolean":
      return "bool";
    default:
  }
  if (v === null) return "null";
  if (Array.isArray(v)) return "array";
  if (v instanceof Date) return "date";
  const name = bsonType(v);
  if (name === undefined) return "object";
  return kindOf(v) === KIND.codeWithScope ? "javascriptWithScope" : (ALIAS_OF_BSON_TYPE[name] ?? "object");
}

/** True when a JavaScript number is stored as int32. -0 is a double. */
export function isInt32(n: number): boolean {
  return (n | 0) === n && !Object.is(n, -0);
}

/** A double in its one in-memory form. */
export function doubleValue(n: number): number | Double {
  return Number.isInteger(n) || !Number.isFinite(n) ? new Double(n) : n;
}

/** An integer in the smallest BSON type that holds it; undefined when it needs more than 64 bits. */
export function integerValue(n: bigint): number | Long | undefined {
  if (n >= -0x80000000n && n <= 0x7fffffffn) return Number(n);
  if (n >= -0x8000000000000000n && n <= 0x7fffffffffffffffn) return Long.fromBigInt(n);
  return undefined;
}

/** True for any of the four number types. */
export function isNumeric(v: Value | undefined): v is number | Double | Long | Decimal128 {
  return (
    typeof v === "number" ||
    v instanceof Double ||
    (v instanceof Long && !(v instanceof Timestamp)) ||
    v instanceof Decimal128
  );
}

/** A number argument (limit, n of $slice …) as a JavaScript number, or undefined when the value is no number. */
export function asNumber(v: Value | undefined): number | undefined {
  if (typeof v === "number") return v;
  if (v instanceof Double) return v.value;
  if (v instanceof Timestamp) return undefined;
  if (v instanceof Long) return v.toNumber();
  if (v instanceof Decimal128) return Number(v.toString());
  return undefined;
}

/** MongoDB's truth: everything but false, null, missing and zero. */
export function isTrue(v: Value | undefined): boolean {
  if (v === undefined || v === null || v === false) return false;
  // The least decimals are zero only as doubles.
  if (v instanceof Decimal128) return /^[^E]*[1-9NI]/u.test(v.toString());
  return !isNumeric(v) || asNumber(v) !== 0;
}
