import { StoreError } from "../bson/errors.ts";
import { setField } from "../bson/paths.ts";
import { isDoc, isNumeric, isTrue, typeAlias } from "../bson/values.ts";
import type { Value } from "../bson/values.ts";
import { checkVariableName, order } from "./expression-values.ts";
import { isNil, listed, named, one, optional, two } from "./operator.ts";
import type { Evaluate, Names, Operator } from "./operator.ts";

const comparing = (wanted: (c: number) => boolean): Operator =>
  two((a, b, _name, budget) => wanted(order(a, b, budget)));

const $and: Operator = (arg, at) => {
  const list = (Array.isArray(arg) ? arg : [arg]).map((e) => at.compile(e));
  return (env) => list.every((e) => isTrue(e(env)));
};

const $or: Operator = (arg, at) => {
  const list = (Array.isArray(arg) ? arg : [arg]).map((e) => at.compile(e));
  return (env) => list.some((e) => isTrue(e(env)));
};

/** Codes of arguments by name; a list, since an object with a field `then` could be taken for a promise. */
const codes = (...fields: [string, number | null][]): Names["fields"] => Object.fromEntries(fields);

const COND = { object: 16020, unknown: 17083, fields: codes(["if", 17080], ["then", 17081], ["else", 17082]) };

const $cond: Operator = (arg, at, name) => {
  const parts = isDoc(arg) ? named(arg, name, COND) : {};
  const list = isDoc(arg)
    ? [parts["if"] ?? null, parts["then"] ?? null, parts["else"] ?? null]
    : listed(arg, name, 3, 3);
  const [test, yes, no] = list.map((e) => at.compile(e));
  return (env) => (isTrue(test?.(env)) ? yes?.(env) : no?.(env));
};

const $ifNull: Operator = (arg, at) => {
  if (!Array.isArray(arg) || arg.length < 2)
    throw new StoreError(1257300, `$ifNull needs at least two arguments, had: ${Array.isArray(arg) ? arg.length : 1}`);
  const list = arg.map((e) => at.compile(e));
  return (env) => {
    let v: Value | undefined;
    for (const e of list) {
      v = e(env);
      if (!isNil(v)) return v;
    }
    return v;
  };
};

const BRANCH = { object: 40062, unknown: 40063, fields: codes(["case", 40064], ["then", 40065]) };
const SWITCH = { object: 40060, unknown: 40067, fields: { branches: null, default: null } };

const $switch: Operator = (arg, at, name) => {
  const { branches = [], default: otherwise } = named(arg, name, SWITCH);
  if (!Array.isArray(branches))
    throw new StoreError(40061, `$switch expected an array for 'branches', found: ${typeAlias(branches)}`);
  const cases = branches.map((branch): [Evaluate, Evaluate] => {
    const { case: test = null, then = null } = named(branch, "$switch's branch", BRANCH);
    return [at.compile(test), at.compile(then)];
  });
  const last = optional(at, otherwise);
  if (cases.length === 0) throw new StoreError(40068, "$switch requires at least one branch.");
  return (env) => {
    for (const [test, then] of cases) if (isTrue(test(env))) return then(env);
    if (last === undefined)
      throw new StoreError(
        40066,
        "$switch could not find a matching branch for an input, and no default was specified.",
      );
    return last(env);
  };
};

const LET = { object: 16874, unknown: 16875, fields: { vars: 16876, in: 16877 } };

const $let: Operator = (arg, at, name) => {
  const { vars = null, in: body = null } = named(arg, name, LET);
  if (!isDoc(vars))
    throw new StoreError("FailedToParse", `invalid parameter: expected an object (vars), not ${typeAlias(vars)}`);
  const names = Object.keys(vars);
  for (const variable of names) checkVariableName(variable, true);
  const values = Object.values(vars).map((e) => at.compile(e));
  const { slots, evaluate } = at.loop(names, body);
  return (env) => {
    // All values first: none of them sees another variable of the same $let.
    const made = values.map((e) => e(env));
    for (const [i, v] of made.entries()) env.locals[slots[i] ?? 0] = v;
    return evaluate(env);
  };
};

const $mergeObjects: Operator = (arg, at) => {
  const parts = (Array.isArray(arg) ? arg : [arg]).map((e) => at.compile(e));
  return (env) => {
    const values = parts.map((p) => p(env));
    const [only] = values;
    return mergedDocs(values.length === 1 && Array.isArray(only) ? only : values);
  };
};

/** One document with the fields of all; null and missing are passed over. Errors: 40400 for anything else. */
export function mergedDocs(values: readonly (Value | undefined)[]): Value {
  const out = {};
  for (const v of values) {
    if (isNil(v)) continue;
    if (!isDoc(v))
      throw new StoreError(40400, `$mergeObjects requires object inputs, but input is of type ${typeAlias(v)}`);
    for (const [k, x] of Object.entries(v)) setField(out, k, x);
  }
  return out;
}

/** Comparison, truth, choice, variables, types. */
export const LOGIC: Readonly<Record<string, Operator>> = {
  $eq: comparing((c) => c === 0),
  $ne: comparing((c) => c !== 0),
  $gt: comparing((c) => c > 0),
  $gte: comparing((c) => c >= 0),
  $lt: comparing((c) => c < 0),
  $lte: comparing((c) => c <= 0),
  $cmp: two((a, b, _name, budget) => Math.sign(order(a, b, budget))),
  $and,
  $or,
  $not: one((v) => !isTrue(v)),
  $cond,
  $ifNull,
  $switch,
  $let,
  $literal: (arg) => () => arg,
  $type: one((v) => typeAlias(v)),
  $isNumber: one((v) => isNumeric(v)),
  $isArray: one((v) => Array.isArray(v)),
  $mergeObjects,
};
