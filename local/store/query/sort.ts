import { REST, type Budget, type Slices } from "../budget.ts";
import { compareValues } from "../bson/comparison.ts";
import { StoreError } from "../bson/errors.ts";
import { EMPTY_ARRAY } from "../indexes/key-encoder.ts";
import { visitPath } from "../bson/paths.ts";
import { asNumber } from "../bson/values.ts";
import type { Doc, Value } from "../bson/values.ts";

/** A sort pattern, checked: path and direction of each field. */
export type SortFields = { path: string; direction: 1 | -1 }[];

/** Checks a sort document. Errors: BadValue for a direction other than 1 and -1, CommandNotSupported for $meta. */
export function sortFields(sort: Doc): SortFields {
  return Object.entries(sort).map(([path, v]) => {
    const direction = asNumber(v);
    if (typeof v === "object" && direction === undefined)
      throw new StoreError("CommandNotSupported", "sorting by $meta is not supported by the embedded store");
    if (direction !== 1 && direction !== -1)
      throw new StoreError(15975, "$sort key ordering must be 1 (for ascending) or -1 (for descending)");
    if (path === "" || path.split(".").includes(""))
      throw new StoreError(15998, "FieldPath field names may not be empty strings.");
    return { path, direction };
  });
}

type Key = Value | typeof EMPTY_ARRAY;

function compareKeys(a: Key, b: Key): number {
  if (a === EMPTY_ARRAY || b === EMPTY_ARRAY) {
    // An empty array sorts below null, as its index key does, but above MinKey, the only kind below it.
    if (a === b) return 0;
    const other = a === EMPTY_ARRAY ? b : a;
    const below = other !== EMPTY_ARRAY && compareValues(other, null) < 0 ? 1 : -1;
    return a === EMPTY_ARRAY ? below : -below;
  }
  return compareValues(a, b);
}

function sortKey(doc: Doc, parts: string[], direction: 1 | -1): Key {
  let best: Key | undefined;
  const consider = (v: Key): void => {
    if (best === undefined || compareKeys(v, best) * direction < 0) best = v;
  };
  visitPath(doc, parts, (v) => {
    if (!Array.isArray(v)) consider(v ?? null);
    else if (v.length === 0) consider(EMPTY_ARRAY);
    else v.forEach(consider);
    return false;
  });
  return best ?? null;
}

/** A comparator for documents: arrays sort by their least element ascending and their greatest descending, as MongoDB does. */
export function sortOrder(sort: Doc): (a: Doc, b: Doc) => number {
  const fields = sortFields(sort).map((f) => ({ ...f, parts: f.path.split(".") }));
  return (a, b) => {
    for (const { parts, direction } of fields) {
      const c = compareKeys(sortKey(a, parts, direction), sortKey(b, parts, direction));
      if (c !== 0) return c * direction;
    }
    return 0;
  };
}

interface Keyed<T> {
  item: T;
  keys: Key[];
}

/** How items are given their keys, each read once, and compared. */
function keyedBy<T>(sort: Doc, docOf: (item: T) => Doc): [(item: T) => Keyed<T>, (a: Keyed<T>, b: Keyed<T>) => number] {
  const fields = sortFields(sort).map((f) => ({ ...f, parts: f.path.split(".") }));
  const compare = (a: Keyed<T>, b: Keyed<T>): number => {
    for (const [i, f] of fields.entries()) {
      const c = compareKeys(a.keys[i] ?? null, b.keys[i] ?? null);
      if (c !== 0) return c * f.direction;
    }
    return 0;
  };
  return [(item) => ({ item, keys: fields.map((f) => sortKey(docOf(item), f.parts, f.direction)) }), compare];
}

/** Items sorted in one go; more of them are sorted in runs of so many, which are then merged. */
const RUN = 512;

/** Sorts documents, and rests on the way. Stable. */
export function* sortInSlices<T>(
  items: readonly T[],
  sort: Doc,
  docOf: (item: T) => Doc,
  budget: Budget,
): Generator<T | typeof REST, void> {
  const [keyed, compare] = keyedBy(sort, docOf);
  const all: Keyed<T>[] = [];
  for (const item of items) {
    if (budget.due()) yield REST;
    all.push(keyed(item));
  }
  for (const { item } of yield* orderedInSlices(all, compare, budget)) yield item;
}

/** Sorts items by a comparison, and rests on the way. Stable. */
export function* orderedInSlices<T>(items: readonly T[], compare: (a: T, b: T) => number, budget: Budget): Slices<T[]> {
  let runs: T[][] = [];
  for (let from = 0; from < items.length; from += RUN) {
    if (budget.due()) yield REST;
    runs.push(items.slice(from, from + RUN).sort(compare));
  }
  while (runs.length > 1) {
    const longer: T[][] = [];
    for (let i = 0; i < runs.length; i += 2)
      longer.push(yield* merged(runs[i] ?? [], runs[i + 1] ?? [], compare, budget));
    runs = longer;
  }
  return runs[0] ?? [];
}

function* merged<T>(a: T[], b: T[], compare: (a: T, b: T) => number, budget: Budget): Slices<T[]> {
  const [last, first] = [a.at(-1), b[0]];
  // What is in order already stays so.
  if (last === undefined || first === undefined || compare(last, first) <= 0) return a.concat(b);
  const out: T[] = [];
  let [i, j] = [0, 0];
  for (;;) {
    if (out.length % RUN === 0 && budget.due()) yield REST;
    const [left, right] = [a[i], b[j]];
    if (left === undefined && right === undefined) return out;
    if (right === undefined || (left !== undefined && compare(left, right) <= 0)) {
      if (left !== undefined) out.push(left);
      i++;
    } else {
      out.push(right);
      j++;
    }
  }
}
