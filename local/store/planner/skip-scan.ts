import type { Check } from "./index-bounds.ts";
import { successor } from "../indexes/byte-order.ts";
import { partEnd } from "../indexes/key-decoder.ts";

/** Where a scan goes on after a key out of bounds: `next` bounds what is left (from it, or backwards: below it); absent when nothing is left. */
export interface Skip {
  next: Uint8Array | undefined;
}

/** Compares the rest of a key with a bound, without a copy. */
function compareFrom(key: Buffer, from: number, bound: Uint8Array): number {
  return key.compare(bound, 0, bound.length, from);
}

/** How many of the stretches begin at or below the rest of the key. */
function beginBelow(key: Buffer, from: number, check: Check): number {
  let [lo, hi] = [0, check.stretches.length];
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    const stretch = check.stretches[mid];
    if (stretch !== undefined && compareFrom(key, from, stretch.lo) >= 0) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

function seek(key: Buffer, from: number, check: Check, below: number, reverse: boolean): Skip {
  const prefix = key.subarray(0, from);
  if (!reverse) {
    const next = check.stretches[below];
    return { next: next === undefined ? successor(prefix) : Buffer.concat([prefix, next.lo]) };
  }
  const previous = check.stretches[below - 1];
  if (previous === undefined) return { next: prefix };
  return { next: previous.hi === undefined ? successor(prefix) : Buffer.concat([prefix, previous.hi]) };
}

/**
 * Judges a key by the conditions on the fields behind the scan's own range: undefined when it meets them, else where the next
 * key that may meet them lies, so that a scan steps over all keys between (MongoDB's index bounds checker does the same).
 */
export function outOfBounds(
  bytes: Uint8Array,
  descending: readonly boolean[],
  checks: readonly Check[],
  reverse: boolean,
): Skip | undefined {
  const key = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let [position, from] = [0, 0];
  for (const check of checks) {
    for (; position < check.position; position++) from = partEnd(key, from, descending[position] === true);
    const below = beginBelow(key, from, check);
    const stretch = check.stretches[below - 1];
    if (stretch !== undefined && (stretch.hi === undefined || compareFrom(key, from, stretch.hi) < 0)) continue;
    return seek(key, from, check, below, reverse);
  }
  return undefined;
}
