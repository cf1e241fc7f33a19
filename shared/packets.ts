/** Payloads of one message on the bus, in bytes: NATS takes a megabyte, and JSON and the rest of the message need room beside them. */
export const MAX_PACKET_BYTES = 400_000;

/** Splits a list into parts of at most `size` items. */
export const inParts = <T>(items: readonly T[], size: number): T[][] => packets(items, () => 0, 0, size);

/** Splits a list so that no part is larger than a message may be, nor longer than `maxItems`; an item larger than that goes alone. */
export function packets<T>(
  items: readonly T[],
  bytesOf: (item: T) => number,
  maxBytes: number,
  maxItems = Number.POSITIVE_INFINITY,
): T[][] {
  const out: T[][] = [];
  let part: T[] = [];
  let bytes = 0;
  for (const item of items) {
    const size = bytesOf(item);
    if (part.length > 0 && (bytes + size > maxBytes || part.length >= maxItems)) {
      out.push(part);
      part = [];
      bytes = 0;
    }
    part.push(item);
    bytes += size;
  }
  if (part.length > 0) out.push(part);
  return out;
}
