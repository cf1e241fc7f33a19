import { Long } from "bson";
import { evalExpr } from "mingo/core";
import type { Options } from "mingo/types";
import { calculate, divide } from "../bson/arithmetic.ts";
import type { Operation } from "../bson/arithmetic.ts";
import { compareValues, sameValue } from "../bson/comparison.ts";
import { StoreError } from "../bson/errors.ts";
import { ARRAY_OPERATORS } from "./array-expressions.ts";
import { demote, demoteDeep } from "./expression-values.ts";
import { argumentsOf as args, CONVERSIONS, onlyArgument as only } from "./conversion-expressions.ts";
import { evaluator, MINGO_EXPRESSIONS, PLAIN_CONTEXT } from "./mingo-core.ts";
import type { ExpressionOperator } from "./mingo-core.ts";
import { asNumber, doubleValue, isNumeric, isTrue, typeAlias } from "../bson/values.ts";
import type { Value } from "../bson/values.ts";

/*
 * mingo knows JavaScript's values only. Here: operators that must see BSON types (order, arithmetic, conversions, truth),
 * and a wrapper that lets mingo's other operators have plain numbers while documents keep theirs.
 */

const plain = evaluator(PLAIN_CONTEXT, {});

function two(op: string, obj: unknown, expr: unknown, options: Options): [Value | undefined, Value | undefined] {
  const list = args(obj, expr, options);
  if (list.length !== 2)
    throw new StoreError(16020, `Expression ${op} takes exactly 2 arguments. ${list.length} were passed in.`);
  return [list[0], list[1]];
}

function rank(v: Value | undefined): number {
  return v === undefined ? 0 : 1;
}

/** In expressions a missing field is below null, unlike in filters. */
function order(a: Value | undefined, b: Value | undefined): number {
  return a === undefined || b === undefined ? rank(a) - rank(b) || 0 : compareValues(a, b);
}

function comparing(op: string, wanted: (c: number) => boolean): ExpressionOperator {
  return (obj, expr, options) => wanted(order(...two(op, obj, expr, options)));
}

function arithmetic(op: Operation, name: string): ExpressionOperator {
  return (obj, expr, options) => {
    const list = op === "subtract" ? two(name, obj, expr, options) : args(obj, expr, options);
    let total: Value | undefined;
    for (const v of list) {
      if (v === undefined || v === null) return null;
      total = total === undefined ? operand(name, op, v) : combineTwo(name, op, total, v);
    }
    return total ?? (op === "multiply" ? 1 : 0);
  };
}

function operand(name: string, op: Operation, v: Value): Value {
  if (isNumeric(v) || (v instanceof Date && op !== "multiply")) return v;
  throw new StoreError("TypeMismatch", `${name} only supports numeric or date types, not ${typeAlias(v)}`);
}

function combineTwo(name: string, op: Operation, a: Value, b: Value): Value {
  operand(name, op, b);
  if (a instanceof Date || b instanceof Date) return combineDates(name, op, a, b);
  if (!isNumeric(a) || !isNumeric(b)) throw new StoreError("TypeMismatch", `${name} only supports numeric types`);
  const total = calculate(op, a, b);
  if (total !== undefined) return total;
  const [x, y] = [asNumber(a) ?? 0, asNumber(b) ?? 0];
  return doubleValue(op === "add" ? x + y : op === "subtract" ? x - y : x * y);
}

function combineDates(name: string, op: Operation, a: Value, b: Value): Value {
  if (a instanceof Date && b instanceof Date) {
    if (op === "add") throw new StoreError(16612, "only one date allowed in an $add expression");
    return Long.fromNumber(a.getTime() - b.getTime());
  }
  if (!(a instanceof Date) && op === "subtract")
    throw new StoreError("TypeMismatch", "can't $subtract a date from a number");
  const [date, n] = a instanceof Date ? [a, asNumber(b)] : [b, asNumber(a)];
  if (!(date instanceof Date) || n === undefined)
    throw new StoreError("TypeMismatch", `${name} only supports numeric or date types`);
  return new Date(date.getTime() + (op === "subtract" ? -1 : 1) * Math.round(n));
}

const $divide: ExpressionOperator = (obj, expr, options) => {
  const [a, b] = two("$divide", obj, expr, options);
  if (a === undefined || a === null || b === undefined || b === null) return null;
  if (!isNumeric(a) || !isNumeric(b)) throw new StoreError("TypeMismatch", "$divide only supports numeric types");
  if (asNumber(b) === 0) throw new StoreError("BadValue", "can't $divide by zero");
  return divide(a, b);
};

/** Evaluates the argument, gives mingo's own operator plain numbers in place of BSON ones, at the top of it or all the way down. */
function withPlainNumbers(name: `$${string}`, deep: boolean): ExpressionOperator {
  const lower = deep ? demoteDeep : demote;
  const literal = (v: unknown): unknown => (v === undefined ? null : { $literal: lower(v) });
  return (obj, expr, options) => {
    const value: unknown = evalExpr(obj, expr, options);
    if (Array.isArray(value) && Array.isArray(expr)) return plain({}, { [name]: value.map(literal) });
    if (
      typeof value === "object" &&
      value !== null &&
      Object.getPrototypeOf(value) === Object.prototype &&
      !Array.isArray(expr)
    ) {
      const fields = Object.entries(value)
        .filter(([, v]) => v !== undefined)
        .map(([k, v]) => [k, literal(v)]);
      return plain({}, { [name]: Object.fromEntries(fields) });
    }
    return plain({}, { [name]: literal(value) });
  };
}

const PLAIN_AT_THE_TOP: `$${string}`[] = [
  "$abs",
  "$ceil",
  "$exp",
  "$floor",
  "$ln",
  "$log",
  "$log10",
  "$mod",
  "$pow",
  "$round",
  "$sqrt",
  "$trunc",
  "$sigmoid",
  "$acos",
  "$acosh",
  "$asin",
  "$asinh",
  "$atan",
  "$atan2",
  "$atanh",
  "$cos",
  "$cosh",
  "$degreesToRadians",
  "$radiansToDegrees",
  "$sin",
  "$sinh",
  "$tan",
  "$tanh",
  "$bitAnd",
  "$bitNot",
  "$bitOr",
  "$bitXor",
  "$range",
  "$substr",
  "$substrBytes",
  "$substrCP",
  "$indexOfBytes",
  "$indexOfCP",
  "$dateAdd",
  "$dateSubtract",
  "$dateDiff",
  "$dateTrunc",
  "$dateFromParts",
  "$dateToString",
  "$dateFromString",
  "$regexMatch",
  "$regexFind",
  "$regexFindAll",
  "$toDate",
  "$toBool",
  "$convert",
  "$strcasecmp",
];
const PLAIN_ALL_THE_WAY: `$${string}`[] = [
  "$setUnion",
  "$setIntersection",
  "$setDifference",
  "$setEquals",
  "$setIsSubset",
  "$anyElementTrue",
  "$allElementsTrue",
  "$median",
  "$percentile",
  "$maxN",
  "$minN",
  "$sortArray",
  "$indexOfArray",
];

const truth: Record<string, ExpressionOperator> = {
  $and: (obj, expr, options) => args(obj, expr, options).every(isTrue),
  $or: (obj, expr, options) => args(obj, expr, options).some(isTrue),
  $not: (obj, expr, options) => !isTrue(only(obj, expr, options)),
};

const own: Record<`$${string}`, ExpressionOperator> = {
  $eq: comparing("$eq", (c) => c === 0),
  $ne: comparing("$ne", (c) => c !== 0),
  $gt: comparing("$gt", (c) => c > 0),
  $gte: comparing("$gte", (c) => c >= 0),
  $lt: comparing("$lt", (c) => c < 0),
  $lte: comparing("$lte", (c) => c <= 0),
  $cmp: (obj, expr, options) => Math.sign(order(...two("$cmp", obj, expr, options))),
  $in: (obj, expr, options) => {
    const [v, list] = two("$in", obj, expr, options);
    if (!Array.isArray(list)) throw new StoreError(40081, "$in requires an array as a second argument");
    return list.some((item) => sameValue(item, v));
  },
  $add: arithmetic("add", "$add"),
  $subtract: arithmetic("subtract", "$subtract"),
  $multiply: arithmetic("multiply", "$multiply"),
  $divide,
  $type: (obj, expr, options) => typeAlias(only(obj, expr, options)),
  $isNumber: (obj, expr, options) => isNumeric(only(obj, expr, options)),
  $literal: (_obj, expr) => expr,
  ...truth,
  ...CONVERSIONS,
  ...ARRAY_OPERATORS,
};

/** The expression operators that replace mingo's. */
export const OWN_OPERATORS: Record<`$${string}`, ExpressionOperator> = {
  ...Object.fromEntries(
    PLAIN_AT_THE_TOP.filter((name) => MINGO_EXPRESSIONS.has(name)).map((name) => [name, withPlainNumbers(name, false)]),
  ),
  ...Object.fromEntries(
    PLAIN_ALL_THE_WAY.filter((name) => MINGO_EXPRESSIONS.has(name)).map((name) => [name, withPlainNumbers(name, true)]),
  ),
  ...own,
};
