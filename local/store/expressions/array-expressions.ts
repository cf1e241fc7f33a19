import { evalExpr } from "mingo/core";
import type { Options } from "mingo/types";
import { calculate, divide } from "../bson/arithmetic.ts";
import { compareValues } from "../bson/comparison.ts";
import { StoreError } from "../bson/errors.ts";
import { promote } from "./expression-values.ts";
import type { ExpressionOperator } from "./mingo-core.ts";
import { asNumber, doubleValue, isDoc, isNumeric, isTrue } from "../bson/values.ts";
import type { Value } from "../bson/values.ts";

/** A sum with BSON's result types; values that are no numbers are left out, as MongoDB does. */
export function sumOf(values: readonly (Value | undefined)[]): Value {
  let total: Value = 0;
  for (const v of values) {
    if (isNumeric(v) && isNumeric(total))
      total = calculate("add", total, v) ?? doubleValue((asNumber(total) ?? 0) + (asNumber(v) ?? 0));
  }
  return total;
}

/** The mean of the numbers among `values`, null when there is none. */
export function averageOf(values: readonly (Value | undefined)[]): Value {
  const numbers = values.filter(isNumeric);
  const total = sumOf(numbers);
  return numbers.length === 0 || !isNumeric(total) ? null : divide(total, numbers.length);
}

/** The greatest (`sign` 1) or least (-1) value in BSON order; null and missing do not count. */
export function extremeOf(values: readonly (Value | undefined)[], sign: 1 | -1): Value {
  let best: Value = null;
  for (const v of values) {
    if (v !== undefined && v !== null && (best === null || compareValues(v, best) * sign > 0)) best = v;
  }
  return best;
}

/** The standard deviation of the numbers among `values`, of a population or of a sample; null when there are too few. */
export function deviationOf(values: readonly (Value | undefined)[], sample: boolean): Value {
  const numbers = values.filter(isNumeric).map((v) => asNumber(v) ?? 0);
  const divisor = numbers.length - (sample ? 1 : 0);
  if (divisor < 1) return null;
  const mean = numbers.reduce((sum, n) => sum + n, 0) / numbers.length;
  return doubleValue(Math.sqrt(numbers.reduce((sum, n) => sum + (n - mean) ** 2, 0) / divisor));
}

function operands(obj: unknown, expr: unknown, options: Options): (Value | undefined)[] {
  const value: unknown = evalExpr(obj, expr, options);
  return Array.isArray(value) ? value.map((v) => promote(v)) : [promote(value)];
}

/** As expressions these take one array, or a list of operands. */
function overList(fold: (values: (Value | undefined)[]) => Value): ExpressionOperator {
  return (obj, expr, options) => {
    const values = operands(obj, expr, options);
    const [first] = values;
    return fold(Array.isArray(expr) && expr.length === 1 && Array.isArray(first) ? first : values);
  };
}

function list(op: string, v: Value | undefined): Value[] | null {
  if (v === undefined || v === null) return null;
  if (!Array.isArray(v)) throw new StoreError(28689, `${op}'s argument must be an array`);
  return v;
}

function integer(op: string, v: Value | undefined): number {
  const n = asNumber(v);
  if (n === undefined || !Number.isInteger(n)) throw new StoreError(28691, `${op} takes a whole number`);
  return n;
}

function element(items: Value[], index: number): Value | undefined {
  return items[index < 0 ? items.length + index : index];
}

function isNil(v: Value | undefined): v is null | undefined {
  return v === undefined || v === null;
}

const $arrayElemAt: ExpressionOperator = (obj, expr, options) => {
  const [array, index] = operands(obj, expr, options);
  const items = list("$arrayElemAt", array);
  return items === null || isNil(index) ? null : element(items, integer("$arrayElemAt", index));
};

function atEnd(op: string, index: 0 | -1): ExpressionOperator {
  return (obj, expr, options) => {
    const operand: unknown = Array.isArray(expr) && expr.length === 1 ? expr[0] : expr;
    const items = list(op, promote(evalExpr(obj, operand, options)));
    return items === null ? null : element(items, index);
  };
}

const $slice: ExpressionOperator = (obj, expr, options) => {
  const [array, second, third] = operands(obj, expr, options);
  const items = list("$slice", array);
  if (items === null || isNil(second)) return null;
  const n = integer("$slice", second);
  if (!Array.isArray(expr) || expr.length < 3) return n < 0 ? items.slice(n) : items.slice(0, n);
  if (isNil(third)) return null;
  const count = integer("$slice", third);
  if (count <= 0) throw new StoreError(28729, "Third argument to $slice must be positive");
  const start = n < 0 ? Math.max(0, items.length + n) : n;
  return items.slice(start, start + count);
};

const $cond: ExpressionOperator = (obj, expr, options) => {
  const value = expr;
  const [test, yes, no]: unknown[] = Array.isArray(value)
    ? value
    : typeof value === "object" && value !== null && "if" in value && "then" in value && "else" in value
      ? [value.if, value.then, value.else]
      : [];
  if (yes === undefined || no === undefined) throw new StoreError(17080, "$cond needs if, then and else");
  return evalExpr(obj, isTrue(promote(evalExpr(obj, test, options))) ? yes : no, options);
};

const $switch: ExpressionOperator = (obj, expr, options) => {
  const branches: unknown = typeof expr === "object" && expr !== null && "branches" in expr ? expr.branches : undefined;
  if (!Array.isArray(branches) || branches.length === 0)
    throw new StoreError(40068, "$switch requires at least one branch");
  for (const branch of branches) {
    if (!isDoc(branch)) throw new StoreError(40062, "$switch expects each branch to be an object");
    if (isTrue(promote(evalExpr(obj, branch["case"], options)))) return evalExpr(obj, branch["then"], options);
  }
  if (typeof expr !== "object" || expr === null || !("default" in expr))
    throw new StoreError(40066, "$switch could not find a matching branch, and no default was specified.");
  return evalExpr(obj, expr.default, options);
};

/** Array, selection and folding operators that must keep BSON types or MongoDB's rules for missing values. */
export const ARRAY_OPERATORS: Record<`$${string}`, ExpressionOperator> = {
  $arrayElemAt,
  $first: atEnd("$first", 0),
  $last: atEnd("$last", -1),
  $slice,
  $cond,
  $switch,
  $sum: overList(sumOf),
  $avg: overList(averageOf),
  $max: overList((v) => extremeOf(v, 1)),
  $min: overList((v) => extremeOf(v, -1)),
  $stdDevPop: overList((v) => deviationOf(v, false)),
  $stdDevSamp: overList((v) => deviationOf(v, true)),
};
