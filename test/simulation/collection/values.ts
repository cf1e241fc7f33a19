/** A document of the simulated database: plain values, arrays and dates only. */
export type Doc = Record<string, unknown>;

/** True for a plain object: no array, no date, no null. */
export const isPlain = (v: unknown): v is Doc =>
  typeof v === "object" && v !== null && !Array.isArray(v) && !(v instanceof Date);

/** A deep copy; fields that are undefined are left out, as the driver leaves them out of inserts. */
export function copy<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Date) return new Date(value.getTime()) as T;
  if (Array.isArray(value)) return value.map((v) => copy<unknown>(v)) as T;
  const out: Doc = {};
  for (const key in value) {
    const inner: unknown = value[key];
    if (inner !== undefined) out[key] = copy(inner);
  }
  return out as T;
}

const TYPE_ORDER = { missing: 0, null: 1, number: 2, string: 3, object: 4, array: 5, boolean: 8, date: 9 } as const;

/** Place of a value's type in MongoDB's order of types. */
export function typeRank(v: unknown): number {
  if (v === undefined) return TYPE_ORDER.missing;
  if (v === null) return TYPE_ORDER.null;
  if (typeof v === "number") return TYPE_ORDER.number;
  if (typeof v === "string") return TYPE_ORDER.string;
  if (typeof v === "boolean") return TYPE_ORDER.boolean;
  if (v instanceof Date) return TYPE_ORDER.date;
  if (Array.isArray(v)) return TYPE_ORDER.array;
  if (isPlain(v)) return TYPE_ORDER.object;
  throw new Error(`the simulated database knows no ${typeof v}`);
}

const sign = (a: number | string, b: number | string): number => (a < b ? -1 : a > b ? 1 : 0);

function compareLists(a: readonly unknown[], b: readonly unknown[]): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const c = compare(a[i], b[i]);
    if (c !== 0) return c;
  }
  return sign(a.length, b.length);
}

/** MongoDB's total order of values, types first. */
export function compare(a: unknown, b: unknown): number {
  if (typeof a === "string" && typeof b === "string") return sign(a, b);
  if (a instanceof Date && b instanceof Date) return sign(a.getTime(), b.getTime());
  const rank = typeRank(a);
  const other = typeRank(b);
  if (rank !== other) return sign(rank, other);
  if (typeof a === "number" && typeof b === "number") return sign(a, b);
  if (typeof a === "boolean" && typeof b === "boolean") return sign(Number(a), Number(b));
  if (Array.isArray(a) && Array.isArray(b)) return compareLists(a, b);
  if (isPlain(a) && isPlain(b)) return compareLists(Object.entries(a).flat(), Object.entries(b).flat());
  return 0;
}

/** Equality as filters see it. */
export const equal = (a: unknown, b: unknown): boolean => a === b || compare(a, b) === 0;

/** The value at a dotted path, arrays entered by position only. */
export function at(doc: unknown, path: string): unknown {
  let value: unknown = doc;
  for (const part of path.split(".")) {
    if (typeof value !== "object" || value === null) return undefined;
    value = (value as Doc)[part];
  }
  return value;
}

const INDEX = /^\d+$/;

/** Everything a filter's dotted path may mean: arrays on the way stand for each of their elements. */
export function reached(value: unknown, parts: readonly string[], from = 0): unknown[] {
  const part = parts[from];
  if (part === undefined) return value === undefined ? [] : [value];
  if (Array.isArray(value)) {
    const inner = value.flatMap((v) => (isPlain(v) ? reached(v, parts, from) : []));
    return INDEX.test(part) ? [...reached(value[Number(part)], parts, from + 1), ...inner] : inner;
  }
  return isPlain(value) ? reached(value[part], parts, from + 1) : [];
}
