import type { Budget } from "../budget.ts";
import { StoreError } from "../bson/errors.ts";
import { field, setField } from "../bson/paths.ts";
import { isDoc, typeAlias } from "../bson/values.ts";
import type { Doc, Value } from "../bson/values.ts";
import { arrayOf } from "./array-operators.ts";
import { keyText } from "./expression-values.ts";
import { isNil, named, one, several, two } from "./operator.ts";
import type { Compiler, Operator, Values } from "./operator.ts";

const $objectToArray = one((v, name) => {
  if (isNil(v)) return null;
  if (!isDoc(v)) throw new StoreError(40390, `${name} requires a document input, found: ${typeAlias(v)}`);
  return Object.entries(v).map(([k, x]): Doc => ({ k, v: x }));
});

/** One element of $arrayToObject: [key, value] or {k, v}. */
function pairOf(item: Value): [string, Value] {
  if (Array.isArray(item)) {
    if (item.length !== 2)
      throw new StoreError(40397, "$arrayToObject requires an array of size 2 arrays, found array of another size");
    const [k, v = null] = item;
    if (typeof k !== "string")
      throw new StoreError(40395, `$arrayToObject requires keys of type string, found: ${typeAlias(k)}`);
    return [k, v];
  }
  if (!isDoc(item))
    throw new StoreError(40398, `Unrecognised input type format for $arrayToObject: ${typeAlias(item)}`);
  if (Object.keys(item).length !== 2)
    throw new StoreError(40392, "$arrayToObject requires an object keys of 'k' and 'v', found another number of keys");
  const [k, v] = [field(item, "k"), field(item, "v")];
  if (k === undefined || v === undefined)
    throw new StoreError(40393, "$arrayToObject requires an object with keys 'k' and 'v'");
  if (typeof k !== "string")
    throw new StoreError(40394, `$arrayToObject requires keys of type string, found: ${typeAlias(k)}`);
  return [k, v];
}

const $arrayToObject = one((v, name, budget) => {
  if (isNil(v)) return null;
  if (!Array.isArray(v)) throw new StoreError(40386, `${name} requires an array input, found: ${typeAlias(v)}`);
  budget.spend(v.length);
  const out: Doc = {};
  const first = v[0];
  for (const item of v) {
    if (Array.isArray(item) !== Array.isArray(first))
      throw new StoreError(Array.isArray(first) ? 40396 : 40391, `${name} requires a consistent input format`);
    const [k, x] = pairOf(item);
    if (k.includes("\0"))
      throw new StoreError(Array.isArray(item) ? 4940400 : 4940401, "Key field cannot contain an embedded null byte");
    setField(out, k, x);
  }
  return out;
});

const GET = { object: 3041701, unknown: 3041701, fields: { field: 3041702, input: 3041703 } };
const SET = { object: 4161100, unknown: 4161101, fields: { field: 4161102, value: 4161103, input: 4161109 } };
const UNSET = { object: 4161100, unknown: 4161101, fields: { field: 4161102, input: 4161109 } };

/** The name of a field, which is a constant. */
function fieldName(v: Value, at: Compiler, name: string): string {
  at.compile(v);
  const quoted = isDoc(v) && v["$literal"] !== undefined;
  const constant = quoted ? v["$literal"] : v;
  if (!quoted && typeof v === "string" && v.startsWith("$"))
    throw new StoreError(4161108, `${name} requires 'field' to be a constant, not a field path: use $literal`);
  if (!quoted && (Array.isArray(v) || (isDoc(v) && (Object.keys(v)[0] ?? "").startsWith("$"))))
    throw new StoreError(4161106, `${name} requires 'field' to evaluate to a constant`);
  if (typeof constant !== "string")
    throw new StoreError(
      4161107,
      `${name} requires 'field' to evaluate to type String, but got ${typeAlias(constant)}`,
    );
  if (constant.includes("\0")) throw new StoreError(9534700, "a field name may not contain a null byte");
  return constant;
}

const $getField: Operator = (arg, at, name) => {
  const short = !isDoc(arg) || (Object.keys(arg)[0] ?? "").startsWith("$");
  const args = named(short ? { field: arg, input: "$$CURRENT" } : arg, name, GET);
  const [which, input] = [at.compile(args["field"] ?? null), at.compile(args["input"] ?? null)];
  return (env) => {
    const key = which(env);
    if (typeof key !== "string")
      throw new StoreError(3041704, `${name} requires 'field' to evaluate to type String, but got ${typeAlias(key)}`);
    const v = input(env);
    return isDoc(v) ? field(v, key) : isNil(v) ? (v === null ? null : undefined) : undefined;
  };
};

function settingField(arg: Value, at: Compiler, name: string): ReturnType<Operator> {
  const args = named(arg, name, name === "$setField" ? SET : UNSET);
  const key = fieldName(args["field"] ?? null, at, name);
  const [input, value] = [
    at.compile(args["input"] ?? null),
    at.compile(args["value"] === undefined ? "$$REMOVE" : args["value"]),
  ];
  return (env) => {
    const v = input(env);
    if (isNil(v)) return null;
    if (!isDoc(v)) throw new StoreError(4161105, `${name} requires 'input' to evaluate to type Object`);
    const out = { ...v };
    const made = value(env);
    if (made === undefined) Reflect.deleteProperty(out, key);
    else setField(out, key, made);
    return out;
  };
}

function distinct(values: readonly Value[], budget: Budget): Map<string, Value> {
  const found = new Map<string, Value>();
  for (const v of values) {
    const key = keyText(v, budget);
    if (!found.has(key)) found.set(key, v);
  }
  return found;
}

/** The operands of an operator on sets, null when one of them is null or missing. Errors: `code` for what comes before it and is no array. */
function operands(values: Values, code: number, name: string): Value[][] | null {
  const lists: Value[][] = [];
  for (const v of values) {
    const list = arrayOf(v, code, name);
    if (list === null) return null;
    lists.push(list);
  }
  return lists;
}

const $setUnion = several(0, Infinity, (values, budget, name) => {
  const lists = operands(values, 17043, name);
  return lists === null ? null : [...distinct(lists.flat(), budget).values()];
});

const $setIntersection = several(0, Infinity, (values, budget, name) => {
  const lists = operands(values, 17047, name);
  if (lists === null) return null;
  const rest = lists.slice(1).map((l) => distinct(l, budget));
  return [...distinct(lists[0] ?? [], budget)].filter(([k]) => rest.every((r) => r.has(k))).map(([, v]) => v);
});

const $setDifference = two((a, b, name, budget) => {
  const from = arrayOf(a, 17048, name);
  const without = from === null ? null : arrayOf(b, 17049, name);
  if (from === null || without === null) return null;
  const gone = distinct(without, budget);
  return [...distinct(from, budget)].filter(([k]) => !gone.has(k)).map(([, v]) => v);
});

function set(v: Value | undefined, code: number, name: string, budget: Budget): Map<string, Value> {
  if (!Array.isArray(v)) throw new StoreError(code, `All operands of ${name} must be arrays, not ${typeAlias(v)}`);
  return distinct(v, budget);
}

const $setEquals: Operator = (arg, at, name) => {
  if (!Array.isArray(arg) || arg.length < 2) throw new StoreError(17045, `${name} needs at least two arguments`);
  return several(2, Infinity, (values, budget) => {
    const [first = new Map<string, Value>(), ...rest] = values.map((v) => set(v, 5887502, name, budget));
    return rest.every((r) => r.size === first.size && [...r.keys()].every((k) => first.has(k)));
  })(arg, at, name);
};

const $setIsSubset = two((a, b, name, budget) => {
  const [part, all] = [set(a, 17046, name, budget), set(b, 17042, name, budget)];
  return [...part.keys()].every((k) => all.has(k));
});

/** Documents, and arrays as sets. */
export const OBJECTS: Readonly<Record<string, Operator>> = {
  $objectToArray,
  $arrayToObject,
  $getField,
  $setField: settingField,
  $unsetField: settingField,
  $setUnion,
  $setIntersection,
  $setDifference,
  $setEquals,
  $setIsSubset,
};
