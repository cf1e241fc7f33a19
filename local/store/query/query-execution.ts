import { REST, type Budget, type Flow, type Slices } from "../budget.ts";
import { decode } from "../bson/bson-reader.ts";
import type { Collection } from "../storage/collection.ts";
import type { Scope } from "../expressions/expressions.ts";
import { compileFilter } from "./matcher.ts";
import { plan } from "../planner/planner.ts";
import type { Plan, Query } from "../planner/query-plan.ts";
import { countKeys, scan, type ScanCounters } from "../planner/index-scan.ts";
import { sortFields, sortInSlices } from "./sort.ts";
import type { Storage, Stored } from "../storage/storage.ts";
import type { Doc } from "../bson/values.ts";

/** A document that meets a filter; decoded only when something asks for it. */
export class Match {
  readonly rid: number;
  readonly bytes: Uint8Array;
  private decoded: Doc | undefined;
  constructor(stored: Stored, decoded?: Doc) {
    this.rid = stored.rid;
    this.bytes = stored.bytes;
    this.decoded = decoded;
  }
  get doc(): Doc {
    this.decoded ??= decode(this.bytes);
    return this.decoded;
  }
}

/** A query ready to run: the plan is there to be explained, `run` may be called once. */
export interface Prepared {
  /** Undefined when the collection is not there. */
  plan: Plan | undefined;
  counters: ScanCounters;
  run: () => Generator<Match | typeof REST, void>;
}

/** Plans a query over a collection. Errors: those of the filter, the sort and the hint; at run time MaxTimeMSExpired, 292 for too big a sort. */
export function prepare(storage: Storage, collection: Collection | undefined, query: Query, scope: Scope): Prepared {
  const test = compileFilter(query.filter, scope);
  if (query.sort !== undefined) sortFields(query.sort);
  // What is wrong with a query is said also where there is nothing to search.
  const counters: ScanCounters = { keys: 0, docs: 0, budget: scope.budget };
  if (collection === undefined) return { plan: undefined, counters, run: function* nothing() {} };
  const chosen = plan(storage, collection, query);
  const first = chosen.sorted ? query.wanted : undefined;
  const found = scan(storage, collection, chosen, first, counters);
  const { budget } = scope;
  function* matches(): Generator<Match | typeof REST, void> {
    for (const stored of found) {
      budget.spend();
      if (stored === REST || budget.due()) yield REST;
      if (stored === REST) continue;
      if (chosen.exact) {
        yield new Match(stored);
        continue;
      }
      const doc = decode(stored.bytes);
      if (test(doc)) yield new Match(stored, doc);
    }
  }
  const sort = chosen.sorted ? undefined : query.sort;
  return {
    plan: chosen,
    counters,
    run: sort === undefined ? matches : () => sorted(matches(), sort, budget),
  };
}

function* sorted(matches: Flow<Match>, sort: Doc, budget: Budget): Generator<Match | typeof REST, void> {
  const held: Match[] = [];
  for (const m of matches) {
    if (m === REST) {
      yield REST;
      continue;
    }
    budget.hold(m.bytes.length);
    held.push(m);
  }
  yield* sortInSlices(held, sort, (m) => m.doc, budget);
}

/** Skips and limits any sequence; a limit of 0 means none. */
export function* slice<T>(items: Flow<T>, skip: number, limit: number): Generator<T | typeof REST, void> {
  let n = 0;
  for (const item of items) {
    if (item !== REST && n++ < skip) continue;
    yield item;
    if (limit !== 0 && n >= skip + limit) return;
  }
}

/** How many documents meet a filter, counted on index keys alone where the plan allows it. */
export function* countMatches(
  storage: Storage,
  collection: Collection | undefined,
  query: Query,
  scope: Scope,
): Slices<number> {
  const prepared = prepare(storage, collection, query, scope);
  const { plan: p } = prepared;
  if (collection === undefined || p === undefined) return 0;
  if (p.exact && p.bounds.checks.length === 0)
    return p.index === undefined ? collection.count() : countKeys(storage, p.index, p.bounds.intervals);
  let n = 0;
  for (const m of prepared.run()) {
    if (m === REST) yield REST;
    else n++;
  }
  return n;
}
