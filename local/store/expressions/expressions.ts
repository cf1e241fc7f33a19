import type { Budget } from "../budget.ts";
import { StoreError } from "../bson/errors.ts";
import { field, fieldPath, setField } from "../bson/paths.ts";
import { isDoc } from "../bson/values.ts";
import type { Doc, Value } from "../bson/values.ts";
import { EXPRESSIONS, refusedExpression } from "./expression-table.ts";
import { checkVariableName, measured } from "./expression-values.ts";
import { elsewhere, type Compiler, type Env, type Evaluate, type Loop } from "./operator.ts";

/** What an expression may refer to besides the document: the command's time and the variables of `let`; and what work it may do. */
export interface Scope {
  now: Date;
  variables: Doc;
  budget: Budget;
}

/** Parts of an expression that are worked out in one step of the budget. */
const PARTS_PER_STEP = 16;

/** Compiles one expression; variables that it binds get a place each in {@link Env}. */
class ExpressionCompiler implements Compiler {
  readonly budget: Budget;
  readonly #scope: Scope;
  readonly #locals: ReadonlyMap<string, number>;
  /** Shared by the whole expression: its parts so far, and the places given to variables. */
  readonly #made: { parts: number; slots: number };

  constructor(scope: Scope, locals: ReadonlyMap<string, number> = new Map(), made = { parts: 0, slots: 0 }) {
    this.budget = scope.budget;
    this.#scope = scope;
    this.#locals = locals;
    this.#made = made;
  }

  /** What working out the expression once takes of the budget. */
  get steps(): number {
    return Math.ceil(this.#made.parts / PARTS_PER_STEP);
  }

  compile = (expr: Value): Evaluate => {
    this.#made.parts++;
    if (typeof expr === "string") return expr.startsWith("$") ? this.#path(expr) : () => expr;
    if (Array.isArray(expr)) {
      const items = expr.map((e) => this.compile(e));
      return (env) => items.map((item) => item(env) ?? null);
    }
    return isDoc(expr) ? this.#object(expr) : () => expr;
  };

  loop = (names: readonly string[], expr: Value): Loop => {
    const before = this.#made.parts;
    const locals = new Map(this.#locals);
    const slots = names.map((name) => {
      locals.set(name, this.#made.slots);
      return this.#made.slots++;
    });
    const evaluate = new ExpressionCompiler(this.#scope, locals, this.#made).compile(expr);
    const steps = Math.ceil((this.#made.parts - before) / PARTS_PER_STEP);
    return { slots, evaluate, spend: (rounds) => this.budget.spend(rounds * steps) };
  };

  #object(expr: Doc): Evaluate {
    const entries = Object.entries(expr);
    const operator = entries.find(([k]) => k.startsWith("$"));
    if (operator !== undefined) {
      if (entries.length > 1)
        throw new StoreError(15983, `an object representing an expression must have exactly one field: ${operator[0]}`);
      const compile = EXPRESSIONS.get(operator[0]);
      if (compile === undefined) throw refusedExpression(operator[0]);
      return compile(operator[1], this, operator[0]);
    }
    const fields = entries.map(([name, e]): [string, Evaluate] => {
      if (name.includes(".")) throw new StoreError(16412, `FieldPath field names may not contain '.': ${name}`);
      return [name, this.compile(e)];
    });
    return (env) => {
      const out: Doc = {};
      for (const [name, evaluate] of fields) {
        const v = evaluate(env);
        if (v !== undefined) setField(out, name, v);
      }
      return out;
    };
  }

  #path(expr: string): Evaluate {
    if (expr === "$") throw new StoreError(16872, "'$' by itself is not a valid FieldPath");
    if (!expr.startsWith("$$")) return this.#fieldOf(this.#variable("CURRENT"), fieldPath(expr.slice(1)));
    const [name = "", ...rest] = expr.slice(2).split(".");
    checkVariableName(name, false);
    return this.#fieldOf(this.#variable(name), rest.length === 0 ? [] : fieldPath(rest.join("."), expr));
  }

  #fieldOf(base: Evaluate, parts: readonly string[]): Evaluate {
    const [only, ...more] = parts;
    if (only === undefined) return base;
    const { budget } = this;
    if (more.length > 0) return (env) => valueAt(base(env), parts, 0, budget);
    return (env) => {
      const v = base(env);
      return isDoc(v) ? field(v, only) : valueAt(v, parts, 0, budget);
    };
  }

  #variable(name: string): Evaluate {
    const slot = this.#locals.get(name);
    if (slot !== undefined) return (env) => env.locals[slot];
    const { now, variables } = this.#scope;
    if (Object.hasOwn(variables, name)) return () => field(variables, name);
    switch (name) {
      case "ROOT":
      case "CURRENT":
        return (env) => env.root;
      case "NOW":
        return () => now;
      case "REMOVE":
        return () => undefined;
      case "CLUSTER_TIME":
      case "USER_ROLES":
      case "SEARCH_META":
        throw elsewhere(`$$${name}`);
      default:
        throw new StoreError(17276, `Use of undefined variable: ${name}`);
    }
  }
}

/** A field path of an expression maps over the documents of an array; a number in it is a field name, never an index. */
function valueAt(v: Value | undefined, parts: readonly string[], at: number, budget: Budget): Value | undefined {
  if (at === parts.length) return v;
  if (isDoc(v)) return valueAt(field(v, parts[at] ?? ""), parts, at + 1, budget);
  if (!Array.isArray(v)) return undefined;
  budget.spend(v.length);
  const found: Value[] = [];
  for (const item of v) {
    const inside = isDoc(item) ? valueAt(item, parts, at, budget) : undefined;
    if (inside !== undefined) found.push(inside);
  }
  return found;
}

/**
 * Compiles an aggregation expression to a function of a document; undefined means missing.
 * Errors: InvalidPipelineOperator (168) for an unknown operator, 17276 for an unknown variable; then those of each operator.
 */
export function compileExpression(expr: Value, scope: Scope): (doc: Value) => Value | undefined {
  const compiler = new ExpressionCompiler(scope);
  const evaluate = compiler.compile(expr);
  const { budget } = scope;
  const { steps } = compiler;
  return (doc) => {
    budget.spend(steps);
    const env: Env = { root: doc, locals: [] };
    const v = evaluate(env);
    if (typeof v === "object") measured(v, budget);
    return v;
  };
}

/** The values of a command's `let`, each an expression without a document. */
export function evaluateLet(let_: Doc, now: Date, budget: Budget): Doc {
  const variables: Doc = {};
  for (const [name, expr] of Object.entries(let_)) {
    checkVariableName(name, true);
    setField(variables, name, compileExpression(expr, { now, variables: {}, budget })({}) ?? null);
  }
  return variables;
}
