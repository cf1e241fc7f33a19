import { StoreError } from "../bson/errors.ts";
import { checkArguments } from "./expression-arguments.ts";
import { MINGO_ACCUMULATORS, MINGO_EXPRESSIONS } from "./mingo-core.ts";
import { setField } from "../bson/paths.ts";
import { isDoc } from "../bson/values.ts";
import type { Doc, Value } from "../bson/values.ts";

/** Accumulators that MongoDB also takes as expressions over an array. */
const ACCUMULATORS_AS_EXPRESSIONS = [
  "$avg",
  "$max",
  "$min",
  "$sum",
  "$stdDevPop",
  "$stdDevSamp",
  "$mergeObjects",
  "$maxN",
  "$minN",
  "$firstN",
  "$lastN",
  "$median",
  "$percentile",
];
const OWN_EXPRESSIONS = ["$toObjectId", "$isNumber", "$tsSecond", "$tsIncrement"];

const EXPRESSIONS: ReadonlySet<string> = new Set([
  ...MINGO_EXPRESSIONS,
  ...OWN_EXPRESSIONS,
  ...ACCUMULATORS_AS_EXPRESSIONS.filter((k) => MINGO_ACCUMULATORS.has(k)),
]);

/**
 * Checks an aggregation expression before it runs and puts the command's time in place of $$NOW, so that it is the same
 * everywhere in one command. Errors: InvalidPipelineOperator (168), 15983 for more than one operator in an object.
 */
export function prepareExpression(expr: Value, now: Date): Value {
  if (expr === "$$NOW") return now;
  if (Array.isArray(expr)) return expr.map((item) => prepareExpression(item, now));
  if (!isDoc(expr)) return expr;
  const keys = Object.keys(expr);
  const operator = keys.find((k) => k.startsWith("$"));
  if (operator !== undefined) {
    if (keys.length > 1)
      throw new StoreError(15983, `an object representing an expression must have exactly one field: ${operator}`);
    if (operator === "$literal") return expr;
    if (!EXPRESSIONS.has(operator)) throw new StoreError(168, `Unrecognized expression '${operator}'`);
    checkArguments(operator, expr[operator]);
  }
  const out: Doc = {};
  for (const k of keys) setField(out, k, prepareExpression(expr[k] ?? null, now));
  return out;
}
