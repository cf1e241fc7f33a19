/** A stretch of index keys: from `lo` (inclusive) to `hi` (exclusive, absent: to the end), compared as bytes. */
export interface Interval {
  lo: Uint8Array;
  hi: Uint8Array | undefined;
}

/** The least byte string above all strings that begin with `b`; undefined when there is none. */
export function successor(b: Uint8Array): Uint8Array | undefined {
  let end = b.length;
  while (end > 0 && b[end - 1] === 255) end--;
  if (end === 0) return undefined;
  const out = new Uint8Array(b.subarray(0, end));
  out[end - 1] = (out[end - 1] ?? 0) + 1;
  return out;
}

/** Order of two keys, as sqlite compares blobs. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  return Buffer.compare(a, b);
}

/** Two byte strings, one after the other. */
export function concat(a: Uint8Array, b: Uint8Array): Uint8Array {
  return Buffer.concat([a, b]);
}
