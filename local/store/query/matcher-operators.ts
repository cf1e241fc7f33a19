import { Binary, BSONRegExp } from "bson";
import { compareValues, sameValue, wholePart } from "../bson/comparison.ts";
import { StoreError } from "../bson/errors.ts";
import { regexOf, type Regex } from "../bson/regex.ts";
import type { Budget } from "../budget.ts";
import { asNumber, isDoc, isNumeric, KIND, kindOf, typeAlias, TYPE_ALIASES } from "../bson/values.ts";
import type { Value } from "../bson/values.ts";

/** A test of one value found at the end of a path; undefined means missing. */
export type LeafTest = (v: Value | undefined) => boolean;

/** Operators that look at an array as a whole and never at its elements. */
export const WHOLE_VALUE_OPERATORS: ReadonlySet<string> = new Set(["$size"]);

/** Up to this size a regular expression looks once at each character. */
const SMALL_REGEX = 50;
/** Characters that are one step. */
const REGEX_STEP = 16;
const MAX_INT32 = 0x7fffffff;
const BIT_OPERATORS = new Set(["$bitsAllSet", "$bitsAllClear", "$bitsAnySet", "$bitsAnyClear"]);

/** Compiles an operator that tests single values. Errors: BadValue for an unknown operator or a malformed argument. */
export function leafTest(op: string, arg: Value, budget: Budget): LeafTest {
  switch (op) {
    case "$eq":
      return (v) => sameValue(v, arg);
    case "$in":
      return inTest(arg, budget);
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

function inTest(arg: Value, budget: Budget): LeafTest {
  if (!Array.isArray(arg)) throw new StoreError("BadValue", "$in needs an array");
  const regexes = arg.filter((v) => v instanceof BSONRegExp).map(regexOf);
  const sorted = arg.toSorted(compareValues);
  for (const v of arg) {
    if (isDoc(v) && Object.keys(v)[0]?.startsWith("$") === true)
      throw new StoreError("BadValue", "cannot nest $ under $in");
  }
  return (v) => contains(sorted, v) || (typeof v === "string" && regexes.some((r) => regexMatches(r, v, budget)));
}

/** Whether a sorted list has a value. */
function contains(sorted: readonly Value[], v: Value | undefined): boolean {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareValues(sorted[middle], v) < 0) low = middle + 1;
    else high = middle;
  }
  return low < sorted.length && sameValue(sorted[low], v);
}

/** Runs a regular expression, which is paid for by its size and the length of the text. */
export function regexMatches(regex: Regex, text: string, budget: Budget): boolean {
  const { size } = regex;
  budget.spend(1 + Math.floor((text.length * (size > SMALL_REGEX ? size : 1)) / REGEX_STEP));
  return regex.test(text);
}

function rangeTest(op: string, arg: Value, wanted: (c: number) => boolean): LeafTest {
  if (arg instanceof BSONRegExp)
    throw new StoreError("BadValue", `Can't have RegEx as arg to predicate over field with ${op}.`);
  const kind = kindOf(arg);
  // Only MinKey and MaxKey are compared with values of other types.
  if (kind === KIND.minKey || kind === KIND.maxKey) return (v) => wanted(compareValues(v, arg));
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
  if (code === undefined)
    throw new StoreError("TypeMismatch", `type must be represented as a number or a string, not as ${typeAlias(t)}`);
  const alias = Object.entries(TYPE_ALIASES).find(([, n]) => n === code);
  if (alias === undefined) throw new StoreError("BadValue", `Invalid numerical type code: ${String(code)}`);
  return [alias[0]];
}

/** An int64 argument; a number with a fraction is cut where `truncated`. */
function int64(v: Value | undefined, truncated: boolean): bigint | undefined {
  const n = wholePart(v, truncated);
  return n !== undefined && BigInt.asIntN(64, n) === n ? n : undefined;
}

function modTest(arg: Value): LeafTest {
  if (!Array.isArray(arg) || arg.length !== 2)
    throw new StoreError("BadValue", "malformed mod, needs to be an array of two numbers");
  const [divisor, remainder] = arg.map((v) => int64(v, true));
  if (divisor === undefined || remainder === undefined)
    throw new StoreError("BadValue", "malformed mod, divisor and remainder must be numbers of 64 bits");
  if (divisor === 0n) throw new StoreError("BadValue", "divisor cannot be 0");
  return (v) => {
    const n = int64(v, true);
    return n !== undefined && n % divisor === remainder;
  };
}

function sizeTest(arg: Value): LeafTest {
  const size = asNumber(arg);
  if (size === undefined) throw new StoreError("BadValue", "$size needs a number");
  if (!Number.isInteger(size)) throw new StoreError("BadValue", "$size must be a whole number");
  if (size < 0 || size > MAX_INT32) throw new StoreError("BadValue", "$size may not be negative or above 2147483647");
  return (v) => Array.isArray(v) && v.length === size;
}

/** The bits of one byte of a mask. */
interface MaskByte {
  at: number;
  bits: number;
}

function maskOf(op: string, arg: Value): MaskByte[] {
  const mask = new Map<number, number>();
  if (Array.isArray(arg)) {
    for (const position of arg) {
      const bit = int64(position, false);
      if (bit === undefined || bit < 0n || bit > MAX_INT32)
        throw new StoreError("BadValue", `bit positions of ${op} must be integers from 0 to 2147483647`);
      const at = Number(bit) >> 3;
      mask.set(at, (mask.get(at) ?? 0) | (1 << (Number(bit) & 7)));
    }
  } else {
    const n = arg instanceof Binary ? undefined : int64(arg, false);
    if (!(arg instanceof Binary) && !isNumeric(arg))
      throw new StoreError("BadValue", `${op} takes an Array, a number, or a BinData`);
    if (isNumeric(arg) && (n === undefined || n < 0n))
      throw new StoreError("FailedToParse", `${op} needs a whole number of 64 bits that is not negative`);
    bytesOf(arg)?.bytes.forEach((bits, at) => mask.set(at, bits));
  }
  return [...mask].flatMap(([at, bits]) => (bits === 0 ? [] : { at, bits }));
}

/** The bits of a value, the least significant byte first, and what follows behind them: numbers go on with their sign. */
function bytesOf(v: Value | undefined): { bytes: Uint8Array; beyond: number } | undefined {
  if (v instanceof Binary) {
    if (v.sub_type !== Binary.SUBTYPE_BYTE_ARRAY) return { bytes: v.value(), beyond: 0 };
    // The old generic subtype carries its length in front.
    const length = Buffer.alloc(4);
    length.writeInt32LE(v.position);
    return { bytes: Buffer.concat([length, v.value()]), beyond: 0 };
  }
  const n = isNumeric(v) ? int64(v, false) : undefined;
  if (n === undefined) return undefined;
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64LE(n);
  return { bytes, beyond: n < 0n ? 0xff : 0 };
}

function bitTest(op: string, arg: Value): LeafTest {
  const mask = maskOf(op, arg);
  const every = op.startsWith("$bitsAll");
  const set = op.endsWith("Set");
  return (v) => {
    const value = bytesOf(v);
    if (value === undefined) return false;
    const meets = ({ at, bits }: MaskByte): boolean => {
      const there = (value.bytes[at] ?? value.beyond) & bits;
      const wanted = set ? there : there ^ bits;
      return every ? wanted === bits : wanted !== 0;
    };
    return every ? mask.every(meets) : mask.some(meets);
  };
}
