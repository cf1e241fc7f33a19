/** The values that test files and replies are made of: reading Extended JSON, telling types apart, printing them. */
import { types } from "node:util";
import { BSON } from "mongodb";

/** A document whose fields are not known in advance. */
export type Doc = Record<string, unknown>;

/** Longest text of one value in a report, in characters. */
const SHOWN_CHARACTERS = 1_000;
const INT32_MAX = 2 ** 31 - 1;
const INT32_MIN = -(2 ** 31);

/** The key sets that make an object an Extended JSON v2 value rather than a document. */
const WRAPPERS = new Set([
  "$oid",
  "$numberInt",
  "$numberLong",
  "$numberDouble",
  "$numberDecimal",
  "$binary",
  "$uuid",
  "$date",
  "$timestamp",
  "$regularExpression",
  "$code",
  "$code,$scope",
  "$symbol",
  "$dbPointer",
  "$minKey",
  "$maxKey",
  "$undefined",
]);

/** Is this a plain document: not an array, not a BSON type, not a Date, RegExp or buffer. */
export function isDocument(value: unknown): value is Doc {
  return (
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    !("_bsontype" in value) &&
    !types.isDate(value) &&
    !types.isRegExp(value) &&
    !ArrayBuffer.isView(value)
  );
}

/**
 * Parsed JSON → values for the driver. Plain numbers stay JavaScript numbers, as a driver's user would write them;
 * canonical wrappers ($numberLong, $numberDouble, ...) become the BSON class, so that their type is kept.
 * Throws BSONError on a malformed wrapper.
 */
export function fromExtendedJson(json: unknown): unknown {
  if (Array.isArray(json)) return json.map(fromExtendedJson);
  if (!isDocument(json)) return json;
  const keys = Object.keys(json).sort().join();
  if (!WRAPPERS.has(keys))
    return Object.fromEntries(Object.entries(json).map(([key, value]) => [key, fromExtendedJson(value)]));
  const parsed: Doc = BSON.EJSON.deserialize({ value: json }, { relaxed: !keys.startsWith("$number") });
  return parsed["value"];
}

/** The BSON type tag of a driver object ("Long", "ObjectId", ...), if it is one. */
export function bsonTag(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null || !("_bsontype" in value)) return undefined;
  return String(value._bsontype);
}

/** A DBRef is a document on the wire; the driver makes a class of it, this makes it a document again. */
export function withoutDbRef(value: unknown): unknown {
  if (value instanceof BSON.DBRef) {
    const { collection, oid, db, fields } = value;
    return { $ref: collection, $id: oid, ...(db === undefined ? {} : { $db: db }), ...fields };
  }
  return value;
}

/** The number a value holds, whole numbers as bigint so that 64 bits compare exactly; undefined if it is no number or a Decimal128. */
export function numberOf(value: unknown): number | bigint | undefined {
  if (typeof value === "bigint") return value;
  if (value instanceof BSON.Long) return value.toBigInt();
  const plain = value instanceof BSON.Int32 || value instanceof BSON.Double ? value.value : value;
  if (typeof plain !== "number") return undefined;
  return Number.isInteger(plain) ? BigInt(plain) : plain;
}

/** Are two numbers the same number, whatever their width ("flexible numeric comparisons"). */
export function sameNumber(left: number | bigint, right: number | bigint): boolean {
  return Object.is(left, right);
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (!isDocument(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sortKeys(value[key])]),
  );
}

/** Canonical Extended JSON with sorted keys: equal texts are equal values of equal types. */
export function canonicalText(value: unknown): string {
  const serialized: Doc = BSON.EJSON.serialize({ value }, { relaxed: false });
  return JSON.stringify(sortKeys(serialized["value"]));
}

/** A value as a person reads it in a report: relaxed Extended JSON, bounded. */
export function shown(value: unknown): string {
  if (value === undefined) return "(absent)";
  const text = BSON.EJSON.stringify(value, { relaxed: true });
  return text.length <= SHOWN_CHARACTERS ? text : `${text.slice(0, SHOWN_CHARACTERS)}… (${text.length} characters)`;
}

const TAGGED_TYPES: Readonly<Record<string, string>> = {
  Int32: "int",
  Long: "long",
  Double: "double",
  Decimal128: "decimal",
  ObjectId: "objectId",
  Binary: "binData",
  Timestamp: "timestamp",
  BSONRegExp: "regex",
  Code: "javascript",
  BSONSymbol: "symbol",
  MinKey: "minKey",
  MaxKey: "maxKey",
  DBRef: "object",
};

function numberTypes(value: number): string[] {
  if (!Number.isInteger(value)) return ["double", "number"];
  const wide = ["long", "double", "number"];
  return value >= INT32_MIN && value <= INT32_MAX ? ["int", ...wide] : wide;
}

/**
 * The `$type` names a value answers to. A whole JavaScript number answers to every width it may have had on the wire,
 * because the driver promotes int, long and double alike.
 */
export function typeNames(value: unknown): string[] {
  if (value === null) return ["null"];
  if (typeof value === "number") return numberTypes(value);
  if (typeof value === "bigint") return ["long", "number"];
  if (typeof value === "boolean") return ["bool"];
  if (typeof value === "string") return ["string"];
  if (Array.isArray(value)) return ["array"];
  if (types.isDate(value)) return ["date"];
  if (types.isRegExp(value)) return ["regex"];
  if (ArrayBuffer.isView(value)) return ["binData"];
  const tag = bsonTag(value);
  const name = tag === undefined ? "object" : (TAGGED_TYPES[tag] ?? tag);
  return ["int", "long", "double", "decimal"].includes(name) ? [name, "number"] : [name];
}
