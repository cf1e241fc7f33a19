import { decode } from "../bson/bson-reader.ts";
import type { Collection, Stored } from "../storage/collection.ts";
import { StoreError } from "../bson/errors.ts";
import type { Scope } from "../expressions/expressions.ts";
import { compileFilter } from "./matcher.ts";
import { plan } from "../planner/planner.ts";
import type { Plan, Query } from "../planner/query-plan.ts";
import { countKeys, scan, type ScanCounters } from "../planner/index-scan.ts";
import { sortBy } from "./sort.ts";
import type { Storage } from "../storage/storage.ts";
import type { Doc } from "../bson/values.ts";

/** MongoDB's bound on what a sort without an index may hold, bytes. */
const MAX_SORT_BYTES = 100 * 1024 * 1024;

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
  plan: Plan;
  counters: ScanCounters;
  run: () => Generator<Match, void>;
}

/** Plans a query over a collection. Errors: those of the filter, the sort and the hint; at run time MaxTimeMSExpired, 292 for too big a sort. */
export function prepare(
  storage: Storage,
  collection: Collection,
  query: Query,
  scope: Scope,
  deadline?: number,
): Prepared {
  const test = compileFilter(query.filter, scope);
  const chosen = plan(storage, collection, query);
  const counters: ScanCounters = { keys: 0, docs: 0, ...(deadline === undefined ? {} : { deadline }) };
  const first = chosen.sorted ? query.wanted : undefined;
  function* matches(): Generator<Match, void> {
    for (const stored of scan(storage, collection, chosen, first, counters)) {
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
    run: sort === undefined ? matches : (): Generator<Match, void> => sorted(matches(), sort),
  };
}

function* sorted(matches: Iterable<Match>, sort: Doc): Generator<Match, void> {
  const held: Match[] = [];
  let bytes = 0;
  for (const m of matches) {
    held.push(m);
    bytes += m.bytes.length;
    if (bytes > MAX_SORT_BYTES)
      throw new StoreError(
        "QueryExceededMemoryLimitNoDiskUseAllowed",
        `Sort exceeded memory limit of ${MAX_SORT_BYTES} bytes. Add an index, or specify a smaller limit.`,
      );
  }
  yield* sortBy(held, sort, (m) => m.doc);
}

/** Skips and limits any sequence; a limit of 0 means none. */
export function* slice<T>(items: Iterable<T>, skip: number, limit: number): Generator<T, void> {
  let n = 0;
  if (limit !== 0 || skip !== 0) {
    for (const item of items) {
      if (n++ < skip) continue;
      yield item;
      if (limit !== 0 && n >= skip + limit) return;
    }
  } else yield* items;
}

/** How many documents meet a filter, counted on index keys alone where the plan allows it. */
export function countMatches(
  storage: Storage,
  collection: Collection,
  query: Query,
  scope: Scope,
  deadline?: number,
): number {
  const prepared = prepare(storage, collection, query, scope, deadline);
  const { plan: p } = prepared;
  if (p.exact && p.bounds.checks.length === 0)
    return p.index === undefined ? collection.count() : countKeys(storage, p.index, p.bounds.intervals);
  let n = 0;
  for (const _ of prepared.run()) n++;
  return n;
}
