import { Decimal128, Double, Long } from "bson";
import { exactNumber, primitiveNumber } from "./comparison.ts";
import { doubleValue, integerValue } from "./values.ts";
import type { Value } from "./values.ts";

/** A BSON number. */
export type Numeric = number | Double | Long | Decimal128;
/** What two numbers can be combined by with all BSON types kept. */
export type Operation = "add" | "subtract" | "multiply";

const DECIMAL_SCALE = 40;

function isDouble(v: Numeric): boolean {
  return v instanceof Double || (typeof v === "number" && !Number.isInteger(v));
}

function combine<T extends number | bigint>(op: Operation, a: T, b: T): number | bigint {
  if (typeof a === "bigint" && typeof b === "bigint") return op === "add" ? a + b : op === "subtract" ? a - b : a * b;
  const [x, y] = [Number(a), Number(b)];
  return op === "add" ? x + y : op === "subtract" ? x - y : x * y;
}

function finiteDecimal(v: Numeric): boolean {
  return Number.isFinite(Number(primitiveNumber(v))) || (v instanceof Decimal128 && !/nan|inf/iu.test(v.toString()));
}

function combineDecimals(op: Operation, a: Numeric, b: Numeric): Decimal128 {
  if (!finiteDecimal(a) || !finiteDecimal(b)) {
    const n = Number(combine(op, Number(primitiveNumber(a)), Number(primitiveNumber(b))));
    return Decimal128.fromString(String(n));
  }
  const [x, y] = [exactNumber(a), exactNumber(b)];
  if (op === "multiply") return decimalOf(x.digits * y.digits, x.exponent + y.exponent);
  const low = Math.min(x.exponent, y.exponent);
  const at = (e: { digits: bigint; exponent: number }): bigint => e.digits * 10n ** BigInt(e.exponent - low);
  return decimalOf(op === "add" ? at(x) + at(y) : at(x) - at(y), low);
}

function decimalOf(digits: bigint, exponent: number): Decimal128 {
  return Decimal128.fromStringWithRounding(`${digits}E${exponent}`);
}

/**
 * Adds, subtracts or multiplies with MongoDB's result types: int32 grows to int64, anything with a double is a double,
 * anything with a Decimal128 a Decimal128. Undefined when an integer result needs more than 64 bits.
 */
export function calculate(op: Operation, a: Numeric, b: Numeric): Value | undefined {
  if (a instanceof Decimal128 || b instanceof Decimal128) return combineDecimals(op, a, b);
  if (isDouble(a) || isDouble(b))
    return doubleValue(Number(combine(op, Number(primitiveNumber(a)), Number(primitiveNumber(b)))));
  const result = combine(op, BigInt(primitiveNumber(a)), BigInt(primitiveNumber(b)));
  const integer = integerValue(BigInt(result));
  // An int64 operand makes an int64 result, however small.
  return typeof integer === "number" && (a instanceof Long || b instanceof Long) ? Long.fromNumber(integer) : integer;
}

/** Divides: a double, or a Decimal128 when either is one. The divisor must not be zero. */
export function divide(a: Numeric, b: Numeric): Value {
  if ((a instanceof Decimal128 || b instanceof Decimal128) && finiteDecimal(a) && finiteDecimal(b)) {
    const [x, y] = [exactNumber(a), exactNumber(b)];
    return decimalOf((x.digits * 10n ** BigInt(DECIMAL_SCALE)) / y.digits, x.exponent - y.exponent - DECIMAL_SCALE);
  }
  return doubleValue(Number(primitiveNumber(a)) / Number(primitiveNumber(b)));
}
