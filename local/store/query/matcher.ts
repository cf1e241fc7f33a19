import { BSONRegExp, BSONSymbol } from "bson";
import { compareValues, identical, sameValue } from "../bson/comparison.ts";
import { StoreError } from "../bson/errors.ts";
import { compileExpression } from "../expressions/expressions.ts";
import type { Budget } from "../budget.ts";
import type { Scope } from "../expressions/expressions.ts";
import { leafTest, regexMatches, WHOLE_VALUE_OPERATORS } from "./matcher-operators.ts";
import type { LeafTest } from "./matcher-operators.ts";
import { visitPath } from "../bson/paths.ts";
import { checkRegexOptions, regexOf } from "../bson/regex.ts";
import { isDoc, isTrue } from "../bson/values.ts";
import type { Doc, Value } from "../bson/values.ts";

/** Tells whether a document satisfies a compiled filter. */
export type Predicate = (doc: Value) => boolean;

const always: Predicate = () => true;

/** True when a filter value is a document of operators ({$gt: 1}) and not a literal one. */
export function isOperatorDoc(v: Value | undefined): v is Doc {
  if (!isDoc(v)) return false;
  const first = Object.keys(v)[0];
  return first !== undefined && first.startsWith("$") && !(first === "$ref" || first === "$id" || first === "$db");
}

/** Compiles a filter in MongoDB's query language. Errors: BadValue for unknown operators or malformed arguments, FailedToParse. */
export function compileFilter(filter: Doc, scope: Scope): Predicate {
  return all(Object.entries(filter).map(([key, v]) => compileEntry(key, v, scope)));
}

function all(tests: Predicate[]): Predicate {
  const [first, second] = tests;
  if (first === undefined) return always;
  if (second === undefined) return first;
  return (doc) => tests.every((t) => t(doc));
}

function compileEntry(key: string, v: Value, scope: Scope): Predicate {
  if (!key.startsWith("$")) return compileField(key, v, scope);
  switch (key) {
    case "$and": {
      const list = clauses(key, v, scope);
      return (doc) => list.every((t) => t(doc));
    }
    case "$or": {
      const list = clauses(key, v, scope);
      return (doc) => list.some((t) => t(doc));
    }
    case "$nor": {
      const list = clauses(key, v, scope);
      return (doc) => !list.some((t) => t(doc));
    }
    case "$comment":
      return always;
    case "$expr": {
      const evaluate = compileExpression(v, scope);
      return (doc) => isTrue(evaluate(doc));
    }
    case "$jsonSchema":
    case "$where":
    case "$text":
      throw new StoreError("CommandNotSupported", `${key} is not supported by the embedded store`);
    default:
      throw new StoreError(
        "BadValue",
        `unknown top level operator: ${key}. If you have a field name that starts with a '$' symbol, consider using $getField or $setField.`,
      );
  }
}

function clauses(key: string, v: Value, scope: Scope): Predicate[] {
  if (!Array.isArray(v) || v.length === 0) throw new StoreError("BadValue", `${key} must be a nonempty array`);
  return v.map((item) => {
    if (!isDoc(item)) throw new StoreError("BadValue", `${key} argument's entries must be objects`);
    return compileFilter(item, scope);
  });
}

/** Compiles the condition on one field path. */
function compileField(path: string, condition: Value, scope: Scope): Predicate {
  const parts = path.split(".");
  if (!isOperatorDoc(condition)) {
    const test = condition instanceof BSONRegExp ? regexTest(condition, scope.budget) : equalTest(condition);
    return onPath(parts, test, false, scope.budget);
  }
  return all(compileOperators(parts, condition, scope));
}

function compileOperators(parts: string[], condition: Doc, scope: Scope): Predicate[] {
  const tests: Predicate[] = [];
  for (const [op, arg] of Object.entries(condition)) {
    if (op === "$options") {
      if (condition["$regex"] === undefined) throw new StoreError("BadValue", "$options needs a $regex");
      continue;
    }
    tests.push(compileOperator(parts, op, arg, condition, scope));
  }
  return tests;
}

function compileOperator(parts: string[], op: string, arg: Value, condition: Doc, scope: Scope): Predicate {
  switch (op) {
    case "$ne":
    case "$nin": {
      if (op === "$ne" && arg instanceof BSONRegExp)
        throw new StoreError("BadValue", "Can't have regex as arg to $ne.");
      const test = onPath(parts, leafTest(op === "$ne" ? "$eq" : "$in", arg, scope.budget), false, scope.budget);
      return (doc) => !test(doc);
    }
    case "$not": {
      const test = negated(parts, arg, scope);
      return (doc) => !test(doc);
    }
    case "$exists": {
      const test = onPath(parts, (v) => v !== undefined, true, scope.budget);
      return isTrue(arg) ? test : (doc) => !test(doc);
    }
    case "$elemMatch":
      return onPath(parts, elementMatch(arg, scope), true, scope.budget);
    case "$all":
      return allTest(parts, arg, scope);
    case "$regex":
      return onPath(parts, regexTest(regexArgument(arg, condition["$options"]), scope.budget), false, scope.budget);
    default:
      return onPath(parts, leafTest(op, arg, scope.budget), WHOLE_VALUE_OPERATORS.has(op), scope.budget);
  }
}

function negated(parts: string[], arg: Value, scope: Scope): Predicate {
  if (arg instanceof BSONRegExp) return onPath(parts, regexTest(arg, scope.budget), false, scope.budget);
  if (!isOperatorDoc(arg)) throw new StoreError("BadValue", "$not needs a regex or a document");
  return all(compileOperators(parts, arg, scope));
}

/** A test on what a path leads to: on the value itself and, unless `wholeOnly`, on each element when it is an array. No path: on what is given, as it is. */
function onPath(parts: string[], leaf: LeafTest, wholeOnly: boolean, budget: Budget): Predicate {
  const test: LeafTest = (v) => {
    budget.spend();
    return leaf(v);
  };
  if (parts.length === 0) return test;
  const visit = wholeOnly
    ? test
    : (v: Value | undefined): boolean => (Array.isArray(v) ? test(v) || v.some((item) => test(item)) : test(v));
  return (doc) => visitPath(doc, parts, visit);
}

function equalTest(value: Value): LeafTest {
  if (typeof value === "string") return (v) => v === value || (typeof v === "object" && sameValue(v, value));
  return (v) => sameValue(v, value);
}

function regexArgument(arg: Value, options: Value | undefined): BSONRegExp {
  if (options !== undefined && typeof options !== "string")
    throw new StoreError("BadValue", "$options has to be a string");
  if (arg instanceof BSONRegExp) {
    if (options !== undefined && arg.options !== "")
      throw new StoreError(51075, "options set in both $regex and $options");
  } else if (typeof arg !== "string") throw new StoreError("BadValue", "$regex has to be a string");
  const pattern = typeof arg === "string" ? arg : arg.pattern;
  if (pattern.includes("\0")) throw new StoreError("BadValue", "a regular expression cannot contain a null byte");
  checkRegexOptions(options ?? "");
  return new BSONRegExp(pattern, options ?? (typeof arg === "string" ? "" : arg.options));
}

function regexTest(regex: BSONRegExp, budget: Budget): LeafTest {
  const compiled = regexOf(regex);
  return (v) =>
    typeof v === "string" || v instanceof BSONSymbol
      ? regexMatches(compiled, typeof v === "string" ? v : v.value, budget)
      : v instanceof BSONRegExp && sameValue(v, regex);
}

/** Compiles the argument of $elemMatch to a test of one array element; an array in an array is a document whose fields are its indexes. */
export function elementTest(arg: Doc, scope: Scope): LeafTest {
  const logical = ["$and", "$or", "$nor", "$expr"].includes(Object.keys(arg)[0] ?? "");
  if (isOperatorDoc(arg) && !logical) {
    const test = all(compileOperators([], arg, scope));
    return (v) => v !== undefined && test(v);
  }
  const test = compileFilter(arg, scope);
  return (v) => (isDoc(v) ? test(v) : Array.isArray(v) && test(Object.fromEntries(v.entries())));
}

function elementMatch(arg: Value, scope: Scope): LeafTest {
  if (!isDoc(arg)) throw new StoreError("BadValue", "$elemMatch needs an Object");
  const test = elementTest(arg, scope);
  return (v) => Array.isArray(v) && v.some((item) => test(item));
}

function allTest(parts: string[], arg: Value, scope: Scope): Predicate {
  if (!Array.isArray(arg)) throw new StoreError("BadValue", "$all needs an array");
  if (arg.length === 0) return () => false;
  const inside = arg.filter((item) => isDoc(item) && Object.keys(item)[0] === "$elemMatch");
  if (inside.length > 0 && inside.length < arg.length)
    throw new StoreError("BadValue", "$all takes either $elemMatch alone or values alone");
  const distinct = arg.toSorted(compareValues).filter((item, i, sorted) => i === 0 || !identical(item, sorted[i - 1]));
  return all(
    distinct.map((item) => {
      if (isDoc(item) && Object.keys(item)[0] === "$elemMatch")
        return onPath(parts, elementMatch(item["$elemMatch"] ?? null, scope), true, scope.budget);
      if (isOperatorDoc(item)) throw new StoreError("BadValue", "no $ expressions in $all");
      return onPath(
        parts,
        item instanceof BSONRegExp ? regexTest(item, scope.budget) : equalTest(item),
        false,
        scope.budget,
      );
    }),
  );
}
