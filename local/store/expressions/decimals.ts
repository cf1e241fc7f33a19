import { Decimal128, Double, Long } from "bson";
import { calculate } from "../bson/arithmetic.ts";
import type { Numeric, Operation } from "../bson/arithmetic.ts";
import { exactNumber, isFiniteNumber, primitiveNumber } from "../bson/comparison.ts";
import { asNumber, doubleValue, integerValue, isNumeric } from "../bson/values.ts";
import type { Value } from "../bson/values.ts";

/** Digits that a double gets as a decimal, as MongoDB gives it. */
const DOUBLE_DIGITS = 15;
/** Digits of a Decimal128. */
const DECIMAL_DIGITS = 34;
const LEAST_EXPONENT = -6176;
const MOST_EXPONENT = 6111;

/** What becomes of the part that is cut off: the nearest (ties to the even neighbour), toward zero, down or up. */
export type Rounding = "nearest" | "zero" | "down" | "up";

/** A number as a Decimal128: a double with 15 digits, anything else exactly. */
export function asDecimal(v: Numeric): Decimal128 {
  if (v instanceof Decimal128) return v;
  if (v instanceof Long || (typeof v === "number" && Number.isInteger(v))) return Decimal128.fromString(v.toString());
  const n = Number(primitiveNumber(v));
  return Decimal128.fromString(Number.isFinite(n) ? n.toExponential(DOUBLE_DIGITS - 1) : String(n));
}

/** True when a number is a double. */
export function isDouble(v: Numeric): boolean {
  return v instanceof Double || (typeof v === "number" && !Number.isInteger(v));
}

const aligned = (e: { digits: bigint; exponent: number }, low: number): bigint =>
  e.digits * 10n ** BigInt(e.exponent - low);

const isNegative = (v: Decimal128): boolean => v.toString().startsWith("-");

/** Adds, subtracts, multiplies two decimals, or takes the remainder of their division (the divisor is not zero). */
export function combinedDecimals(op: Operation | "mod", a: Decimal128, b: Decimal128): Decimal128 {
  if (!isFiniteNumber(a) || !isFiniteNumber(b)) {
    const [m, n] = [Number(a.toString()), Number(b.toString())];
    if (op === "mod" && Number.isFinite(m) && !Number.isNaN(n)) return a;
    return Decimal128.fromString(
      String(op === "add" ? m + n : op === "subtract" ? m - n : op === "mod" ? Number.NaN : m * n),
    );
  }
  const [x, y] = [exactNumber(a), exactNumber(b)];
  if (op === "multiply")
    return decimalOf(x.digits * y.digits, x.exponent + y.exponent, isNegative(a) !== isNegative(b));
  const low = Math.min(x.exponent, y.exponent);
  const [m, n] = [aligned(x, low), aligned(y, low)];
  if (op === "mod") return decimalOf(m % n, low, isNegative(a));
  return decimalOf(op === "add" ? m + n : m - n, low);
}

/** Adds, subtracts or multiplies; integers that need more than 64 bits become a double. */
export function combined(op: Operation, a: Numeric, b: Numeric): Numeric {
  if (a instanceof Decimal128 || b instanceof Decimal128) return combinedDecimals(op, asDecimal(a), asDecimal(b));
  const exact = calculate(op, a, b);
  if (isNumeric(exact)) return exact;
  const [x, y] = [asNumber(a) ?? 0, asNumber(b) ?? 0];
  return doubleValue(op === "add" ? x + y : op === "subtract" ? x - y : x * y);
}

/** The quotient of two decimals; the divisor is not zero. */
export function divideDecimals(a: Decimal128, b: Decimal128): Decimal128 {
  if (!isFiniteNumber(a) || !isFiniteNumber(b))
    return Decimal128.fromString(String(Number(a.toString()) / Number(b.toString())));
  const [x, y] = [exactNumber(a), exactNumber(b)];
  if (x.digits === 0n) return decimalOf(0n, x.exponent - y.exponent, isNegative(a) !== isNegative(b));
  const scale = Math.max(0, DECIMAL_DIGITS + 2 + y.digits.toString().length - x.digits.toString().length);
  const scaled = x.digits * 10n ** BigInt(scale);
  let digits = scaled / y.digits;
  const ideal = x.exponent - y.exponent;
  let exponent = ideal - scale;
  if (digits * y.digits === scaled) {
    // Exact: without zeros at the end, as far as the operands' own exponents allow.
    for (; exponent < ideal && digits % 10n === 0n; exponent++) digits /= 10n;
  } else {
    // A last digit that says there was more, so that a tie is told from what lies just above it.
    digits = digits * 10n + (digits < 0n ? -1n : 1n);
    exponent--;
  }
  return decimalOf(digits, exponent);
}

/** A number as the decimal it is exactly, as far as 34 digits go. */
export function exactDecimal(v: Numeric): Decimal128 {
  if (v instanceof Decimal128 || !isFiniteNumber(v)) return asDecimal(v);
  const { digits, exponent } = exactNumber(v);
  return decimalOf(digits, exponent);
}

/** A decimal of these digits: rounded to what fits, an infinity when it is too great. */
export function decimalOf(digits: bigint, exponent: number, negativeZero = false): Decimal128 {
  const length = digits.toString().replace("-", "").length;
  const cut = Math.max(0, length - DECIMAL_DIGITS, LEAST_EXPONENT - exponent);
  const made = cut > length + 1 ? 0n : roundedDigits(digits, cut, "nearest");
  const power = exponent + cut;
  if (made !== 0n && power > MOST_EXPONENT && power - MOST_EXPONENT > DECIMAL_DIGITS - length)
    return Decimal128.fromString(digits < 0n ? "-Infinity" : "Infinity");
  if (made === 0n) {
    const zeroAt = Math.min(MOST_EXPONENT, Math.max(LEAST_EXPONENT, power));
    return Decimal128.fromString(`${negativeZero || digits < 0n ? "-0" : "0"}E${zeroAt}`);
  }
  return Decimal128.fromStringWithRounding(`${made}E${power}`);
}

function roundedDigits(digits: bigint, cut: number, rounding: Rounding): bigint {
  const unit = 10n ** BigInt(cut);
  const whole = digits / unit;
  const rest = digits % unit;
  if (rest === 0n) return whole;
  const away = digits < 0n ? -1n : 1n;
  if (rounding === "zero") return whole;
  if (rounding === "down") return digits < 0n ? whole - 1n : whole;
  if (rounding === "up") return digits > 0n ? whole + 1n : whole;
  const twice = rest * 2n * away;
  return twice > unit || (twice === unit && whole % 2n !== 0n) ? whole + away : whole;
}

/** A finite number rounded to `place` digits after the point (before it when negative), of the same type; an int32 may become an int64, undefined when not even that is enough. */
export function rounded(v: Numeric, place: number, rounding: Rounding): Value | undefined {
  const { digits, exponent } = exactNumber(v);
  const cut = -place - exponent;
  if (cut <= 0 && !(v instanceof Decimal128)) return v;
  if (v instanceof Decimal128) {
    const target = Math.max(-place, LEAST_EXPONENT);
    if (cut > 0) return decimalOf(roundedDigits(digits, cut, rounding), target, isNegative(v));
    const widened = digits * 10n ** BigInt(Math.min(-cut, DECIMAL_DIGITS));
    return widened.toString().replace("-", "").length > DECIMAL_DIGITS || -cut > DECIMAL_DIGITS
      ? v
      : decimalOf(widened, target, isNegative(v));
  }
  const made = roundedDigits(digits, cut, rounding);
  if (isDouble(v)) {
    const n = Number(`${made}E${-place}`);
    return doubleValue(n === 0 && (asNumber(v) ?? 0) < 0 ? -0 : n);
  }
  const whole = integerValue(made * 10n ** BigInt(-place));
  return typeof whole === "number" && v instanceof Long ? Long.fromNumber(whole) : whole;
}
