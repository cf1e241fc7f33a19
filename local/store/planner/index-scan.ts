import { REST, type Budget } from "../budget.ts";
import { compareBytes, type Interval } from "../indexes/byte-order.ts";
import type { Collection } from "../storage/collection.ts";
import type { Index } from "../storage/index-table.ts";
import { StoreError } from "../bson/errors.ts";
import type { Plan } from "./query-plan.ts";
import { outOfBounds, type Skip } from "./skip-scan.ts";
import { AT_MOST, blob, columns, integer, type Storage, type Stored } from "../storage/storage.ts";

const FIRST_PAGE = 32;
const LARGEST_PAGE = 1024;
/** Keys read at least after a step over others: the next one may be out of bounds as well. */
const SMALLEST_PAGE = 2;
/** Keys counted at most to compare two plans. */
const ESTIMATE_KEYS = 1000;
/** Beyond every key: no key begins with this byte (KIND.maxKey is 127, inverted 128). */
const ABOVE_ALL = Uint8Array.of(255, 255, 255, 255);
const NO_RID = -1;

/** What a scan has looked at so far, for explain; and what it may still do. */
export interface ScanCounters {
  keys: number;
  docs: number;
  budget: Budget;
}

/** Roughly how many keys lie in the intervals, counted up to a bound. */
export function estimate(storage: Storage, index: Index, intervals: readonly Interval[]): number {
  let n = 0;
  for (const { lo, hi } of intervals) {
    n += integer(
      storage.one(
        `SELECT count(*) AS n FROM (SELECT 1 FROM x_${index.id} WHERE key >= ? AND key < ? ${AT_MOST})`,
        lo,
        hi ?? ABOVE_ALL,
        ESTIMATE_KEYS,
      )?.["n"],
    );
    if (n >= ESTIMATE_KEYS) return ESTIMATE_KEYS;
  }
  return n;
}

/** Counts the keys of a plan whose bounds say it all. */
export function countKeys(storage: Storage, index: Index, intervals: readonly Interval[]): number {
  let n = 0;
  for (const { lo, hi } of intervals)
    n += integer(
      storage.one(`SELECT count(*) AS n FROM x_${index.id} WHERE key >= ? AND key < ?`, lo, hi ?? ABOVE_ALL)?.["n"],
    );
  return n;
}

function checkGoingOn(collection: Collection): void {
  if (collection.dropped) throw new StoreError("QueryPlanKilled", `collection dropped: ${collection.ns}`);
}

interface Entry extends Stored {
  key: Uint8Array;
}

function entryOf(row: unknown): Entry {
  const [rid, doc, crc, key] = columns(row);
  return { rid: integer(rid), bytes: blob(doc), crc: crc === null ? null : integer(crc), key: blob(key) };
}

function pageOf(
  storage: Storage,
  collection: Collection,
  index: Index,
  interval: Interval,
  after: { key: Uint8Array; rid: number } | undefined,
  reverse: boolean,
  limit: number,
): Entry[] {
  const from = `FROM x_${index.id} AS x CROSS JOIN d_${collection.id} AS d ON d.rid = x.rid`;
  const hi = interval.hi ?? ABOVE_ALL;
  const rows =
    after === undefined
      ? storage.rows(
          `SELECT d.rid, d.doc, d.crc, x.key ${from} WHERE x.key >= ? AND x.key < ? ORDER BY x.key ${reverse ? "DESC, x.rid DESC" : ", x.rid"} ${AT_MOST}`,
          interval.lo,
          hi,
          limit,
        )
      : reverse
        ? storage.rows(
            `SELECT d.rid, d.doc, d.crc, x.key ${from} WHERE x.key >= ? AND (x.key, x.rid) < (?, ?) ORDER BY x.key DESC, x.rid DESC ${AT_MOST}`,
            interval.lo,
            after.key,
            after.rid,
            limit,
          )
        : storage.rows(
            `SELECT d.rid, d.doc, d.crc, x.key ${from} WHERE (x.key, x.rid) > (?, ?) AND x.key < ? ORDER BY x.key, x.rid ${AT_MOST}`,
            after.key,
            after.rid,
            hi,
            limit,
          );
  return rows.map(entryOf);
}

function* scanIndex(
  storage: Storage,
  collection: Collection,
  p: Plan,
  index: Index,
  first: number,
  counters: ScanCounters,
): Generator<Stored | typeof REST, void> {
  const seen = index.multikey ? new Set<number>() : undefined;
  const intervals = p.reverse ? [...p.bounds.intervals].reverse() : p.bounds.intervals;
  let limit = first;
  for (const interval of intervals) {
    let after: { key: Uint8Array; rid: number } | undefined;
    for (;;) {
      if (counters.budget.due()) yield REST;
      checkGoingOn(collection);
      const page = pageOf(storage, collection, index, interval, after, p.reverse, limit);
      for (const entry of page) {
        counters.keys++;
        if (seen?.has(entry.rid) === true) continue;
        seen?.add(entry.rid);
        counters.docs++;
        yield collection.checked(entry);
      }
      if (page.length < limit) break;
      after = page.at(-1);
      limit = Math.min(limit * 4, LARGEST_PAGE);
    }
  }
}

/** A key of an index and the document it stands for. */
interface KeyEntry {
  key: Uint8Array;
  rid: number;
}

/** Keys alone, from `from` on (backwards: below it), behind `after` where pages follow each other. */
function keysOf(
  storage: Storage,
  index: Index,
  bounds: Interval,
  after: KeyEntry | undefined,
  reverse: boolean,
  limit: number,
): KeyEntry[] {
  const from = `SELECT key, rid FROM x_${index.id}`;
  const hi = bounds.hi ?? ABOVE_ALL;
  const rows =
    after === undefined
      ? storage.rows(
          `${from} WHERE key >= ? AND key < ? ORDER BY key ${reverse ? "DESC, rid DESC" : ", rid"} ${AT_MOST}`,
          bounds.lo,
          hi,
          limit,
        )
      : reverse
        ? storage.rows(
            `${from} WHERE key >= ? AND (key, rid) < (?, ?) ORDER BY key DESC, rid DESC ${AT_MOST}`,
            bounds.lo,
            after.key,
            after.rid,
            limit,
          )
        : storage.rows(
            `${from} WHERE (key, rid) > (?, ?) AND key < ? ORDER BY key, rid ${AT_MOST}`,
            after.key,
            after.rid,
            hi,
            limit,
          );
  return rows.map((row) => {
    const [key, rid] = columns(row);
    return { key: blob(key), rid: integer(rid) };
  });
}

/** What is left of an interval when a scan goes on at `next`; undefined when nothing is. */
function rest(interval: Interval, next: Uint8Array | undefined, reverse: boolean): Interval | undefined {
  if (next === undefined) return undefined;
  return reverse ? { lo: interval.lo, hi: next } : { lo: next, hi: interval.hi };
}

/** A page of keys judged: those that meet the checks, and where to go on if the last one does not. */
interface CheckedPage {
  hits: KeyEntry[];
  skip: Skip | undefined;
}

function checkPage(p: Plan, index: Index, page: readonly KeyEntry[]): CheckedPage {
  const {
    reverse,
    bounds: { checks },
  } = p;
  const out: CheckedPage = { hits: [], skip: undefined };
  for (const entry of page) {
    const next = out.skip?.next;
    if (
      out.skip !== undefined &&
      (next === undefined || (reverse ? compareBytes(entry.key, next) >= 0 : compareBytes(entry.key, next) < 0))
    )
      continue;
    out.skip = outOfBounds(entry.key, index.keys.descending, checks, reverse);
    if (out.skip === undefined) out.hits.push(entry);
  }
  return out;
}

/** The documents of the keys of an interval that meet the plan's checks. Keys in between are stepped over: within the page at hand, or by a new search. */
function* skipThrough(
  storage: Storage,
  collection: Collection,
  p: Plan,
  index: Index,
  interval: Interval,
  first: number,
  counters: ScanCounters,
): Generator<Stored | typeof REST, void> {
  let left: Interval | undefined = interval;
  let after: KeyEntry | undefined;
  let limit = first;
  while (left !== undefined) {
    if (counters.budget.due()) yield REST;
    checkGoingOn(collection);
    const page: KeyEntry[] = keysOf(storage, index, left, after, p.reverse, limit);
    const { hits, skip } = checkPage(p, index, page);
    counters.keys += page.length;
    // Read before anything is handed out: a scan may rest between two documents, and keys and documents must be of one moment.
    for (const found of hits.map(({ rid }) => collection.stored(rid))) {
      if (found === undefined) continue;
      counters.docs++;
      yield collection.checked(found);
    }
    if (page.length < limit) return;
    after = skip === undefined ? page.at(-1) : undefined;
    limit = skip === undefined ? Math.min(limit * 4, LARGEST_PAGE) : Math.max(limit >> 1, SMALLEST_PAGE);
    if (skip !== undefined) left = rest(left, skip.next, p.reverse);
  }
}

function* scanSkipping(
  storage: Storage,
  collection: Collection,
  p: Plan,
  index: Index,
  first: number,
  counters: ScanCounters,
): Generator<Stored | typeof REST, void> {
  const intervals = p.reverse ? [...p.bounds.intervals].reverse() : p.bounds.intervals;
  for (const interval of intervals) yield* skipThrough(storage, collection, p, index, interval, first, counters);
}

function* scanCollection(
  collection: Collection,
  reverse: boolean,
  first: number,
  counters: ScanCounters,
): Generator<Stored | typeof REST, void> {
  let rid = reverse ? Number.MAX_SAFE_INTEGER : NO_RID;
  let limit = first;
  for (;;) {
    if (counters.budget.due()) yield REST;
    checkGoingOn(collection);
    const page = collection.page(rid, limit, reverse);
    for (const entry of page) {
      counters.docs++;
      yield collection.checked(entry);
    }
    if (page.length < limit) return;
    rid = page.at(-1)?.rid ?? rid;
    limit = Math.min(limit * 4, LARGEST_PAGE);
  }
}

/**
 * The documents a plan leads to, page by page: between two pages no statement is open, so a scan may rest for as long as its
 * cursor lives, and sees what is written meanwhile. `first` bounds the first page (the number of documents wanted, if known).
 */
export function scan(
  storage: Storage,
  collection: Collection,
  p: Plan,
  first: number | undefined,
  counters: ScanCounters,
): Generator<Stored | typeof REST, void> {
  const page = Math.min(Math.max(first ?? FIRST_PAGE, 1), LARGEST_PAGE);
  if (p.index === undefined) return scanCollection(collection, p.reverse, page, counters);
  return p.bounds.checks.length > 0
    ? scanSkipping(storage, collection, p, p.index, page, counters)
    : scanIndex(storage, collection, p, p.index, page, counters);
}
