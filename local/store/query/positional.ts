import { BSONRegExp } from "bson";
import type { Scope } from "../expressions/expressions.ts";
import { compareStrings } from "../bson/comparison.ts";
import { compileFilter, elementTest, isOperatorDoc } from "./matcher.ts";
import { visitPath } from "../bson/paths.ts";
import { isDoc } from "../bson/values.ts";
import type { Doc, Value } from "../bson/values.ts";

/** Finds the element of an array that a condition was met by; undefined when the condition says nothing of an element. */
type Finder = (items: Value[], doc: Doc) => number | undefined;

/** What MongoDB's matcher runs last tells the element: conditions in the order of their kinds. */
const ORDER = ["$or", "$elemMatch", "$eq", "$lte", "$lt", "$gt", "$gte", "$regex", "$mod", "$in", "$type", "$bits"];
/** Conditions that hold of the array as a whole, or of no element. */
const OF_NO_ELEMENT = new Set(["$ne", "$nin", "$not", "$exists", "$size", "$options"]);

interface Condition {
  order: number;
  key: string;
  find: Finder;
}

function orderOf(op: string): number {
  return ORDER.findIndex((name) => op.startsWith(name) && (name === "$bits" || name === op));
}

function first(test: (v: Value) => boolean): Finder {
  return (items) => {
    const index = items.findIndex((item) => test(item));
    return index === -1 ? undefined : index;
  };
}

function lastOf(conditions: Condition[]): Finder {
  const finders = conditions
    .toSorted((a, b) => a.order - b.order || compareStrings(a.key, b.key))
    .map((c) => c.find)
    .reverse();
  return (items, doc) => {
    for (const find of finders) {
      const index = find(items, doc);
      if (index !== undefined) return index;
    }
    return undefined;
  };
}

/** Of $or, the first clause that the document meets. */
function anyOf(clauses: Doc[], path: string, scope: Scope): Finder {
  const all = clauses.map((clause) => ({
    met: compileFilter(clause, scope),
    find: lastOf(conditionsOf(clause, path, scope)),
  }));
  return (items, doc) => all.find((clause) => clause.met(doc))?.find(items, doc);
}

function operatorsOf(condition: Value): [string, Doc][] {
  if (!isOperatorDoc(condition)) return [["$eq", { [condition instanceof BSONRegExp ? "$regex" : "$eq"]: condition }]];
  return Object.entries(condition)
    .filter(([op]) => !OF_NO_ELEMENT.has(op))
    .map(([op, arg]) => {
      const options = op === "$regex" ? condition["$options"] : undefined;
      return [op, options === undefined ? { [op]: arg } : { [op]: arg, $options: options }];
    });
}

function onElement(key: string, op: string, condition: Doc, scope: Scope): Condition[] {
  const arg = condition[op];
  if (op === "$elemMatch" && isDoc(arg)) return [{ key, order: orderOf(op), find: first(elementTest(arg, scope)) }];
  if (op === "$all" && Array.isArray(arg))
    return arg.flatMap((item) => operatorsOf(item).flatMap(([name, one]) => onElement(key, name, one, scope)));
  return [{ key, order: orderOf(op), find: first(elementTest(condition, scope)) }];
}

function conditionsOf(filter: Doc, path: string, scope: Scope): Condition[] {
  return Object.entries(filter).flatMap(([key, condition]): Condition[] => {
    if ((key === "$and" || key === "$or") && Array.isArray(condition)) {
      const clauses = condition.filter(isDoc);
      if (key === "$and") return clauses.flatMap((clause) => conditionsOf(clause, path, scope));
      return [{ key, order: orderOf(key), find: anyOf(clauses, path, scope) }];
    }
    if (key === path) return operatorsOf(condition).flatMap(([op, one]) => onElement(key, op, one, scope));
    if (!key.startsWith(`${path}.`)) return [];
    return operatorsOf(condition).map(([op, one]) => {
      const test = compileFilter({ [key.slice(path.length + 1)]: one }, scope);
      return { key, order: orderOf(op), find: first((v) => isDoc(v) && test(v)) };
    });
  });
}

/**
 * Compiles a filter to what the positional operator `$` asks of it: the index of the element of the array at `path` that met it;
 * undefined when no condition was met by a single element (none is on the array, or only negated ones).
 */
export function positionalOf(filter: Doc, path: string, scope: Scope): (doc: Doc) => number | undefined {
  const find = lastOf(conditionsOf(filter, path, scope));
  const parts = path.split(".");
  return (doc) => {
    let index: number | undefined;
    visitPath(doc, parts, (v) => {
      if (Array.isArray(v)) index = find(v, doc);
      return Array.isArray(v);
    });
    return index;
  };
}
