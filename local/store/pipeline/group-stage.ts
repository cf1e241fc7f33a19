import { REST } from "../budget.ts";
import { averageOf, deviationOf, extremeOf, sumOf } from "../expressions/array-expressions.ts";
import { StoreError } from "../bson/errors.ts";
import { prepareExpression } from "../expressions/expression-check.ts";
import { demoteDeep, promote } from "../expressions/expression-values.ts";
import { compileExpression, storeErrorOf, type Scope } from "../expressions/expressions.ts";
import { encodeKey } from "../indexes/key-encoder.ts";
import { evaluator, MINGO_ACCUMULATORS, PLAIN_CONTEXT } from "../expressions/mingo-core.ts";
import { setField } from "../bson/paths.ts";
import type { Stage } from "./stage.ts";
import { isDoc, type Doc, type Value } from "../bson/values.ts";

/** Takes what it needs of each document as it passes, and folds that to the group's value at the end. */
interface Accumulator {
  take: (doc: Doc) => Value | undefined;
  fold: (taken: (Value | undefined)[]) => Value;
}

function distinctValues(values: (Value | undefined)[]): Value[] {
  const found = new Map<string, Value>();
  for (const v of values) if (v !== undefined) found.set(keyText(v), v);
  return [...found.values()];
}

function keyText(v: Value | undefined): string {
  // Null and missing are one group; the key does not tell them apart either.
  return Buffer.from(encodeKey([v], [false])).toString("latin1");
}

function merged(values: (Value | undefined)[]): Value {
  const out: Doc = {};
  for (const v of values) if (isDoc(v)) for (const [k, x] of Object.entries(v)) setField(out, k, x);
  return out;
}

const FOLDS: Readonly<Record<string, (values: (Value | undefined)[]) => Value>> = {
  $sum: sumOf,
  $avg: averageOf,
  $min: (v) => extremeOf(v, -1),
  $max: (v) => extremeOf(v, 1),
  $stdDevPop: (v) => deviationOf(v, false),
  $stdDevSamp: (v) => deviationOf(v, true),
  $first: (v) => v[0] ?? null,
  $last: (v) => v.at(-1) ?? null,
  $push: (v) => v.filter((x) => x !== undefined),
  $addToSet: distinctValues,
  $mergeObjects: merged,
};

function accumulator(field: string, spec: Value, scope: Scope): Accumulator {
  const [entry, ...more] = isDoc(spec) ? Object.entries(spec) : [];
  if (entry === undefined || more.length > 0)
    throw new StoreError(40234, `The field '${field}' must be an accumulator object`);
  const [op, arg] = entry;
  if (op === "$count") return { take: () => null, fold: (taken) => taken.length };
  const fold = FOLDS[op];
  if (fold !== undefined) return { take: compileExpression(arg, scope), fold };
  if (!MINGO_ACCUMULATORS.has(op)) throw new StoreError(15952, `unknown group operator '${op}'`);
  return { take: (doc) => doc, fold: byMingo(op, arg, scope) };
}

/** The rarer accumulators ($topN, $median …) see whole documents, with plain JavaScript numbers. */
function byMingo(op: string, arg: Value, scope: Scope): Accumulator["fold"] {
  const prepared = demoteDeep(prepareExpression(arg, scope.now));
  const evaluate = evaluator(PLAIN_CONTEXT, scope.variables);
  return (docs) => {
    try {
      return promote(evaluate(docs.map(demoteDeep), { [op]: prepared })) ?? null;
    } catch (error) {
      throw storeErrorOf(error);
    }
  };
}

/** Compiles $group. Groups come out in the order of their first document. */
export function compileGroup(arg: Value, scope: Scope): Stage {
  if (!isDoc(arg)) throw new StoreError(15947, "a group's fields must be specified in an object");
  if (arg["_id"] === undefined) throw new StoreError(15955, "a group specification must include an _id");
  const idOf = compileExpression(arg["_id"], scope);
  const fields = Object.entries(arg)
    .filter(([k]) => k !== "_id")
    .map(([k, spec]): [string, Accumulator] => {
      if (k.includes(".")) throw new StoreError(40235, `The field name '${k}' cannot contain '.'`);
      return [k, accumulator(k, spec, scope)];
    });
  return function* grouped(docs) {
    const groups = new Map<string, { id: Value; taken: (Value | undefined)[][] }>();
    for (const doc of docs) {
      if (doc === REST) {
        yield REST;
        continue;
      }
      const id = idOf(doc);
      const key = keyText(id);
      let group = groups.get(key);
      if (group === undefined) {
        group = { id: id ?? null, taken: fields.map(() => []) };
        groups.set(key, group);
      }
      for (const [i, [, accumulate]] of fields.entries()) group.taken[i]?.push(accumulate.take(doc));
    }
    for (const g of groups.values()) {
      const out: Doc = { _id: g.id };
      for (const [i, [k, { fold }]] of fields.entries()) out[k] = fold(g.taken[i] ?? []);
      yield out;
    }
  };
}
