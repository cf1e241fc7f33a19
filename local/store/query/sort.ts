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

/** Sorts documents, each key read once. Stable. */
export function sortBy<T>(items: readonly T[], sort: Doc, docOf: (item: T) => Doc): T[] {
  const fields = sortFields(sort).map((f) => ({ ...f, parts: f.path.split(".") }));
  const keyed = items.map((item) => ({ item, keys: fields.map((f) => sortKey(docOf(item), f.parts, f.direction)) }));
  keyed.sort((a, b) => {
    for (const [i, f] of fields.entries()) {
      const c = compareKeys(a.keys[i] ?? null, b.keys[i] ?? null);
      if (c !== 0) return c * f.direction;
    }
    return 0;
  });
  return keyed.map((k) => k.item);
}
