import { StoreError } from "../bson/errors.ts";
import { sameValue } from "../bson/comparison.ts";
import { asNumber, isInt32, isTrue, typeAlias } from "../bson/values.ts";
import type { Doc, Value } from "../bson/values.ts";
import { checkVariableName, measured } from "./expression-values.ts";
import { isNil, named, one, optional, several, two } from "./operator.ts";
import type { Compiler, Evaluate, Operator } from "./operator.ts";

/** Elements that one $range may make. */
const MAX_RANGE = 500_000;

/** An array, null for null and missing. Errors: `code` for anything else. */
export function arrayOf(v: Value | undefined, code: number, name: string): Value[] | null {
  if (isNil(v)) return null;
  if (!Array.isArray(v)) throw new StoreError(code, `${name} only supports arrays, not ${typeAlias(v)}`);
  return v;
}

/** A whole number of 32 bits. Errors: `[code for another type, code for another number]`. */
export function int32Of(v: Value | undefined, [type, range]: readonly [number, number], what: string): number {
  const n = asNumber(v);
  if (n === undefined) throw new StoreError(type, `${what} must be numeric, but is ${typeAlias(v)}`);
  // -0 is no int32, but as good as 0.
  const whole = n === 0 ? 0 : n;
  if (!isInt32(whole)) throw new StoreError(range, `${what} can't be represented as a 32-bit integer: ${n}`);
  return whole;
}

const elementAt = (items: Value[], index: number): Value | undefined => items[index < 0 ? items.length + index : index];

const $arrayElemAt = two((array, index, name) => {
  if (isNil(array) || isNil(index)) return null;
  const items = arrayOf(array, 28689, `${name}'s first argument`) ?? [];
  return elementAt(items, int32Of(index, [28690, 28691], `${name}'s second argument`));
});

const atEnd = (index: 0 | -1): Operator =>
  one((v, name) => {
    const items = arrayOf(v, 28689, `${name}'s argument`);
    return items === null ? null : elementAt(items, index);
  });

const $size = one((v) => {
  if (!Array.isArray(v))
    throw new StoreError(17124, `The argument to $size must be an array, but was of type: ${typeAlias(v)}`);
  return v.length;
});

const $slice = several(2, 3, (values, budget, name) => {
  const [array, second, third] = values;
  if (values.some(isNil)) return null;
  const items = arrayOf(array, 28724, `the first argument to ${name}`) ?? [];
  const n = int32Of(second, [28725, 28726], `the second argument to ${name}`);
  budget.spend(items.length / 16);
  if (third === undefined) return n < 0 ? items.slice(n) : items.slice(0, n);
  const count = int32Of(third, [28727, 28728], `the third argument to ${name}`);
  if (count <= 0) throw new StoreError(28729, `Third argument to $slice must be positive: ${count}`);
  const start = n < 0 ? Math.max(0, items.length + n) : n;
  return items.slice(start, start + count);
});

const $concatArrays = several(0, Infinity, (values, budget, name) => {
  const out: Value[] = [];
  for (const v of values) {
    const items = arrayOf(v, 28664, name);
    if (items === null) return null;
    budget.spend(items.length / 16);
    for (const item of items) out.push(item);
  }
  return out;
});

const FILTER = { object: 28646, unknown: 28647, fields: { input: 28648, as: null, cond: 28650, limit: null } };
const MAP = { object: 16878, unknown: 16879, fields: { input: 16880, as: null, in: 16882 } };
const REDUCE = { object: 40075, unknown: 40076, fields: { input: 40077, initialValue: 40078, in: 40079 } };

/** The array of $map and $filter, and the name each element is bound to. */
function each(
  at: Compiler,
  args: Doc,
  body: Value,
  name: string,
): { input: Evaluate; slot: number; run: Evaluate; spend: (n: number) => void } {
  const { input = null, as = "this" } = args;
  if (typeof as !== "string") throw new StoreError("FailedToParse", `the 'as' of ${name} must be a string`);
  checkVariableName(as, true);
  const { slots, evaluate, spend } = at.loop([as], body);
  return { input: at.compile(input), slot: slots[0] ?? 0, run: evaluate, spend };
}

const $filter: Operator = (arg, at, name) => {
  const args = named(arg, name, FILTER);
  const { input, slot, run, spend } = each(at, args, args["cond"] ?? null, name);
  const limit = optional(at, args["limit"]);
  return (env) => {
    const items = arrayOf(input(env), 28651, `input to ${name}`);
    if (items === null) return null;
    const most = limit?.(env);
    const wanted = isNil(most) ? Infinity : int32Of(most, [327391, 327391], "$filter: limit");
    if (wanted <= 0) throw new StoreError(327392, "$filter: limit must be greater than 0");
    spend(items.length);
    const out: Value[] = [];
    for (const item of items) {
      env.locals[slot] = item;
      if (isTrue(run(env)) && out.push(item) >= wanted) break;
    }
    return out;
  };
};

const $map: Operator = (arg, at, name) => {
  const args = named(arg, name, MAP);
  const { input, slot, run, spend } = each(at, args, args["in"] ?? null, name);
  return (env) => {
    const items = arrayOf(input(env), 16883, `input to ${name}`);
    if (items === null) return null;
    spend(items.length);
    return items.map((item) => {
      env.locals[slot] = item;
      return run(env) ?? null;
    });
  };
};

const $reduce: Operator = (arg, at, name) => {
  const { input: inputArg = null, initialValue = null, in: body = null } = named(arg, name, REDUCE);
  const [input, initial] = [at.compile(inputArg), at.compile(initialValue)];
  const { slots, evaluate, spend } = at.loop(["value", "this"], body);
  const [value = 0, item = 0] = slots;
  return (env) => {
    const items = arrayOf(input(env), 40080, `input to ${name}`);
    if (items === null) return null;
    spend(items.length);
    let total = initial(env);
    for (const v of items) {
      env.locals[value] = total;
      env.locals[item] = v;
      total = evaluate(env);
    }
    return total;
  };
};

const $in = two((v, list, _name, budget) => {
  if (!Array.isArray(list))
    throw new StoreError(40081, `$in requires an array as a second argument, found: ${typeAlias(list)}`);
  budget.spend(list.length);
  if (typeof v === "object") {
    measured(v, budget);
    measured(list, budget);
  }
  return v !== undefined && list.some((item) => sameValue(item, v));
});

const $indexOfArray = several(2, 4, ([array, wanted, ...bounds], budget, name) => {
  const items = arrayOf(array, 40090, `${name}'s first argument`);
  if (items === null) return null;
  const [from, to] = between(bounds, items.length, [9711600, 9711601], name);
  measured(items, budget);
  measured(wanted, budget);
  if (wanted === undefined) return -1;
  for (let i = from; i < to; i++) if (sameValue(items[i], wanted)) return i;
  return -1;
});

/** The start and end of a search, if given. Errors: `[code of what is no whole number, code of a negative one]`. */
export function between(
  bounds: readonly (Value | undefined)[],
  length: number,
  [type, range]: readonly [number, number],
  name: string,
): [number, number] {
  const [from = 0, to = length] = bounds.map((v, i) => {
    const n = int32Of(v, [type, type], `${name}'s ${i === 0 ? "starting" : "ending"} index`);
    if (n < 0)
      throw new StoreError(range, `${name}'s ${i === 0 ? "starting" : "ending"} index must be non-negative: ${n}`);
    return n;
  });
  return [from, Math.min(to, length)];
}

const $range = several(2, 3, (values, budget) => {
  const [from, to, by] = values.length > 2 ? values : [...values, 1];
  const start = int32Of(from, [34443, 34444], "$range's starting value");
  const end = int32Of(to, [34445, 34446], "$range's ending value");
  const step = int32Of(by, [34447, 34448], "$range's step value");
  if (step === 0) throw new StoreError(34449, "$range requires a non-zero step value");
  const length = Math.max(0, Math.ceil((end - start) / step));
  if (length > MAX_RANGE)
    throw new StoreError(
      "CommandNotSupported",
      `a $range of ${length} elements is not in the embedded store, which makes ${MAX_RANGE} at most; run a MongoDB`,
    );
  budget.spend(length);
  return Array.from({ length }, (_, i) => start + i * step);
});

const $reverseArray = one((v, name) => arrayOf(v, 34435, `the argument to ${name}`)?.toReversed() ?? null);

/** Arrays. */
export const ARRAYS: Readonly<Record<string, Operator>> = {
  $arrayElemAt,
  $first: atEnd(0),
  $last: atEnd(-1),
  $size,
  $slice,
  $concatArrays,
  $filter,
  $map,
  $reduce,
  $in,
  $indexOfArray,
  $range,
  $reverseArray,
};
