import { boundsOf, type Bounds } from "./index-bounds.ts";
import type { Collection } from "../storage/collection.ts";
import type { Index } from "../storage/index-table.ts";
import { identical } from "../bson/comparison.ts";
import { conjunctsOf, implies, type Conjunct } from "./conjuncts.ts";
import { StoreError } from "../bson/errors.ts";
import { estimate } from "./index-scan.ts";
import { sortFields, type SortFields } from "../query/sort.ts";
import type { Storage } from "../storage/storage.ts";
import { isDoc, type Value } from "../bson/values.ts";
import type { Plan, Query } from "./query-plan.ts";

const NO_BOUNDS: Bounds = {
  intervals: [],
  fixed: 0,
  points: 0,
  range: false,
  checks: [],
  gap: false,
  exact: new Set(),
};

function eligible(index: Index, conjuncts: readonly Conjunct[]): boolean {
  const { partialFilterExpression, sparse } = index.definition;
  if (partialFilterExpression !== undefined) return implies(conjuncts, partialFilterExpression);
  return !sparse || index.keys.paths.some((path) => implies(conjuncts, { [path]: { $exists: true } }));
}

/** Whether walking the index gives the order asked for: forwards, backwards or not at all. */
function orderOf(
  index: Index,
  bounds: Bounds,
  sort: SortFields,
  conjuncts: readonly Conjunct[],
): "forward" | "backward" | undefined {
  if (index.multikey) return undefined;
  const { paths, descending } = index.keys;
  const fixedPaths = new Set(paths.slice(0, bounds.fixed));
  // A field that a filter fixes to one value takes no part in the order.
  const left = sort.filter(
    (f) =>
      !fixedPaths.has(f.path) &&
      !conjuncts.some((c) => c.path === f.path && f.path === "_id" && c.op === "$eq" && !isDoc(c.arg)),
  );
  if (left.length === 0) return "forward";
  for (let start = bounds.fixed; start >= 0; start--) {
    const turns = left.map((f, i) =>
      paths[start + i] === f.path ? ((descending[start + i] === true) === (f.direction === -1) ? 1 : -1) : 0,
    );
    if (turns.every((t) => t === 1)) return "forward";
    if (turns.every((t) => t === -1)) return "backward";
  }
  return undefined;
}

function planFor(index: Index, conjuncts: readonly Conjunct[], sort: SortFields): Plan {
  const bounds = boundsOf(index, conjuncts);
  const order = orderOf(index, bounds, sort, conjuncts);
  const partial = index.definition.partialFilterExpression;
  const exact = conjuncts.every(
    (c) =>
      bounds.exact.has(c) ||
      (partial !== undefined &&
        !index.multikey &&
        c.op === "$exists" &&
        isDoc(partial[c.path]) &&
        identical(partial[c.path], { [c.op]: c.arg })),
  );
  return { index, bounds, reverse: order === "backward", sorted: order !== undefined, exact };
}

function scanAll(conjuncts: readonly Conjunct[], sort: SortFields, reverse = false): Plan {
  return { bounds: NO_BOUNDS, reverse, sorted: sort.length === 0, exact: conjuncts.length === 0 };
}

function hinted(collection: Collection, hint: Value, conjuncts: readonly Conjunct[], sort: SortFields): Plan {
  if (isDoc(hint) && hint["$natural"] !== undefined) return scanAll(conjuncts, sort, hint["$natural"] === -1);
  const index = collection.indexes.find((i) =>
    typeof hint === "string" ? i.definition.name === hint : identical(i.definition.key, hint),
  );
  if (index === undefined)
    throw new StoreError(
      "BadValue",
      `error processing query: ns=${collection.ns} planner returned error :: caused by :: hint provided does not correspond to an existing index`,
    );
  if (index.definition.partialFilterExpression !== undefined && !eligible(index, conjuncts)) {
    throw new StoreError(
      291,
      "error processing query: planner returned error :: caused by :: the hinted partial index does not cover the query",
    );
  }
  return planFor(index, conjuncts, sort);
}

function holdsFewer(p: Plan): boolean {
  return (
    p.index !== undefined && (p.index.definition.sparse || p.index.definition.partialFilterExpression !== undefined)
  );
}

/** The plan by a unique index all of whose fields are fixed: at most one document, so no other plan needs to be looked at. */
function uniquePoint(collection: Collection, conjuncts: readonly Conjunct[]): Plan | undefined {
  for (const index of collection.indexes) {
    if (
      !index.definition.unique ||
      !index.keys.paths.every((path) => conjuncts.some((c) => c.path === path)) ||
      !eligible(index, conjuncts)
    )
      continue;
    const found = planFor(index, conjuncts, []);
    if (found.bounds.fixed === index.keys.paths.length) return { ...found, sorted: true };
  }
  return undefined;
}

/** True when the scan may end as soon as enough has been found. */
function stops(p: Plan, wanted: number | undefined, sorting: boolean): boolean {
  return wanted !== undefined && (p.sorted || !sorting);
}

/** Keys to be walked for `wanted` documents when `keys` lie in the bounds. */
function walked(p: Plan, keys: number, wanted: number): number {
  if (!p.exact || p.bounds.gap) return Math.min(keys, Math.max(wanted, keys / 2));
  // How many keys a scan that skips must look at is not known: few next to what it steps over.
  return Math.min(keys, p.bounds.checks.length === 0 ? wanted : Math.max(wanted, Math.sqrt(keys)));
}

/** A number to compare plans by: keys to be walked, plus what sorting costs. */
function cost(storage: Storage, p: Plan, wanted: number | undefined, sorting: boolean): number {
  const keys = p.index === undefined ? Number.MAX_SAFE_INTEGER : estimate(storage, p.index, p.bounds.intervals);
  const n = wanted !== undefined && stops(p, wanted, sorting) ? walked(p, keys, wanted) : keys;
  return n * (sorting && !p.sorted ? 2 : 1) - p.bounds.points / 100 - (p.bounds.range ? 1 / 200 : 0);
}

/** Chooses how to run a query. Errors: BadValue for a hint that names no index, those of a malformed sort. */
export function plan(storage: Storage, collection: Collection, query: Query): Plan {
  const conjuncts = conjunctsOf(query.filter);
  const natural = query.sort?.["$natural"];
  const sort = query.sort === undefined || natural !== undefined ? [] : sortFields(query.sort);
  if (query.hint !== undefined && !(isDoc(query.hint) && Object.keys(query.hint).length === 0))
    return hinted(collection, query.hint, conjuncts, sort);
  if (natural !== undefined) return scanAll(conjuncts, sort, natural === -1);
  const unique = uniquePoint(collection, conjuncts);
  if (unique !== undefined) return unique;
  const all = collection.indexes.filter((i) => eligible(i, conjuncts)).map((i) => planFor(i, conjuncts, sort));
  // A partial or sparse index that may be used holds fewer keys than there are documents.
  const useful = all.filter(
    (p) => p.bounds.points > 0 || p.bounds.range || (sort.length > 0 && p.sorted) || holdsFewer(p),
  );
  const [first] = useful;
  if (first === undefined) return scanAll(conjuncts, sort);
  if (useful.length === 1) return first;
  const priced = useful.map((p) => ({ p, price: cost(storage, p, query.wanted, sort.length > 0) }));
  return priced.reduce((best, x) => (x.price < best.price ? x : best)).p;
}
