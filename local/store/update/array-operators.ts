import { BSONRegExp } from "bson";
import { compareValues, sameValue } from "../bson/comparison.ts";
import { encodeKey } from "../indexes/key-encoder.ts";
import { StoreError } from "../bson/errors.ts";
import { copyValue } from "../expressions/expression-values.ts";
import type { Scope } from "../expressions/expressions.ts";
import { compileFilter, isOperatorDoc } from "../query/matcher.ts";
import { sortOrder } from "../query/sort.ts";
import type { Target } from "./update-paths.ts";
import { asNumber, isDoc, typeAlias } from "../bson/values.ts";
import type { Doc, Value } from "../bson/values.ts";

type Change = (target: Target) => boolean;

/** Equal for equal values: what makes long lists quick to compare. */
function keyOf(v: Value): string {
  return Buffer.from(encodeKey([v], [false])).toString("latin1");
}

function arrayAt(target: Target, op: string, path: string): Value[] | undefined {
  const v = target.get();
  if (v === undefined || Array.isArray(v)) return v;
  throw new StoreError(
    op === "$pop" ? "TypeMismatch" : "BadValue",
    `The field '${path}' must be an array but is of type ${typeAlias(v)} (${op})`,
  );
}

function eachOf(arg: Doc, op: string): Value[] {
  const each = arg["$each"];
  if (!Array.isArray(each))
    throw new StoreError(
      op === "$addToSet" ? "TypeMismatch" : "BadValue",
      `The argument to $each in ${op} must be an array but it was of type ${typeAlias(each)}`,
    );
  return each;
}

function wholeNumber(name: string, v: Value | undefined): number | undefined {
  if (v === undefined) return undefined;
  const n = asNumber(v);
  if (n === undefined || !Number.isInteger(n))
    throw new StoreError(
      "BadValue",
      `The value for ${name} must be an integer value but was given type: ${typeAlias(v)}`,
    );
  return n;
}

function pushOrder(v: Value | undefined): ((a: Value, b: Value) => number) | undefined {
  if (v === undefined) return undefined;
  const direction = asNumber(v);
  if (direction !== undefined) {
    if (direction !== 1 && direction !== -1)
      throw new StoreError("BadValue", "The $sort element value must be either 1 or -1");
    return (a, b) => compareValues(a, b) * direction;
  }
  if (
    !isDoc(v) ||
    Object.entries(v).some(([name, d]) => name.split(".").includes("") || ![1, -1].includes(asNumber(d) ?? 0)) ||
    Object.keys(v).length === 0
  )
    throw new StoreError(
      "BadValue",
      "The $sort is invalid: use 1/-1 to sort the whole element, or {field:1/-1} to sort embedded fields",
    );
  const compare = sortOrder(v);
  return (a, b) => compare(isDoc(a) ? a : {}, isDoc(b) ? b : {});
}

const PUSH_CLAUSES = new Set(["$each", "$slice", "$sort", "$position"]);

/** $push with $each, $position, $sort and $slice. */
export function push(arg: Value, path: string): Change {
  const modified = isDoc(arg) && Object.hasOwn(arg, "$each");
  const spec: Doc = modified ? arg : { $each: [arg] };
  for (const k of Object.keys(spec))
    if (!PUSH_CLAUSES.has(k)) throw new StoreError("BadValue", `Unrecognized clause in $push: ${k}`);
  const items = eachOf(spec, "$push");
  const position = wholeNumber("$position", spec["$position"]);
  const slice = wholeNumber("$slice", spec["$slice"]);
  const order = pushOrder(spec["$sort"]);
  return (target) => {
    const old = arrayAt(target, "$push", path);
    if (items.length === 0 && slice === undefined && order === undefined && old !== undefined) return false;
    let out = [...(old ?? [])];
    const at = position === undefined ? out.length : position < 0 ? Math.max(0, out.length + position) : position;
    out.splice(at, 0, ...copyValue(items));
    if (order !== undefined) out.sort(order);
    if (slice !== undefined) out = slice < 0 ? out.slice(slice) : out.slice(0, slice);
    target.set(out);
    return true;
  };
}

/** $addToSet with $each. */
export function addToSet(arg: Value, path: string): Change {
  const modified = isDoc(arg) && Object.hasOwn(arg, "$each");
  if (modified && Object.keys(arg).length > 1)
    throw new StoreError("BadValue", "Found unexpected fields after $each in $addToSet");
  const items = modified ? eachOf(arg, "$addToSet") : [arg];
  return (target) => {
    const old = arrayAt(target, "$addToSet", path);
    const out = [...(old ?? [])];
    const there = new Set(out.map(keyOf));
    for (const item of items) {
      const key = keyOf(item);
      if (there.has(key)) continue;
      there.add(key);
      out.push(copyValue(item));
    }
    if (old !== undefined && out.length === old.length) return false;
    target.set(out);
    return true;
  };
}

/** $pop: 1 takes the last element off, -1 the first. */
export function pop(arg: Value, path: string): Change {
  const end = asNumber(arg);
  if (end !== 1 && end !== -1) throw new StoreError("FailedToParse", "$pop expects 1 or -1");
  return (target) => {
    const old = arrayAt(target, "$pop", path);
    if (old === undefined || old.length === 0) return false;
    target.set(end === 1 ? old.slice(0, -1) : old.slice(1));
    return true;
  };
}

function keep(target: Target, op: string, path: string, drop: (v: Value) => boolean): boolean {
  const old = arrayAt(target, op, path);
  const out = old?.filter((v) => !drop(v));
  if (old === undefined || out === undefined || out.length === old.length) return false;
  target.set(out);
  return true;
}

/** $pull by value, by condition on each element, or by filter on embedded documents. */
export function pull(arg: Value, path: string, scope: Scope): Change {
  if (isOperatorDoc(arg) || arg instanceof BSONRegExp) {
    const test = compileFilter({ v: arg }, scope);
    return (target) => keep(target, "$pull", path, (v) => test({ v }));
  }
  if (!isDoc(arg)) return (target) => keep(target, "$pull", path, (v) => sameValue(v, arg));
  const test = compileFilter(arg, scope);
  return (target) => keep(target, "$pull", path, (v) => isDoc(v) && test(v));
}

/** $pullAll by values. */
export function pullAll(arg: Value, path: string): Change {
  if (!Array.isArray(arg))
    throw new StoreError("BadValue", `$pullAll requires an array argument but was given a ${typeAlias(arg)}`);
  const unwanted = new Set(arg.map(keyOf));
  return (target) => keep(target, "$pullAll", path, (v) => unwanted.has(keyOf(v)));
}
