import { Context, evalExpr } from "mingo/core";
import * as mingoAccumulators from "mingo/operators/accumulator";
import * as mingoExpressions from "mingo/operators/expression";
import * as mingoStages from "mingo/operators/pipeline";
import * as mingoQuery from "mingo/operators/query";
import * as mingoWindow from "mingo/operators/window";
import type { AnyObject, Options } from "mingo/types";

/** An expression operator in mingo's form: the current object, the unevaluated argument, mingo's options. */
export type ExpressionOperator = (obj: AnyObject, expr: unknown, options: Options) => unknown;

/** Evaluates a mingo expression with `root` as the document. */
export type Evaluate = (root: unknown, expr: unknown) => unknown;

const accumulator = { ...mingoAccumulators };
const expression = { ...mingoExpressions };

/** mingo's own operators, none replaced. */
export const PLAIN_CONTEXT: Context = Context.init({
  accumulator, expression, pipeline: { ...mingoStages }, query: { ...mingoQuery }, window: { ...mingoWindow },
});

/** The names of the expression operators mingo knows; `$function` runs client code and is left out. */
export const MINGO_EXPRESSIONS: ReadonlySet<string> = new Set(Object.keys(expression).filter(k => k.startsWith("$") && k !== "$function"));

/** The names of the accumulators mingo knows; `$accumulator` runs client code and is left out. */
export const MINGO_ACCUMULATORS: ReadonlySet<string> = new Set(Object.keys(accumulator).filter(k => k.startsWith("$") && k !== "$accumulator"));

/** mingo's operators with `own` in place of those of the same name. */
export function contextWith(own: Record<`$${string}`, ExpressionOperator>): Context {
  return Context.init({ accumulator, expression: { ...expression, ...own }, query: { ...mingoQuery } });
}

/** mingo's options for one context; scripts are never run. */
export function mingoOptions(context: Context, variables: AnyObject): Options {
  return { idKey: "_id", processingMode: 0, useStrictMode: true, scriptEnabled: false, failOnError: true, context, variables };
}

/**
 * An evaluator that prepares mingo's options once. evalExpr copies all operators on every call unless it is handed the
 * options object it builds itself, which only an operator gets to see: so one operator catches it.
 */
export function evaluator(context: Context, variables: AnyObject): Evaluate {
  let prepared: Options | undefined;
  const catching = Context.from(context).addExpressionOps({
    $catchOptions: (_obj: AnyObject, _expr: unknown, options: Options): unknown => { prepared = options; return null; },
  });
  evalExpr({}, { $catchOptions: 1 }, mingoOptions(catching, variables));
  const options = prepared;
  if (options === undefined || !("update" in options) || typeof options.update !== "function") {
    return (root, expr) => evalExpr(root, expr, mingoOptions(context, variables));
  }
  const rebase = options.update;
  return (root, expr) => {
    Reflect.apply(rebase, options, [{ root }]);
    return evalExpr(root, expr, options);
  };
}
