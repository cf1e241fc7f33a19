import { BSONRegExp } from "bson";
import { compareValues, identical, sameValue } from "../bson/comparison.ts";
import { isOperatorDoc } from "../query/matcher.ts";
import { isDoc, isTrue, KIND, kindOf, typeAlias } from "../bson/values.ts";
import type { Doc, Value } from "../bson/values.ts";

/** One condition that must hold for a filter to hold: an operator on a path. `inElement`: it came out of $elemMatch. */
export interface Conjunct {
  path: string;
  op: string;
  arg: Value;
  inElement: boolean;
}

function ofField(path: string, condition: Value | undefined, inElement: boolean, out: Conjunct[]): void {
  if (condition === undefined) return;
  if (condition instanceof BSONRegExp) {
    out.push({ path, op: "$regex", arg: condition, inElement });
    return;
  }
  if (!isOperatorDoc(condition)) {
    out.push({ path, op: "$eq", arg: condition, inElement });
    return;
  }
  for (const [op, arg] of Object.entries(condition)) {
    if (op === "$elemMatch" && isDoc(arg)) {
      ofElement(path, arg, out);
      // The inner conditions bound an index scan, but only the $elemMatch itself says whether one element meets them all.
      out.push({ path, op, arg, inElement });
    } else out.push({ path, op, arg, inElement });
  }
}

function ofElement(path: string, arg: Doc, out: Conjunct[]): void {
  const keys = Object.keys(arg);
  if (keys.some((k) => k === "$and" || k === "$or" || k === "$nor" || k === "$expr")) return;
  if (keys[0]?.startsWith("$") === true) ofField(path, arg, true, out);
  else for (const k of keys) ofField(`${path}.${k}`, arg[k], true, out);
}

/** All conditions a filter demands at once; `$or`, `$expr` and the like come as one conjunct with an empty path. */
export function conjunctsOf(filter: Doc, out: Conjunct[] = []): Conjunct[] {
  for (const [key, v] of Object.entries(filter)) {
    if (key === "$and" && Array.isArray(v)) v.filter(isDoc).forEach((clause) => conjunctsOf(clause, out));
    else if (key === "$comment") continue;
    else if (key.startsWith("$")) out.push({ path: "", op: key, arg: v, inElement: false });
    else ofField(key, v, false, out);
  }
  return out;
}

const RANGES = new Set(["$gt", "$gte", "$lt", "$lte"]);

function provesExistence(c: Conjunct): boolean {
  if (c.op === "$exists") return isTrue(c.arg);
  if (c.op === "$eq" || RANGES.has(c.op)) return kindOf(c.arg) > KIND.null && kindOf(c.arg) !== KIND.maxKey;
  if (c.op === "$in") return Array.isArray(c.arg) && c.arg.every((v) => v !== null && !(v instanceof BSONRegExp));
  return c.op === "$type" && c.arg !== "null";
}

function provesRange(c: Conjunct, op: string, bound: Value): boolean {
  const values = c.op === "$eq" ? [c.arg] : c.op === "$in" && Array.isArray(c.arg) ? c.arg : undefined;
  if (values !== undefined) {
    return values.every((v) => {
      const order = compareValues(v, bound);
      if (kindOf(v) !== kindOf(bound) || Array.isArray(v)) return false;
      return op === "$gt" ? order > 0 : op === "$gte" ? order >= 0 : op === "$lt" ? order < 0 : order <= 0;
    });
  }
  if (!RANGES.has(c.op) || c.op.slice(0, 3) !== op.slice(0, 3) || kindOf(c.arg) !== kindOf(bound)) return false;
  const order = compareValues(c.arg, bound) * (op.startsWith("$g") ? 1 : -1);
  return order > 0 || (order === 0 && (c.op === op || op.endsWith("e")));
}

function proves(c: Conjunct, wanted: Conjunct): boolean {
  if (c.path !== wanted.path) return false;
  if (c.op === wanted.op && identical(c.arg, wanted.arg)) return true;
  if (wanted.op === "$exists") return provesExistence(c);
  if (RANGES.has(wanted.op)) return provesRange(c, wanted.op, wanted.arg);
  if (wanted.op === "$eq")
    return (
      (c.op === "$eq" && sameValue(c.arg, wanted.arg)) ||
      (c.op === "$in" && Array.isArray(c.arg) && c.arg.length > 0 && c.arg.every((v) => sameValue(v, wanted.arg)))
    );
  if (wanted.op === "$in" && Array.isArray(wanted.arg)) {
    const { arg } = wanted;
    const values = c.op === "$eq" ? [c.arg] : c.op === "$in" && Array.isArray(c.arg) ? c.arg : [];
    return values.length > 0 && values.every((v) => arg.some((w) => sameValue(v, w)));
  }
  return wanted.op === "$type" && c.op === "$eq" && typeAlias(c.arg) === wanted.arg;
}

/** True when every document that meets `query` also meets `partial` (an index's partialFilterExpression). May say false where it is so. */
export function implies(query: readonly Conjunct[], partial: Doc): boolean {
  return conjunctsOf(partial).every((wanted) => {
    if (wanted.op === "$or" && Array.isArray(wanted.arg))
      return wanted.arg.some((clause) => isDoc(clause) && implies(query, clause));
    return query.some((c) => proves(c, wanted));
  });
}
