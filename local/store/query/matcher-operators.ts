import { Binary, BSONRegExp, Long } from "bson";
import { compareValues, sameValue } from "../bson/comparison.ts";
import { StoreError } from "../bson/errors.ts";
import { regexOf } from "../bson/regex.ts";
import { asNumber, isDoc, isNumeric, KIND, kindOf, typeAlias, TYPE_ALIASES } from "../bson/values.ts";
import type { Value } from "../bson/values.ts";

/** A test of one value found at the end of a path; undefined means missing. */
export type LeafTest = (v: Value | undefined) => boolean;

/** Operators that look at an array as a whole and never at its elements. */
export const WHOLE_VALUE_OPERATORS: ReadonlySet<string> = new Set(["$size"]);

const BIT_OPERATORS = new Set(["$bitsAllSet", "$bitsAllClear", "$bitsAnySet", "$bitsAnyClear"]);

/** Compiles an operator that tests single values. Errors: BadValue for an unknown operator or a malformed argument. */
export function leafTest(op: string, arg: Value): LeafTest {
  switch (op) {
    case "$eq":
      return (v) => sameValue(v, arg);
    case "$in":
      return inTest(arg);
    case "$gt":
      return rangeTest(op, arg, (c) => c > 0);
    case "$gte":
      return rangeTest(op, arg, (c) => c >= 0);
    case "$lt":
      return rangeTest(op, arg, (c) => c < 0);
    case "$lte":
      return rangeTest(op, arg, (c) => c <= 0);
    case "$type":
      return typeTest(arg);
    case "$mod":
      return modTest(arg);
    case "$size":
      return sizeTest(arg);
    default:
      if (BIT_OPERATORS.has(op)) return bitTest(op, arg);
      throw new StoreError("BadValue", `unknown operator: ${op}`);
  }
}

function inTest(arg: Value): LeafTest {
  if (!Array.isArray(arg)) throw new StoreError("BadValue", "$in needs an array");
  const regexes = arg.filter((v) => v instanceof BSONRegExp).map(regexOf);
  for (const v of arg) {
    if (isDoc(v) && Object.keys(v)[0]?.startsWith("$") === true)
      throw new StoreError("BadValue", "cannot nest $ under $in");
  }
  return (v) => arg.some((item) => sameValue(v, item)) || (typeof v === "string" && regexes.some((r) => r.test(v)));
}

function rangeTest(op: string, arg: Value, wanted: (c: number) => boolean): LeafTest {
  if (arg instanceof BSONRegExp)
    throw new StoreError("BadValue", `Can't have RegEx as arg to predicate over field with ${op}.`);
  const kind = kindOf(arg);
  // Only MinKey and MaxKey are compared with values of other types.
  if (kind === KIND.minKey || kind === KIND.maxKey) return (v) => v !== undefined && wanted(compareValues(v, arg));
  if (kind === KIND.null) return (v) => kindOf(v) === kind && wanted(0);
  if (kind === KIND.number && Number.isNaN(asNumber(arg)))
    return (v) => isNumeric(v) && Number.isNaN(asNumber(v)) && wanted(0);
  return (v) =>
    kindOf(v) === kind && !(kind === KIND.number && Number.isNaN(asNumber(v))) && wanted(compareValues(v, arg));
}

function typeTest(arg: Value): LeafTest {
  const wanted = new Set((Array.isArray(arg) ? arg : [arg]).flatMap(typeNames));
  if (wanted.size === 0) throw new StoreError(9, "$type must match at least one type");
  return (v) => v !== undefined && wanted.has(typeAlias(v));
}

function typeNames(t: Value): string[] {
  if (t === "number") return ["int", "long", "double", "decimal"];
  if (typeof t === "string") {
    if (TYPE_ALIASES[t] === undefined) throw new StoreError("BadValue", `Unknown type name alias: ${t}`);
    return [t];
  }
  const code = asNumber(t);
  const alias = Object.entries(TYPE_ALIASES).find(([, n]) => n === code);
  if (alias === undefined) throw new StoreError("BadValue", `Invalid numerical type code: ${String(code)}`);
  return [alias[0]];
}

function modTest(arg: Value): LeafTest {
  if (!Array.isArray(arg) || arg.length !== 2)
    throw new StoreError("BadValue", "malformed mod, needs to be an array of two numbers");
  const [divisor, remainder] = arg.map((v) => Math.trunc(asNumber(v) ?? Number.NaN));
  if (divisor === undefined || remainder === undefined || Number.isNaN(divisor) || Number.isNaN(remainder))
    throw new StoreError("BadValue", "malformed mod, divisor and remainder must be numbers");
  if (divisor === 0) throw new StoreError("BadValue", "divisor cannot be 0");
  return (v) => {
    const n = asNumber(v);
    return n !== undefined && Number.isFinite(n) && Math.trunc(n) % divisor === remainder;
  };
}

function sizeTest(arg: Value): LeafTest {
  const size = asNumber(arg);
  if (size === undefined) throw new StoreError("BadValue", "$size needs a number");
  if (!Number.isInteger(size)) throw new StoreError("BadValue", "$size must be a whole number");
  if (size < 0) throw new StoreError("BadValue", "$size may not be negative");
  return (v) => Array.isArray(v) && v.length === size;
}

function maskOf(op: string, arg: Value): bigint {
  if (Array.isArray(arg)) {
    return arg.reduce<bigint>((mask, position) => {
      const bit = asNumber(position);
      if (bit === undefined || !Number.isInteger(bit) || bit < 0 || bit > 63)
        throw new StoreError("BadValue", `bit positions of ${op} must be integers from 0 to 63`);
      return mask | (1n << BigInt(bit));
    }, 0n);
  }
  if (arg instanceof Binary) return bitsOf(arg) ?? 0n;
  const n = asNumber(arg);
  if (n === undefined || !Number.isInteger(n) || n < 0)
    throw new StoreError("BadValue", `${op} takes an Array, a number, or a BinData`);
  return arg instanceof Long ? arg.toBigInt() : BigInt(n);
}

function bitsOf(v: Value | undefined): bigint | undefined {
  if (v instanceof Binary) return v.value().reduceRight((bits, byte) => (bits << 8n) | BigInt(byte), 0n);
  if (v instanceof Long) return BigInt.asUintN(64, v.toBigInt());
  const n = asNumber(v);
  return n !== undefined && Number.isInteger(n) ? BigInt.asUintN(64, BigInt(n)) : undefined;
}

function bitTest(op: string, arg: Value): LeafTest {
  const mask = maskOf(op, arg);
  return (v) => {
    const bits = bitsOf(v);
    if (bits === undefined) return false;
    switch (op) {
      case "$bitsAllSet":
        return (bits & mask) === mask;
      case "$bitsAllClear":
        return (bits & mask) === 0n;
      case "$bitsAnySet":
        return (bits & mask) !== 0n;
      default:
        return (bits & mask) !== mask;
    }
  };
}
