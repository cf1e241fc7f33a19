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
  accumulator,
  expression,
  pipeline: { ...mingoStages },
  query: { ...mingoQuery },
  window: { ...mingoWindow },
});

/** The names of the expression operators mingo knows; `$function` runs client code and is left out. */
export const MINGO_EXPRESSIONS: ReadonlySet<string> = new Set(
  Object.keys(expression).filter((k) => k.startsWith("$") && k !== "$function"),
);

/** The names of the accumulators mingo knows; `$accumulator` runs client code and is left out. */
export const MINGO_ACCUMULATORS: ReadonlySet<string> = new Set(
  Object.keys(accumulator).filter((k) => k.startsWith("$") && k !== "$accumulator"),
);

/** mingo's operators with `own` in place of those of the same name. */
export function contextWith(own: Record<`$${string}`, ExpressionOperator>): Context {
  return Context.init({ accumulator, expression: { ...expression, ...own }, query: { ...mingoQuery } });
}

/** mingo's options for one context; scripts are never run. */
export function mingoOptions(context: Context, variables: AnyObject): Options {
  return {
    idKey: "_id",
    processingMode: 0,
    useStrictMode: true,
    scriptEnabled: false,
    failOnError: true,
    context,
    variables,
  };
}

/** The options object that evalExpr builds itself: it copies all operators to make one, and takes one it is handed as it is. */
type PreparedOptions = Options & { constructor: unknown; options: object; update: (...args: unknown[]) => unknown };

function isPrepared(v: unknown): v is PreparedOptions {
  return (
    typeof v === "object" &&
    v !== null &&
    "options" in v &&
    typeof v.options === "object" &&
    "update" in v &&
    typeof v.update === "function"
  );
}

const PREPARED = new Map<Context, PreparedOptions | undefined>();

/** Only an operator gets to see mingo's prepared options, so one operator catches them, once for each context. */
function preparedFor(context: Context): PreparedOptions | undefined {
  if (PREPARED.has(context)) return PREPARED.get(context);
  let caught: unknown;
  const catching = Context.from(context).addExpressionOps({
    $catchOptions: (_obj: AnyObject, _expr: unknown, options: Options): unknown => {
      caught = options;
      return null;
    },
  });
  evalExpr({}, { $catchOptions: 1 }, mingoOptions(catching, {}));
  const prepared = isPrepared(caught) ? caught : undefined;
  PREPARED.set(context, prepared);
  return prepared;
}

/** An evaluator whose options are made once, without a copy of all operators: those of an expression's own variables, on operators that are shared. */
export function evaluator(context: Context, variables: AnyObject): Evaluate {
  const shared = preparedFor(context);
  const own: unknown =
    shared !== undefined && typeof shared.constructor === "function"
      ? Reflect.construct(shared.constructor, [{ ...shared.options, variables }])
      : undefined;
  if (!isPrepared(own)) return (root, expr) => evalExpr(root, expr, mingoOptions(context, variables));
  return (root, expr) => {
    own.update({ root });
    return evalExpr(root, expr, own);
  };
}
