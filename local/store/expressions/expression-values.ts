import { BSONRegExp, BSONSymbol, Double, Long, Timestamp } from "bson";
import { StoreError } from "../bson/errors.ts";
import { setField } from "../bson/paths.ts";
import { bsonType, doubleValue, integerValue, isDoc, isInt32 } from "../bson/values.ts";
import type { Doc, Value } from "../bson/values.ts";

/** A BSON number or regular expression as the JavaScript value mingo's operators expect; anything else unchanged. */
export function demote(v: unknown): unknown {
  if (v instanceof Double) return v.value;
  if (v instanceof Long && !(v instanceof Timestamp)) {
    const n = v.toNumber();
    return Number.isSafeInteger(n) ? n : v;
  }
  if (v instanceof BSONRegExp) return new RegExp(v.pattern, v.options.replaceAll(/[^ims]/gu, ""));
  return v instanceof BSONSymbol ? v.value : v;
}

/** {@link demote} through arrays and documents; the result shares nothing with the input that mingo could change. */
export function demoteDeep(v: unknown): unknown {
  if (Array.isArray(v)) return v.map(demoteDeep);
  if (typeof v === "object" && v !== null && Object.getPrototypeOf(v) === Object.prototype) {
    return Object.fromEntries(Object.entries(v).map(([k, x]) => [k, demoteDeep(x)]));
  }
  return v instanceof Date ? new Date(v) : demote(v);
}

function numberValue(n: number): Value {
  if (isInt32(n)) return n;
  if (Number.isSafeInteger(n) && !Object.is(n, -0)) return integerValue(BigInt(n)) ?? doubleValue(n);
  return doubleValue(n);
}

function objectValue(v: object): Value | undefined {
  if (v instanceof Date) {
    if (Number.isNaN(v.getTime()))
      throw new StoreError("BadValue", "an expression gave no valid date: check its date, unit and amount");
    return new Date(v);
  }
  if (v instanceof RegExp) return new BSONRegExp(v.source, v.flags.replaceAll(/[^imsx]/gu, ""));
  const out: Doc = {};
  for (const [k, x] of Object.entries(v)) {
    const value = promote(x);
    if (value !== undefined) setField(out, k, value);
  }
  return out;
}

function isBson(v: object): v is Exclude<Value, string | number | boolean | null> {
  return bsonType(v) !== undefined;
}

/** A result of mingo as a BSON value: integral numbers become int32 or int64, undefined means missing (null inside arrays). */
export function promote(v: unknown): Value | undefined {
  switch (typeof v) {
    case "number":
      return numberValue(v);
    case "string":
    case "boolean":
      return v;
    case "bigint":
      return integerValue(v);
    case "object":
      if (v === null) return null;
      if (Array.isArray(v)) return v.map((x) => promote(x) ?? null);
      return isBson(v) ? v : objectValue(v);
    default:
      return undefined;
  }
}

/** Deep copy of documents and arrays; leaves are immutable here and shared. */
export function copyValue<T extends Value>(v: T): T;
export function copyValue(v: Value): Value {
  if (Array.isArray(v)) return v.map((x) => copyValue(x));
  if (!isDoc(v)) return v;
  const out: Doc = {};
  for (const [k, x] of Object.entries(v)) setField(out, k, copyValue(x));
  return out;
}
