import { Binary, BSONRegExp, BSONSymbol, Code, Decimal128, Double, Long, ObjectId, Timestamp } from "bson";
import { isDoc, isNumeric, KIND, kindOf } from "./values.ts";
import type { Doc, Value } from "./values.ts";

/** A finite decimal as an exact fraction: `digits` times ten to the power `exponent`. */
interface Exact {
  digits: bigint;
  exponent: number;
}

function exactOf(text: string): Exact {
  const [mantissa = "0", exp = "0"] = text.toLowerCase().split("e");
  const dot = mantissa.indexOf(".");
  const fraction = dot === -1 ? 0 : mantissa.length - dot - 1;
  return { digits: BigInt(mantissa.replace(".", "")), exponent: Number(exp) - fraction };
}

/** The exact decimal expansion of a finite double (a double is a dyadic fraction, so it always has one). */
export function exactDouble(n: number): Exact {
  if (Number.isInteger(n)) return { digits: BigInt(n), exponent: 0 };
  let scale = 0;
  let m = n;
  while (!Number.isInteger(m)) {
    m *= 2;
    scale++;
  }
  return { digits: BigInt(m) * 5n ** BigInt(scale), exponent: -scale };
}

function compareExact(a: Exact, b: Exact): number {
  const low = Math.min(a.exponent, b.exponent);
  const x = a.digits * 10n ** BigInt(a.exponent - low);
  const y = b.digits * 10n ** BigInt(b.exponent - low);
  return x < y ? -1 : x > y ? 1 : 0;
}

/** The number behind any BSON number: bigint for int64 beyond 2^53, else a JavaScript number; Decimal128 rounds to the nearest double. */
export function primitiveNumber(v: Value): number | bigint {
  if (typeof v === "number") return v;
  if (v instanceof Double) return v.value;
  if (v instanceof Long) {
    const n = v.toNumber();
    return Number.isSafeInteger(n) ? n : v.toBigInt();
  }
  return v instanceof Decimal128 ? Number(v.toString()) : Number.NaN;
}

/** The exact value of a finite BSON number. */
export function exactNumber(v: Value): Exact {
  if (v instanceof Decimal128) return exactOf(v.toString());
  const n = primitiveNumber(v);
  return typeof n === "bigint" ? { digits: n, exponent: 0 } : exactDouble(n);
}

/** A finite number as an integer: cut where `truncated`, else undefined when it has a fraction. */
export function wholePart(v: Value | undefined, truncated: boolean): bigint | undefined {
  if (v === undefined || !isNumeric(v) || !Number.isFinite(Number(primitiveNumber(v)))) return undefined;
  const { digits, exponent } = exactNumber(v);
  if (exponent >= 0) return digits * 10n ** BigInt(exponent);
  const scale = 10n ** BigInt(-exponent);
  return truncated || digits % scale === 0n ? digits / scale : undefined;
}

/** True for a number that is neither NaN nor an infinity; the greatest decimals are finite, though not as doubles. */
export const isFiniteNumber = (v: Value): boolean =>
  v instanceof Decimal128 ? !/nan|inf/iu.test(v.toString()) : Number.isFinite(Number(primitiveNumber(v)));

function compareNumbers(a: Value, b: Value): number {
  if ((a instanceof Decimal128 || b instanceof Decimal128) && isFiniteNumber(a) && isFiniteNumber(b))
    return compareExact(exactNumber(a), exactNumber(b));
  const x = primitiveNumber(a);
  const y = primitiveNumber(b);
  if (x < y) return -1;
  if (x > y) return 1;
  // MongoDB puts NaN below every other number and equal to itself.
  const xNaN = Number.isNaN(x);
  const yNaN = Number.isNaN(y);
  if (xNaN || yNaN) return xNaN && yNaN ? 0 : xNaN ? -1 : 1;
  // One of two infinities may be a decimal that is only too great for a double.
  return isFiniteNumber(a) === isFiniteNumber(b) ? 0 : isFiniteNumber(a) === x > 0 ? -1 : 1;
}

/** Compares by UTF-8 bytes, as MongoDB does without a collation; differs from UTF-16 order only where surrogates are involved. */
export function compareStrings(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x === y) continue;
    const xs = x >= 0xd800 && x <= 0xdfff;
    const ys = y >= 0xd800 && y <= 0xdfff;
    if (xs !== ys) return xs ? 1 : -1;
    return x < y ? -1 : 1;
  }
  return a.length < b.length ? -1 : 1;
}

function compareDocs(a: Doc, b: Doc): number {
  const ka = Object.keys(a);
  const kb = Object.keys(b);
  const length = Math.min(ka.length, kb.length);
  for (let i = 0; i < length; i++) {
    const fa = ka[i] ?? "";
    const fb = kb[i] ?? "";
    const x = a[fa];
    const y = b[fb];
    const c = kindOf(x) - kindOf(y) || compareStrings(fa, fb) || compareValues(x, y);
    if (c !== 0) return c;
  }
  return ka.length - kb.length;
}

function compareArrays(a: Value[], b: Value[]): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const c = compareValues(a[i], b[i]);
    if (c !== 0) return c;
  }
  return a.length - b.length;
}

function compareClasses(a: Value, b: Value): number {
  if (a instanceof ObjectId && b instanceof ObjectId) return Buffer.compare(a.id, b.id);
  if (a instanceof Binary && b instanceof Binary) {
    return a.position - b.position || a.sub_type - b.sub_type || Buffer.compare(a.value(), b.value());
  }
  if (a instanceof Timestamp && b instanceof Timestamp) return a.compare(b);
  if (a instanceof BSONRegExp && b instanceof BSONRegExp) {
    return compareStrings(a.pattern, b.pattern) || compareStrings(a.options, b.options);
  }
  if (a instanceof Code && b instanceof Code) return compareStrings(a.code, b.code);
  return 0;
}

/** MongoDB's total order of BSON values (simple binary collation); missing compares as null. Negative, zero or positive. */
export function compareValues(a: Value | undefined, b: Value | undefined): number {
  if (typeof a === "number" && typeof b === "number" && a === b) return 0;
  const kind = kindOf(a);
  const byKind = kind - kindOf(b);
  if (byKind !== 0) return byKind;
  if (a === undefined || b === undefined || a === null || b === null) return 0;
  if (kind === KIND.number) return compareNumbers(a, b);
  if (kind === KIND.string) return compareStrings(textOf(a), textOf(b));
  if (typeof a === "boolean") return Number(a) - Number(b);
  if (a instanceof Date && b instanceof Date) return a.getTime() - b.getTime();
  if (Array.isArray(a) && Array.isArray(b)) return compareArrays(a, b);
  return isDoc(a) && isDoc(b) ? compareDocs(a, b) : compareClasses(a, b);
}

function textOf(v: Value): string {
  return v instanceof BSONSymbol ? v.value : String(v);
}

/** Equal in MongoDB's sense: 1, 1.0 and Long 1 are the same, documents must agree in field order. */
export function sameValue(a: Value | undefined, b: Value | undefined): boolean {
  return compareValues(a, b) === 0;
}

/** Equal in value and in BSON type, deeply: what decides whether an update changed anything. */
export function identical(a: Value | undefined, b: Value | undefined): boolean {
  if (a === b) return !(typeof a === "number" && Object.is(a, -0) !== Object.is(b, -0));
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((v, i) => identical(v, b[i]));
  if (isDoc(a)) {
    if (!isDoc(b)) return false;
    const ka = Object.keys(a);
    const kb = Object.keys(b);
    return ka.length === kb.length && ka.every((k, i) => k === kb[i] && identical(a[k], b[k]));
  }
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  if (a instanceof Double && b instanceof Double) return Object.is(a.value, b.value);
  if (a instanceof Decimal128 && b instanceof Decimal128) return Buffer.compare(a.bytes, b.bytes) === 0;
  return compareValues(a, b) === 0;
}
