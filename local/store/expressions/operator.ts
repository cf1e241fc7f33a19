import type { Budget } from "../budget.ts";
import { StoreError } from "../bson/errors.ts";
import { isDoc } from "../bson/values.ts";
import type { Doc, Value } from "../bson/values.ts";

/** What an expression is worked out in: the document, and a place for each variable that the expression itself binds. */
export interface Env {
  root: Value;
  locals: (Value | undefined)[];
}

/** A compiled expression; undefined means missing. */
export type Evaluate = (env: Env) => Value | undefined;

/** An expression that is worked out once for each element of an array: `spend` pays for that many rounds of it. */
export interface Loop {
  slots: readonly number[];
  evaluate: Evaluate;
  spend: (rounds: number) => void;
}

/** What an operator needs to compile its arguments. */
export interface Compiler {
  budget: Budget;
  compile: (expr: Value) => Evaluate;
  /** Compiles an expression in which these variables are bound. */
  loop: (names: readonly string[], expr: Value) => Loop;
}

/** Compiles the argument of an operator. */
export type Operator = (arg: Value, at: Compiler, name: string) => Evaluate;

/** The values of an operator's arguments. */
export type Values = readonly (Value | undefined)[];

/** True for null and missing, of which most operators make null. */
export function isNil(v: Value | undefined): v is null | undefined {
  return v === undefined || v === null;
}

function checkCount(name: string, n: number, least: number, most: number): void {
  if (n >= least && n <= most) return;
  if (least === most)
    throw new StoreError(16020, `Expression ${name} takes exactly ${least} arguments. ${n} were passed in.`);
  throw new StoreError(
    28667,
    `Expression ${name} takes at least ${least} arguments, and at most ${most}, but ${n} were passed in.`,
  );
}

/** The expressions of an operator's arguments: a list of them, or the only one. Errors: 16020, 28667 for too few or too many. */
export function listed(arg: Value, name: string, least: number, most: number): Value[] {
  const list = Array.isArray(arg) ? arg : [arg];
  checkCount(name, list.length, least, most);
  return list;
}

/** An operator of several arguments, all of which are worked out. */
export function several(
  least: number,
  most: number,
  run: (values: Values, budget: Budget, name: string) => Value | undefined,
): Operator {
  return (arg, at, name) => {
    const parts = listed(arg, name, least, most).map((e) => at.compile(e));
    const { budget } = at;
    return (env) =>
      run(
        parts.map((p) => p(env)),
        budget,
        name,
      );
  };
}

/** An operator of one argument. */
export function one(run: (v: Value | undefined, name: string, budget: Budget) => Value | undefined): Operator {
  return (arg, at, name) => {
    const value = at.compile(listed(arg, name, 1, 1)[0] ?? null);
    const { budget } = at;
    return (env) => run(value(env), name, budget);
  };
}

/** An operator of two arguments. */
export function two(
  run: (a: Value | undefined, b: Value | undefined, name: string, budget: Budget) => Value | undefined,
): Operator {
  return (arg, at, name) => {
    const [first, second] = listed(arg, name, 2, 2).map((e) => at.compile(e));
    const { budget } = at;
    if (first === undefined || second === undefined) return () => null;
    return (env) => run(first(env), second(env), name, budget);
  };
}

/** The named arguments of an operator, each with MongoDB's code for its absence, null where it may be left out. */
export interface Names {
  object: number;
  unknown: number;
  fields: Readonly<Record<string, number | null>>;
}

/** An operator's named arguments. Errors: the codes of `names`. */
export function named(arg: Value, name: string, { object, unknown, fields }: Names): Doc {
  if (!isDoc(arg)) throw new StoreError(object, `${name} only supports an object as its argument`);
  for (const key of Object.keys(arg))
    if (!Object.hasOwn(fields, key)) throw new StoreError(unknown, `Unrecognized parameter to ${name}: ${key}`);
  for (const [key, code] of Object.entries(fields))
    if (code !== null && arg[key] === undefined) throw new StoreError(code, `Missing '${key}' parameter to ${name}`);
  return arg;
}

/** Compiles an argument that may be left out. */
export function optional(at: Compiler, arg: Value | undefined): Evaluate | undefined {
  return arg === undefined ? undefined : at.compile(arg);
}

/** The refusal of what MongoDB has and the store has not. */
export function elsewhere(what: string): StoreError {
  return new StoreError("CommandNotSupported", `${what} is not in the embedded store; run a MongoDB`);
}
