import { Decimal128, Double, Long, Timestamp } from "bson";
import { calculate } from "../bson/arithmetic.ts";
import type { Operation } from "../bson/arithmetic.ts";
import { compareValues, identical } from "../bson/comparison.ts";
import { StoreError } from "../bson/errors.ts";
import { copyValue } from "../expressions/expression-values.ts";
import type { Scope } from "../expressions/expressions.ts";
import { addToSet, pop, pull, pullAll, push } from "./array-operators.ts";
import type { Target } from "./update-paths.ts";
import { asNumber, isDoc, isNumeric, typeAlias } from "../bson/values.ts";
import type { Value } from "../bson/values.ts";

/** What one operator does at one place; true when it changed something. */
export type Change = (target: Target) => boolean;

/** An update operator: checks its argument once, then changes any number of places. `creates`: missing parents are made. */
export interface UpdateOperator {
  creates: boolean;
  compile: (arg: Value, path: string, scope: Scope) => Change;
}

/** Writes unless the value is already there in the same type. */
export function assign(target: Target, v: Value): boolean {
  if (identical(target.get(), v)) return false;
  target.set(copyValue(v));
  return true;
}

function unset(): Change {
  return (target) => {
    if (target.get() === undefined) return false;
    target.remove();
    return true;
  };
}

function arithmetic(op: Operation, name: string): UpdateOperator["compile"] {
  const verb = op === "add" ? "increment" : "multiply";
  return (arg, path) => {
    if (!isNumeric(arg))
      throw new StoreError("TypeMismatch", `Cannot ${verb} with non-numeric argument: {${path}: ${typeAlias(arg)}}`);
    return (target) => {
      const old = target.get();
      if (old !== undefined && !isNumeric(old))
        throw new StoreError(
          "TypeMismatch",
          `Cannot apply ${name} to a value of non-numeric type. The field '${path}' has non-numeric type ${typeAlias(old)}`,
        );
      const result = old === undefined ? (op === "add" ? arg : zeroLike(arg)) : calculate(op, old, arg);
      if (result === undefined)
        throw new StoreError(
          "BadValue",
          `Failed to apply ${name} operations to current value of '${path}': the result needs more than 64 bits`,
        );
      return assign(target, result);
    };
  };
}

function zeroLike(arg: Value): Value {
  if (arg instanceof Decimal128) return Decimal128.fromString("0");
  if (arg instanceof Long) return Long.ZERO;
  return typeof arg === "number" && Number.isInteger(arg) ? 0 : new Double(0);
}

function extreme(sign: 1 | -1): UpdateOperator["compile"] {
  return (arg) => (target) => {
    const old = target.get();
    return old === undefined || compareValues(arg, old) * sign > 0 ? assign(target, arg) : false;
  };
}

function currentDate(arg: Value, path: string, scope: Scope): Change {
  const type = isDoc(arg) ? arg["$type"] : typeof arg === "boolean" ? "date" : undefined;
  if ((type !== "date" && type !== "timestamp") || (isDoc(arg) && Object.keys(arg).length > 1))
    throw new StoreError("BadValue", `$currentDate of '${path}' takes true, {$type: 'date'} or {$type: 'timestamp'}`);
  const seconds = Math.floor(scope.now.getTime() / 1000);
  return (target) => assign(target, type === "date" ? scope.now : new Timestamp({ t: seconds, i: 1 }));
}

function bit(arg: Value, path: string): Change {
  if (!isDoc(arg) || Object.keys(arg).length === 0)
    throw new StoreError(
      "BadValue",
      `The $bit modifier is not compatible with a ${typeAlias(arg)}. It takes {and|or|xor: integer}`,
    );
  const steps = Object.entries(arg).map(([op, v]): [string, Value] => {
    if (!["and", "or", "xor"].includes(op))
      throw new StoreError("BadValue", `The $bit modifier only supports 'and', 'or', and 'xor', not '${op}'`);
    if (!isInteger(v))
      throw new StoreError(
        "BadValue",
        `The $bit modifier field must be an Integer(32/64 bit); a '${typeAlias(v)}' is not supported here`,
      );
    return [op, v];
  });
  return (target) => {
    const old = target.get() === undefined ? 0 : (target.get() ?? null);
    if (!isInteger(old))
      throw new StoreError(
        "BadValue",
        `Cannot apply $bit to a value of non-integral type. The field '${path}' has type ${typeAlias(old)}`,
      );
    const wide = old instanceof Long || steps.some(([, v]) => v instanceof Long);
    const result = steps.reduce(
      (bits, [op, v]) => (op === "and" ? bits & big(v) : op === "or" ? bits | big(v) : bits ^ big(v)),
      big(old),
    );
    return assign(target, wide ? Long.fromBigInt(result) : Number(result));
  };
}

function isInteger(v: Value): boolean {
  return (v instanceof Long && !(v instanceof Timestamp)) || (typeof v === "number" && Number.isInteger(v));
}

function big(v: Value): bigint {
  return v instanceof Long ? v.toBigInt() : BigInt(asNumber(v) ?? 0);
}

const set: UpdateOperator["compile"] = (arg) => (target) => assign(target, arg);

/** MongoDB's update operators by name, all but $rename and $setOnInsert (see update.ts). */
export const UPDATE_OPERATORS: Readonly<Record<string, UpdateOperator>> = {
  $set: { creates: true, compile: set },
  $unset: { creates: false, compile: unset },
  $inc: { creates: true, compile: arithmetic("add", "$inc") },
  $mul: { creates: true, compile: arithmetic("multiply", "$mul") },
  $min: { creates: true, compile: extreme(-1) },
  $max: { creates: true, compile: extreme(1) },
  $currentDate: { creates: true, compile: currentDate },
  $bit: { creates: true, compile: bit },
  $push: { creates: true, compile: push },
  $addToSet: { creates: true, compile: addToSet },
  $pop: { creates: false, compile: pop },
  $pull: { creates: false, compile: pull },
  $pullAll: { creates: false, compile: pullAll },
};
