import { Decimal128, Double, Long, ObjectId, Timestamp } from "bson";
import { evalExpr } from "mingo/core";
import type { Options } from "mingo/types";
import { StoreError } from "../bson/errors.ts";
import { promote } from "./expression-values.ts";
import type { ExpressionOperator } from "./mingo-core.ts";
import { asNumber, doubleValue, integerValue, isNumeric, typeAlias } from "../bson/values.ts";
import type { Value } from "../bson/values.ts";

/** The values of an operator's arguments, one or a list. */
export function argumentsOf(obj: unknown, expr: unknown, options: Options): (Value | undefined)[] {
  const list: unknown = evalExpr(obj, Array.isArray(expr) ? expr : [expr], options);
  return Array.isArray(list) ? list.map((v) => promote(v)) : [promote(list)];
}

/** The value of the one argument. */
export function onlyArgument(obj: unknown, expr: unknown, options: Options): Value | undefined {
  return argumentsOf(obj, expr, options)[0];
}

function converting(name: string, convert: (v: Value) => unknown): ExpressionOperator {
  return (obj, expr, options) => {
    const v = onlyArgument(obj, expr, options);
    if (v === undefined || v === null) return null;
    const out = convert(v);
    if (out === undefined)
      throw new StoreError(241, `Failed to convert ${typeAlias(v)} in ${name} with no onError value`);
    return out;
  };
}

function toInteger(v: Value): bigint | undefined {
  if (v instanceof Timestamp) return undefined;
  if (v instanceof Long) return v.toBigInt();
  if (v instanceof Date) return BigInt(v.getTime());
  if (typeof v === "boolean") return v ? 1n : 0n;
  if (typeof v === "string") return /^[+-]?\d+$/u.test(v) ? BigInt(v) : undefined;
  const n = asNumber(v);
  return n === undefined || !Number.isFinite(n) ? undefined : BigInt(Math.trunc(n));
}

function toNumber(v: Value): number | undefined {
  if (typeof v === "boolean") return Number(v);
  if (v instanceof Date) return v.getTime();
  if (typeof v === "string") return v.trim() === "" || Number.isNaN(Number(v)) ? undefined : Number(v);
  return asNumber(v);
}

function toText(v: Value): string | undefined {
  if (v instanceof Date) return v.toISOString();
  if (v instanceof ObjectId) return v.toHexString();
  if (isNumeric(v)) return v instanceof Double ? String(v.value) : v.toString();
  return typeof v === "string" || typeof v === "boolean" ? String(v) : undefined;
}

function toLong(v: Value): Long | undefined {
  const n = toInteger(v);
  return n === undefined || integerValue(n) === undefined ? undefined : Long.fromBigInt(n);
}

/** $toInt, $toLong, $toDouble, $toDecimal, $toString, $toObjectId: with BSON's number types as results. */
export const CONVERSIONS: Record<string, ExpressionOperator> = {
  $toLong: converting("$toLong", toLong),
  $toInt: converting("$toInt", (v) => {
    const n = toInteger(v);
    const i = n === undefined ? undefined : integerValue(n);
    return typeof i === "number" ? i : undefined;
  }),
  $toDouble: converting("$toDouble", (v) => {
    const n = toNumber(v);
    return n === undefined ? undefined : doubleValue(n);
  }),
  $toDecimal: converting("$toDecimal", (v) => {
    const n =
      v instanceof Decimal128
        ? v.toString()
        : typeof v === "string"
          ? v
          : toInteger(v)?.toString() === toNumber(v)?.toString()
            ? toInteger(v)?.toString()
            : toNumber(v)?.toString();
    return n === undefined ? undefined : Decimal128.fromString(n);
  }),
  $toString: converting("$toString", toText),
  $toObjectId: converting("$toObjectId", (v) =>
    v instanceof ObjectId ? v : typeof v === "string" && /^[0-9a-f]{24}$/iu.test(v) ? new ObjectId(v) : undefined,
  ),
};
