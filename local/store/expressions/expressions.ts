import { MingoError } from "mingo/util";
import type { Budget } from "../budget.ts";
import { StoreError } from "../bson/errors.ts";
import { prepareExpression } from "./expression-check.ts";
import { OWN_OPERATORS } from "./expression-operators.ts";
import { promote } from "./expression-values.ts";
import { contextWith, evaluator } from "./mingo-core.ts";
import { field } from "../bson/paths.ts";
import { isDoc } from "../bson/values.ts";
import type { Doc, Value } from "../bson/values.ts";

/** What an expression may refer to besides the document: the command's time and the variables of `let`; and what work it may do. */
export interface Scope {
  now: Date;
  variables: Doc;
  budget: Budget;
}

const CONTEXT = contextWith(OWN_OPERATORS);

/** An error of mingo in MongoDB's form; other errors unchanged. */
export function storeErrorOf(error: unknown): unknown {
  if (!(error instanceof MingoError)) return error;
  if (error.message.startsWith("Use of undefined variable")) return new StoreError(17276, error.message);
  return new StoreError("BadValue", error.message);
}

/**
 * Compiles an aggregation expression to a function of a document; undefined means missing.
 * Errors: those of prepareExpression, and at run time MongoDB's for wrong operand types.
 */
export function compileExpression(expr: Value, scope: Scope): (doc: Value) => Value | undefined {
  const simple = compileSimple(expr);
  if (simple !== undefined) return simple;
  const prepared = prepareExpression(expr, scope.now);
  const evaluate = evaluator(CONTEXT, scope.variables);
  return (doc) => {
    try {
      return promote(evaluate(doc, prepared));
    } catch (error) {
      throw storeErrorOf(error);
    }
  };
}

/** Plain field paths and constants, the bulk of all expressions, without mingo. */
function compileSimple(expr: Value): ((doc: Value) => Value | undefined) | undefined {
  if (typeof expr === "string") {
    if (!expr.startsWith("$")) return () => expr;
    const parts = expr.slice(1).split(".");
    return parts[0]?.startsWith("$") === true || parts.includes("") ? undefined : (doc) => valueAt(doc, parts, 0);
  }
  return typeof expr === "object" && expr !== null && !(expr instanceof Date) ? undefined : () => expr;
}

/** A field path of an expression: it maps over arrays, and a number in it is a field name, never an index. */
function valueAt(v: Value | undefined, parts: readonly string[], at: number): Value | undefined {
  if (at === parts.length) return v;
  if (Array.isArray(v)) return v.map((item) => valueAt(item, parts, at)).filter((item) => item !== undefined);
  return isDoc(v) ? valueAt(field(v, parts[at] ?? ""), parts, at + 1) : undefined;
}

/** The values of a command's `let`, each an expression without a document. */
export function evaluateLet(let_: Doc, now: Date, budget: Budget): Doc {
  const variables: Doc = {};
  for (const [name, expr] of Object.entries(let_)) {
    if (!/^[a-z\u0080-\uffff]\w*$/u.test(name)) throw new StoreError(16867, `'${name}' is not a valid variable name`);
    variables[name] = compileExpression(expr, { now, variables: {}, budget })({}) ?? null;
  }
  return variables;
}
