import { holdsTrue } from "./expression.ts";
import { compare, equal, isPlain, reached, typeRank, type Doc } from "./values.ts";

/** A filter as the driver takes it. */
export type Filter = Record<string, unknown>;

const isOperators = (v: unknown): v is Doc => {
  if (!isPlain(v)) return false;
  for (const key in v) return key.startsWith("$");
  return false;
};

/** What the path stands for, and, where that is an array, its elements too. */
const candidates = (values: readonly unknown[]): readonly unknown[] =>
  values.some(Array.isArray) ? values.flatMap((v) => (Array.isArray(v) ? [v, ...(v as unknown[])] : [v])) : values;

const equals = (values: readonly unknown[], wanted: unknown): boolean =>
  wanted === null ? values.length === 0 || values.some((v) => v === null) : values.some((v) => equal(v, wanted));

const ordered = (values: readonly unknown[], bound: unknown, fits: (c: number) => boolean): boolean => {
  const rank = typeRank(bound);
  return values.some((v) => typeRank(v) === rank && fits(compare(v, bound)));
};

function elementMatches(element: unknown, condition: Doc, now: Date): boolean {
  if (isOperators(condition)) return Object.entries(condition).every(([op, arg]) => operator(op, arg, [element], now));
  return isPlain(element) && matches(element, condition, now);
}

function operator(name: string, arg: unknown, values: readonly unknown[], now: Date): boolean {
  switch (name) {
    case "$eq":
      return equals(candidates(values), arg);
    case "$ne":
      return !equals(candidates(values), arg);
    case "$in":
      return (arg as unknown[]).some((a) => equals(candidates(values), a));
    case "$nin":
      return !(arg as unknown[]).some((a) => equals(candidates(values), a));
    case "$lt":
      return ordered(candidates(values), arg, (c) => c < 0);
    case "$lte":
      return ordered(candidates(values), arg, (c) => c <= 0);
    case "$gt":
      return ordered(candidates(values), arg, (c) => c > 0);
    case "$gte":
      return ordered(candidates(values), arg, (c) => c >= 0);
    case "$exists":
      return values.length > 0 === Boolean(arg);
    case "$size":
      return values.some((v) => Array.isArray(v) && v.length === arg);
    case "$elemMatch":
      return values.some((v) => Array.isArray(v) && v.some((e) => elementMatches(e, arg as Doc, now)));
    case "$not":
      return !Object.entries(arg as Doc).every(([op, inner]) => operator(op, inner, values, now));
    default:
      throw new Error(`the simulated database does not know the filter ${name}`);
  }
}

const isScalar = (v: unknown): v is string | number | boolean | Date | null =>
  typeof v !== "object" || v === null || v instanceof Date;

/** The operators that nearly every filter is made of, on a field that is no array; null: another one, or another kind of field. */
function scalarOperator(name: string, arg: unknown, value: unknown): boolean | null {
  if (!isScalar(value) || !isScalar(arg)) return null;
  switch (name) {
    case "$eq":
      return arg === null ? value === null || value === undefined : equal(value, arg);
    case "$ne":
      return arg === null ? value !== null && value !== undefined : !equal(value, arg);
    case "$lt":
      return typeRank(value) === typeRank(arg) && compare(value, arg) < 0;
    case "$lte":
      return typeRank(value) === typeRank(arg) && compare(value, arg) <= 0;
    case "$gt":
      return typeRank(value) === typeRank(arg) && compare(value, arg) > 0;
    case "$gte":
      return typeRank(value) === typeRank(arg) && compare(value, arg) >= 0;
    default:
      return null;
  }
}

/** null: it takes the long way. */
function plainFieldMatches(value: unknown, condition: unknown): boolean | null {
  if (isScalar(condition)) return scalarOperator("$eq", condition, value);
  if (!isOperators(condition)) return null;
  for (const name in condition) {
    const fits = scalarOperator(name, condition[name], value);
    if (fits !== true) return fits;
  }
  return true;
}

function fieldMatches(doc: Doc, path: string, condition: unknown, now: Date): boolean {
  if (condition === undefined)
    throw new Error(`a filter asks for ${path} to be undefined, which the driver reads as null`);
  const dotted = path.includes(".");
  const direct = dotted ? undefined : doc[path];
  const plain = dotted ? null : plainFieldMatches(direct, condition);
  if (plain !== null) return plain;
  const values = dotted ? reached(doc, path.split(".")) : direct === undefined ? [] : [direct];
  if (!isOperators(condition)) return equals(candidates(values), condition);
  for (const name in condition) if (!operator(name, condition[name], values, now)) return false;
  return true;
}

/** Whether a document fits a filter, as MongoDB judges. Operators that are not known throw, so that nothing is misread in silence. */
export function matches(doc: Doc, filter: Filter, now: Date): boolean {
  for (const key in filter) {
    const condition = filter[key];
    if (key === "$and") {
      if (!(condition as Filter[]).every((f) => matches(doc, f, now))) return false;
    } else if (key === "$or") {
      if (!(condition as Filter[]).some((f) => matches(doc, f, now))) return false;
    } else if (key === "$nor") {
      if ((condition as Filter[]).some((f) => matches(doc, f, now))) return false;
    } else if (key === "$expr") {
      if (!holdsTrue(condition, doc, now)) return false;
    } else if (key.startsWith("$")) throw new Error(`the simulated database does not know the filter ${key}`);
    else if (!fieldMatches(doc, key, condition, now)) return false;
  }
  return true;
}

/** Order of two documents by a sort specification. */
export function bySort(sort: Record<string, number>): (a: Doc, b: Doc) => number {
  const keys = Object.entries(sort).map(([path, direction]) => ({ parts: path.split("."), direction }));
  const keyOf = (doc: Doc, parts: string[], direction: number): unknown => {
    const values = candidates(reached(doc, parts)).filter((v) => !Array.isArray(v));
    return values.length === 0 ? null : values.reduce((best, v) => (compare(v, best) * direction < 0 ? v : best));
  };
  return (a, b) => {
    for (const { parts, direction } of keys) {
      const c = compare(keyOf(a, parts, direction), keyOf(b, parts, direction));
      if (c !== 0) return c * direction;
    }
    return 0;
  };
}
