import { BSONRegExp } from "bson";
import { compareBytes, concat, successor } from "../indexes/byte-order.ts";
import type { Interval } from "../indexes/byte-order.ts";
import type { Index } from "../storage/index-table.ts";
import type { Conjunct } from "./conjuncts.ts";
import { encodeKey } from "../indexes/key-encoder.ts";
import { isTrue, KIND, kindOf } from "../bson/values.ts";
import type { Value } from "../bson/values.ts";

/** What the field at `position` of an index must be, where it stands behind the scan's own range; the stretches of its part of the key, in order. */
export interface Check {
  position: number;
  stretches: Interval[];
}

/** What an index can do for a set of conditions. */
export interface Bounds {
  intervals: Interval[];
  /** Leading fields fixed to one value each. */
  fixed: number;
  /** Leading fields fixed to one of several values, `fixed` included. */
  points: number;
  /** True when a range bounds the field after the points. */
  range: boolean;
  /** Conditions on fields behind the range: a scan steps over the keys that do not meet them (skip-scan.ts). */
  checks: Check[];
  /** True when a field without a condition lies before the last one that has one. */
  gap: boolean;
  /** The conditions that the intervals and checks express exactly: no document needs to be tested for them again. */
  exact: Set<Conjunct>;
}

/** Above this many key combinations of $in lists the remaining fields are tested on the documents instead. */
const MAX_POINTS = 1000;

function isPoint(c: Conjunct): boolean {
  if (c.op === "$eq") return !Array.isArray(c.arg) && !(c.arg instanceof BSONRegExp && c.inElement);
  if (c.op === "$in")
    return (
      Array.isArray(c.arg) && c.arg.length > 0 && c.arg.every((v) => !Array.isArray(v) && !(v instanceof BSONRegExp))
    );
  return false;
}

function valuesOf(c: Conjunct): Value[] {
  return c.op === "$in" && Array.isArray(c.arg) ? c.arg : [c.arg];
}

const NOTHING = new Uint8Array(0);

const RANGES = new Set(["$gt", "$gte", "$lt", "$lte"]);

function isRange(c: Conjunct): boolean {
  const kind = kindOf(c.arg);
  return (
    RANGES.has(c.op) &&
    kind !== KIND.minKey &&
    kind !== KIND.maxKey &&
    kind !== KIND.null &&
    kind !== KIND.array &&
    !(kind === KIND.number && encodesNaN(c.arg))
  );
}

function encodesNaN(v: Value): boolean {
  return Buffer.from(encodeKey([v], [false])).equals(NAN_KEY);
}

const NAN_KEY = Buffer.from([KIND.number, 0, 0, 0, 0, 0, 0, 0, 0, 0]);

/** The stretch of one ascending key part that a range condition covers. */
function rangeOf(c: Conjunct): { lo: Uint8Array; hi: Uint8Array } {
  const at = encodeKey([c.arg], [false]);
  const kind = kindOf(c.arg);
  const first = kind === KIND.number ? Uint8Array.from([...NAN_KEY.subarray(0, 9), 1]) : Uint8Array.of(kind);
  const last = Uint8Array.of(kind + 1);
  const above = successor(at) ?? last;
  switch (c.op) {
    case "$gt":
      return { lo: above, hi: last };
    case "$gte":
      return { lo: at, hi: last };
    case "$lt":
      return { lo: first, hi: at };
    default:
      return { lo: first, hi: above };
  }
}

function rangeInterval(conditions: Conjunct[], prefix: Uint8Array, descending: boolean): Interval | undefined {
  let lo: Uint8Array | undefined;
  let hi: Uint8Array | undefined;
  for (const c of conditions) {
    const r = rangeOf(c);
    if (lo === undefined || compareBytes(r.lo, lo) > 0) lo = r.lo;
    if (hi === undefined || compareBytes(r.hi, hi) < 0) hi = r.hi;
  }
  if (lo === undefined || hi === undefined || compareBytes(lo, hi) >= 0) return undefined;
  if (!descending) return { lo: concat(prefix, lo), hi: concat(prefix, hi) };
  // Inverted, [lo, hi) becomes (~hi, ~lo] where ~lo stands for every key that begins with it.
  const invert = (b: Uint8Array): Uint8Array => b.map((x) => 255 - x);
  return { lo: concat(prefix, successor(invert(hi)) ?? invert(hi)), hi: successor(concat(prefix, invert(lo))) };
}

/** In a multikey index two conditions on a field may be met by different elements, and so may fields under one array. */
function usable(index: Index, conjuncts: readonly Conjunct[], path: string, position: number): Conjunct[] {
  if (index.multikey && position > 0) {
    const first = index.keys.paths[0]?.split(".")[0];
    if (path.split(".")[0] === first) return [];
  }
  const own = conjuncts.filter((c) => c.path === path && (isPoint(c) || isRange(c)));
  if (!index.multikey || own.length < 2) return own;
  const together = own.filter((c) => c.inElement);
  return together.length > 1 ? together : own.slice(0, 1);
}

function mayBeExact(index: Index, c: Conjunct): boolean {
  return !index.multikey && !c.inElement && !(kindOf(c.arg) === KIND.object && c.op !== "$eq");
}

/** What `index` can do for the conditions of a filter. */
export function boundsOf(index: Index, conjuncts: readonly Conjunct[]): Bounds {
  const out: Bounds = { intervals: [], fixed: 0, points: 0, range: false, checks: [], gap: false, exact: new Set() };
  let prefixes: Uint8Array[] = [NOTHING];
  let position = 0;
  for (; position < index.keys.paths.length; position++) {
    const point = usable(index, conjuncts, index.keys.paths[position] ?? "", position).find(isPoint);
    if (point === undefined || prefixes.length * valuesOf(point).length > MAX_POINTS) break;
    prefixes = extend(prefixes, point, index.keys.descending[position] === true);
    if (out.points === out.fixed && valuesOf(point).length === 1) out.fixed++;
    out.points++;
    if (mayBeExact(index, point)) out.exact.add(point);
  }
  const ranges = usable(index, conjuncts, index.keys.paths[position] ?? "", position).filter(isRange);
  out.range = ranges.length > 0;
  out.intervals = prefixes.flatMap((p) =>
    out.range
      ? (rangeInterval(ranges, p, index.keys.descending[position] === true) ?? [])
      : { lo: p, hi: p.length === 0 ? undefined : successor(p) },
  );
  for (const c of ranges) if (mayBeExact(index, c)) out.exact.add(c);
  // In a multikey index one document has several keys: a key that is stepped over may not be its only one.
  if (!index.multikey && (out.points > 0 || out.range))
    addChecks(index, conjuncts, out.range ? position + 1 : position, out);
  for (const c of conjuncts)
    if (c.op === "$exists" && isTrue(c.arg) && provenByPoints(c, conjuncts, out)) out.exact.add(c);
  return out;
}

function addChecks(index: Index, conjuncts: readonly Conjunct[], first: number, out: Bounds): void {
  for (let position = first; position < index.keys.paths.length; position++) {
    const conditions = usable(index, conjuncts, index.keys.paths[position] ?? "", position);
    const descending = index.keys.descending[position] === true;
    const point = conditions.find(isPoint);
    const used = point === undefined ? conditions.filter(isRange) : [point];
    if (used.length === 0) continue;
    const stretches =
      point === undefined
        ? [rangeInterval(used, NOTHING, descending) ?? []].flat()
        : extend([NOTHING], point, descending).map((p) => ({ lo: p, hi: successor(p) }));
    if (stretches.length === 0) out.intervals = [];
    if (position > first + out.checks.length) out.gap = true;
    out.checks.push({ position, stretches });
    for (const c of used) if (mayBeExact(index, c)) out.exact.add(c);
  }
}

function provenByPoints(c: Conjunct, conjuncts: readonly Conjunct[], out: Bounds): boolean {
  return conjuncts.some((o) => o.path === c.path && o.op === "$eq" && out.exact.has(o) && kindOf(o.arg) !== KIND.null);
}

function extend(prefixes: Uint8Array[], point: Conjunct, descending: boolean): Uint8Array[] {
  const parts = valuesOf(point).map((v) => encodeKey([v], [descending]));
  const sorted =
    parts.length < 2
      ? parts
      : parts.sort(compareBytes).filter((p, i) => i === 0 || compareBytes(p, parts[i - 1] ?? p) !== 0);
  return prefixes.flatMap((prefix) => sorted.map((p) => (prefix.length === 0 ? p : concat(prefix, p))));
}
