import { at, compare, isPlain, type Doc } from "./values.ts";

/** What an expression is worked out in: the document, the server's time, and the variables of $filter, $map and $reduce. */
export interface Scope {
  root: Doc;
  now: Date;
  variables: Record<string, unknown>;
}

const number = (v: unknown): number => {
  if (v instanceof Date) return v.getTime();
  if (typeof v !== "number") throw new Error(`an expression needs a number, not ${JSON.stringify(v)}`);
  return v;
};
const list = (v: unknown): unknown[] => {
  if (!Array.isArray(v)) throw new Error(`an expression needs an array, not ${JSON.stringify(v)}`);
  return v;
};
const truthy = (v: unknown): boolean => v !== false && v !== null && v !== undefined && v !== 0;
const missing = (v: unknown): boolean => v === null || v === undefined;

const sum = (values: unknown[]): unknown => {
  if (values.some(missing)) return null;
  const total = values.reduce<number>((t, v) => t + number(v), 0);
  return values.some((v) => v instanceof Date) ? new Date(total) : total;
};

const difference = ([a, b]: unknown[]): unknown => {
  if (missing(a) || missing(b)) return null;
  const d = number(a) - number(b);
  return a instanceof Date && !(b instanceof Date) ? new Date(d) : d;
};

const extreme = (values: unknown[], wanted: 1 | -1): unknown => {
  const of = (values.length === 1 && Array.isArray(values[0]) ? values[0] : values).filter((v) => !missing(v));
  return of.reduce<unknown>((best, v) => (best === null || compare(v, best) === wanted ? v : best), null);
};

const elementAt = (of: unknown, i: number): unknown => {
  const l = missing(of) ? [] : list(of);
  return l[i < 0 ? l.length + i : i];
};

const slice = ([of, a, b]: unknown[]): unknown => {
  if (missing(of)) return null;
  const l = list(of);
  if (b === undefined) return number(a) < 0 ? l.slice(number(a)) : l.slice(0, number(a));
  if (number(b) <= 0) throw new Error("the third argument of $slice must be positive");
  const start = number(a) < 0 ? Math.max(0, l.length + number(a)) : number(a);
  return l.slice(start, start + number(b));
};

/** Operators whose arguments are all worked out first. */
const PLAIN: Record<string, (values: unknown[], scope: Scope) => unknown> = {
  $eq: ([a, b]) => compare(a, b) === 0,
  $ne: ([a, b]) => compare(a, b) !== 0,
  $lt: ([a, b]) => compare(a, b) < 0,
  $lte: ([a, b]) => compare(a, b) <= 0,
  $gt: ([a, b]) => compare(a, b) > 0,
  $gte: ([a, b]) => compare(a, b) >= 0,
  $and: (values) => values.every(truthy),
  $or: (values) => values.some(truthy),
  $not: ([v]) => !truthy(v),
  $add: sum,
  $subtract: difference,
  $multiply: (values) => values.reduce<number>((p, v) => p * number(v), 1),
  $divide: ([a, b]) => number(a) / number(b),
  $mod: ([a, b]) => number(a) % number(b),
  $floor: ([a]) => Math.floor(number(a)),
  $ceil: ([a]) => Math.ceil(number(a)),
  $trunc: ([a]) => Math.trunc(number(a)),
  $toLong: ([a]) => number(a),
  $toDate: ([a]) => new Date(number(a)),
  $max: (values) => extreme(values, 1),
  $min: (values) => extreme(values, -1),
  $sum: (values) =>
    (values.length === 1 && Array.isArray(values[0]) ? values[0] : values).reduce<number>(
      (t, v) => (typeof v === "number" ? t + v : t),
      0,
    ),
  $size: ([v]) => list(v).length,
  $isArray: ([v]) => Array.isArray(v),
  $arrayElemAt: ([of, i]) => elementAt(of, number(i)),
  $first: ([of]) => elementAt(of, 0),
  $last: ([of]) => elementAt(of, -1),
  $slice: slice,
  $concatArrays: (values) => (values.some(missing) ? null : values.flatMap((v) => list(v))),
  $range: ([a, b, step]) => {
    const out: number[] = [];
    for (let i = number(a); i < number(b); i += step === undefined ? 1 : number(step)) out.push(i);
    return out;
  },
  $in: ([v, of]) => list(of).some((e) => compare(e, v) === 0),
  $ifNull: (values) => values.find((v) => !missing(v)) ?? values.at(-1) ?? null,
  $mergeObjects: (values) => Object.assign({}, ...values.filter(isPlain)) as Doc,
  $indexOfArray: ([of, v]) => list(of).findIndex((e) => compare(e, v) === 0),
  $concat: (values) => (values.some(missing) ? null : values.map(String).join("")),
  $reverseArray: ([of]) => [...list(of)].reverse(),
};

const field = (args: unknown, name: string): unknown => (isPlain(args) ? args[name] : undefined);
const inside = (scope: Scope, name: string, value: unknown): Scope => ({
  ...scope,
  variables: { ...scope.variables, [name]: value },
});
const nameOf = (args: unknown): string => {
  const as = field(args, "as");
  return typeof as === "string" ? as : "this";
};

/** Operators that work their arguments out themselves. */
const SPECIAL: Record<string, (args: unknown, scope: Scope) => unknown> = {
  $literal: (args) => args,
  $filter: (args, scope) => {
    const input = evaluate(field(args, "input"), scope);
    return missing(input)
      ? null
      : list(input).filter((e) => truthy(evaluate(field(args, "cond"), inside(scope, nameOf(args), e))));
  },
  $map: (args, scope) => {
    const input = evaluate(field(args, "input"), scope);
    return missing(input)
      ? null
      : list(input).map((e) => evaluate(field(args, "in"), inside(scope, nameOf(args), e)) ?? null);
  },
  $reduce: (args, scope) =>
    list(evaluate(field(args, "input"), scope)).reduce<unknown>(
      (value, e) => evaluate(field(args, "in"), inside(inside(scope, "this", e), "value", value)),
      evaluate(field(args, "initialValue"), scope),
    ),
  $let: (args, scope) => {
    const vars = Object.entries(field(args, "vars") as Doc).map(([name, e]) => [name, evaluate(e, scope)]);
    return evaluate(field(args, "in"), {
      ...scope,
      variables: { ...scope.variables, ...(Object.fromEntries(vars) as Doc) },
    });
  },
  $cond: (args, scope) => {
    const [test, yes, no] = Array.isArray(args) ? args : [field(args, "if"), field(args, "then"), field(args, "else")];
    return evaluate(truthy(evaluate(test, scope)) ? yes : no, scope);
  },
  $switch: (args, scope) => {
    const branch = (field(args, "branches") as { case: unknown; then: unknown }[]).find((b) =>
      truthy(evaluate(b.case, scope)),
    );
    return evaluate(branch ? branch.then : field(args, "default"), scope);
  },
};

function variable(path: string, scope: Scope): unknown {
  const [name = "", ...rest] = path.split(".");
  if (name === "NOW") return scope.now;
  const value =
    name === "ROOT" || name === "CURRENT" ? scope.root : name === "REMOVE" ? undefined : scope.variables[name];
  if (value === undefined && !(name in scope.variables) && name !== "REMOVE") throw new Error(`$$${name} is not known`);
  return rest.length === 0 ? value : through(value, rest);
}

/** A field path of an expression: an array on the way gives the array of its elements' fields. */
function through(value: unknown, parts: readonly string[]): unknown {
  const [part, ...rest] = parts;
  if (part === undefined) return value;
  if (Array.isArray(value)) return value.map((v) => through(v, parts)).filter((v) => v !== undefined);
  return isPlain(value) ? through(value[part], rest) : undefined;
}

/** The worth of an aggregation expression. An operator that is not known throws. */
export function evaluate(expression: unknown, scope: Scope): unknown {
  if (typeof expression === "string") {
    if (expression.startsWith("$$")) return variable(expression.slice(2), scope);
    if (!expression.startsWith("$")) return expression;
    const path = expression.slice(1);
    return path.includes(".") ? through(scope.root, path.split(".")) : at(scope.root, path);
  }
  if (Array.isArray(expression)) return expression.map((e) => evaluate(e, scope) ?? null);
  if (!isPlain(expression)) return expression;
  const [operator] = Object.keys(expression);
  if (operator === undefined || !operator.startsWith("$")) {
    return Object.fromEntries(
      Object.entries(expression)
        .map(([k, e]) => [k, evaluate(e, scope)])
        .filter(([, v]) => v !== undefined),
    ) as Doc;
  }
  const args = expression[operator];
  const special = SPECIAL[operator];
  if (special) return special(args, scope);
  const plain = PLAIN[operator];
  if (!plain) throw new Error(`the simulated database does not know the expression ${operator}`);
  return plain(
    (Array.isArray(args) ? args : [args]).map((a) => evaluate(a, scope)),
    scope,
  );
}

/** Whether an expression holds for a document. */
export const holdsTrue = (expression: unknown, root: Doc, now: Date): boolean =>
  truthy(evaluate(expression, { root, now, variables: {} }));
