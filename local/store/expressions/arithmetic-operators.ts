import { Decimal128, Long } from "bson";
import type { Numeric } from "../bson/arithmetic.ts";
import { isFiniteNumber, primitiveNumber } from "../bson/comparison.ts";
import { StoreError } from "../bson/errors.ts";
import { asNumber, doubleValue, integerValue, isNumeric, isTrue, typeAlias } from "../bson/values.ts";
import type { Value } from "../bson/values.ts";
import { asDecimal, combined, combinedDecimals, divideDecimals, isDouble, rounded } from "./decimals.ts";
import type { Rounding } from "./decimals.ts";
import { isNil, one, several, two } from "./operator.ts";
import type { Operator, Values } from "./operator.ts";
import { Total } from "./totals.ts";

/** MongoDB's bounds on the places of $round and $trunc. */
const MAX_INT64 = 2 ** 63;
const [LEAST_PLACE, MOST_PLACE] = [-20, 100];

function dateOf(ms: number): Date {
  const date = new Date(ms);
  if (Number.isNaN(date.getTime())) throw new StoreError("Overflow", "date overflow: beyond what a date here can hold");
  return date;
}

function milliseconds(v: Numeric): number {
  const n = asNumber(v) ?? 0;
  if (!Number.isFinite(n)) throw new StoreError("Overflow", "date overflow: no date is that far away");
  return Math.sign(n) * Math.round(Math.abs(n));
}

function sum(values: Values): Value {
  const total = new Total();
  let date: Date | undefined;
  for (const v of values) {
    if (isNil(v)) return null;
    if (v instanceof Date) {
      if (date !== undefined) throw new StoreError(16612, "only one date allowed in an $add expression");
      date = v;
    } else if (isNumeric(v)) total.add(v);
    else throw new StoreError("TypeMismatch", `$add only supports numeric or date types, not ${typeAlias(v)}`);
  }
  // Here a double becomes a decimal of 15 digits; in the accumulator $sum it becomes the decimal that it is exactly.
  const made = total.sum(asDecimal);
  return date === undefined ? made : dateOf(date.getTime() + milliseconds(made));
}

function difference(a: Value | undefined, b: Value | undefined): Value {
  if (isNil(a) || isNil(b)) return null;
  if (a instanceof Date && b instanceof Date) return Long.fromNumber(a.getTime() - b.getTime());
  if (a instanceof Date && isNumeric(b)) return dateOf(a.getTime() - milliseconds(b));
  if (isNumeric(a) && isNumeric(b)) return combined("subtract", a, b);
  throw new StoreError("TypeMismatch", `can't $subtract ${typeAlias(b)} from ${typeAlias(a)}`);
}

function product(values: Values): Value {
  let out: Numeric = 1;
  for (const v of values) {
    if (isNil(v)) return null;
    if (!isNumeric(v))
      throw new StoreError("TypeMismatch", `$multiply only supports numeric types, not ${typeAlias(v)}`);
    out = combined("multiply", out, v);
  }
  return out;
}

function quotient(a: Value | undefined, b: Value | undefined): Value {
  if (isNil(a) || isNil(b)) return null;
  if (!isNumeric(a) || !isNumeric(b))
    throw new StoreError(
      "TypeMismatch",
      `$divide only supports numeric types, not ${typeAlias(a)} and ${typeAlias(b)}`,
    );
  if (!isTrue(b)) throw new StoreError("BadValue", "can't $divide by zero");
  if (a instanceof Decimal128 || b instanceof Decimal128) return divideDecimals(asDecimal(a), asDecimal(b));
  return doubleValue(Number(primitiveNumber(a)) / Number(primitiveNumber(b)));
}

function remainder(a: Value | undefined, b: Value | undefined): Value {
  if (isNil(a) || isNil(b)) return null;
  if (!isNumeric(a) || !isNumeric(b))
    throw new StoreError(16611, `$mod only supports numeric types, not ${typeAlias(a)} and ${typeAlias(b)}`);
  const decimal = a instanceof Decimal128 || b instanceof Decimal128;
  if (!isTrue(b)) throw new StoreError(decimal ? 5733415 : 16610, "can't $mod by zero");
  if (decimal) return combinedDecimals("mod", asDecimal(a), asDecimal(b));
  if (isDouble(a) || isDouble(b)) return doubleValue(Number(primitiveNumber(a)) % Number(primitiveNumber(b)));
  const left = integerValue(BigInt(primitiveNumber(a)) % BigInt(primitiveNumber(b))) ?? 0;
  return typeof left === "number" && (a instanceof Long || b instanceof Long) ? Long.fromNumber(left) : left;
}

function numeric(v: Value, name: string, code: number): Numeric {
  if (!isNumeric(v)) throw new StoreError(code, `${name} only supports numeric types, not ${typeAlias(v)}`);
  return v;
}

const $abs = one((v, name) => {
  if (isNil(v)) return null;
  const n = numeric(v, name, 28765);
  if (n instanceof Decimal128) return n.toString().startsWith("-") ? Decimal128.fromString(n.toString().slice(1)) : n;
  if (isDouble(n)) return doubleValue(Math.abs(Number(primitiveNumber(n))));
  if (!(n instanceof Long)) return integerValue(BigInt(Math.abs(Number(primitiveNumber(n)))));
  if (n.equals(Long.MIN_VALUE)) throw new StoreError(28680, "can't take $abs of long long min");
  return n.isNegative() ? n.negate() : n;
});

function atPlace(v: Numeric, place: number, rounding: Rounding, name: string): Value {
  if (!isFiniteNumber(v)) return v;
  const made = rounded(v, place, rounding);
  if (made === undefined)
    throw new StoreError(51080, `invalid conversion from Decimal128 result in ${name}: more than 64 bits`);
  return made;
}

const whole = (rounding: Rounding, plain: (n: number) => number): Operator =>
  one((v, name) => {
    if (isNil(v)) return null;
    if (typeof v === "number") return Number.isInteger(v) ? v : doubleValue(plain(v));
    const made = atPlace(numeric(v, name, 28765), 0, rounding, name);
    // A decimal too great to be written without an exponent has no whole number here, nor has an infinity.
    return made instanceof Decimal128 && !/^-?\d+$/u.test(made.toString()) ? Decimal128.fromString("NaN") : made;
  });

const toPlace = (rounding: Rounding): Operator =>
  several(1, 2, (values, _budget, name) => {
    const [v, place] = values.length > 1 ? values : [values[0], 0];
    if (isNil(v) || isNil(place)) return null;
    const n = numeric(v, name, 51081);
    const digits = asNumber(place);
    if (digits === undefined) throw new StoreError(16004, `can't convert from BSON type ${typeAlias(place)} to long`);
    if (!Number.isFinite(digits) || Math.abs(digits) > MAX_INT64)
      throw new StoreError(31109, `Can't coerce out of range value ${digits} to long`);
    if (!Number.isInteger(digits))
      throw new StoreError(51082, `precision argument to  ${name} must be a integral value`);
    if (digits < LEAST_PLACE || digits > MOST_PLACE)
      throw new StoreError(51083, `cannot apply ${name} with precision value ${digits} value must be in [-20, 100]`);
    return atPlace(n, digits, rounding, name);
  });

/** Arithmetic, with BSON's number types as results. */
export const ARITHMETIC: Readonly<Record<string, Operator>> = {
  $add: several(0, Infinity, sum),
  $subtract: two(difference),
  $multiply: several(0, Infinity, product),
  $divide: two(quotient),
  $mod: two(remainder),
  $abs,
  $ceil: whole("up", Math.ceil),
  $floor: whole("down", Math.floor),
  $round: toPlace("nearest"),
  $trunc: toPlace("zero"),
};
