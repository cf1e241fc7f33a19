import type { Budget } from "../budget.ts";
import { StoreError } from "../bson/errors.ts";
import { isDoc, isNumeric } from "../bson/values.ts";
import type { Value } from "../bson/values.ts";
import { keyText, measured, order } from "./expression-values.ts";
import { mergedDocs } from "./logic-operators.ts";
import { isNil, several } from "./operator.ts";
import type { Operator, Values } from "./operator.ts";
import { Total } from "./totals.ts";

/** The state of one accumulator in one group. */
export interface Accumulated {
  take: (v: Value | undefined) => void;
  result: () => Value;
}

/** Begins an accumulator for a new group. */
export type Accumulator = (budget: Budget) => Accumulated;

const totalling =
  (result: (total: Total) => Value): Accumulator =>
  () => {
    const total = new Total();
    return {
      take: (v) => {
        if (isNumeric(v)) total.add(v);
      },
      result: () => result(total),
    };
  };

/** One value that a group keeps until it is finished, or until another takes its place. */
function keeper(budget: Budget): { value: Value | undefined; keep: (v: Value | undefined) => void } {
  let held = 0;
  const kept: ReturnType<typeof keeper> = {
    value: undefined,
    keep: (v) => {
      const size = measured(v, budget);
      budget.hold(size - held);
      held = size;
      kept.value = v;
    },
  };
  return kept;
}

/** Keeps the greatest (`sign` 1) or the least value; null and missing do not count. */
const extreme =
  (sign: 1 | -1): Accumulator =>
  (budget) => {
    const best = keeper(budget);
    return {
      take: (v) => {
        if (!isNil(v) && (best.value === undefined || order(v, best.value, budget) * sign > 0)) best.keep(v);
      },
      result: () => best.value ?? null,
    };
  };

const $first: Accumulator = (budget) => {
  const first = keeper(budget);
  let any = false;
  return {
    take: (v) => {
      if (!any) first.keep(v);
      any = true;
    },
    result: () => first.value ?? null,
  };
};

const $last: Accumulator = (budget) => {
  const last = keeper(budget);
  return { take: last.keep, result: () => last.value ?? null };
};

const $push: Accumulator = (budget) => {
  const all: Value[] = [];
  return {
    take: (v) => {
      if (v === undefined) return;
      budget.hold(measured(v, budget));
      all.push(v);
    },
    result: () => all,
  };
};

const $addToSet: Accumulator = (budget) => {
  const found = new Map<string, Value>();
  return {
    take: (v) => {
      if (v === undefined) return;
      const key = keyText(v, budget);
      if (found.has(key)) return;
      budget.hold(measured(v, budget) + key.length);
      found.set(key, v);
    },
    result: () => [...found.values()],
  };
};

const $mergeObjects: Accumulator = (budget) => {
  const merged = keeper(budget);
  return { take: (v) => merged.keep(mergedDocs([merged.value, v])), result: () => merged.value ?? {} };
};

const $count: Accumulator = () => {
  let n = 0;
  return {
    take: () => {
      n++;
    },
    result: () => n,
  };
};

/** The accumulators of $group. README's list is compared with it. */
export const ACCUMULATORS: ReadonlyMap<string, Accumulator> = new Map<string, Accumulator>([
  ["$sum", totalling((t) => t.sum())],
  ["$avg", totalling((t) => t.mean())],
  ["$min", extreme(-1)],
  ["$max", extreme(1)],
  ["$first", $first],
  ["$last", $last],
  ["$push", $push],
  ["$addToSet", $addToSet],
  ["$count", $count],
  ["$mergeObjects", $mergeObjects],
]);

/** An accumulator as an expression: over its one argument when that is an array, else over its arguments. */
function over(accumulator: Accumulator | undefined): Operator {
  return several(0, Infinity, (values, budget) => {
    const [only] = values;
    const list: Values = values.length === 1 && Array.isArray(only) ? only : values;
    const state = accumulator?.(budget);
    budget.spend(list.length);
    for (const v of list) state?.take(v);
    return state?.result() ?? null;
  });
}

/** The accumulators that are expressions too. */
export const ACCUMULATING: Readonly<Record<string, Operator>> = Object.fromEntries(
  ["$sum", "$avg", "$min", "$max"].map((name) => [name, over(ACCUMULATORS.get(name))]),
);

/** The accumulator of a field in $group and the expression it is given. Errors: 40234, 40238. */
export function accumulatorOf(field: string, spec: Value): [string, Value] {
  const [entry, ...more] = isDoc(spec) ? Object.entries(spec) : [];
  if (entry === undefined || !entry[0].startsWith("$"))
    throw new StoreError(40234, `The field '${field}' must be an accumulator object`);
  if (more.length > 0) throw new StoreError(40238, `The field '${field}' must specify one accumulator`);
  return entry;
}
