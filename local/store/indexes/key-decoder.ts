import { KIND } from "../bson/values.ts";

const DOUBLE_BYTES = 8;
const REMAINDER_BYTES = 16;
const LENGTH_BYTES = 4;

/** Bytes of payloads of one length; 0 for those that their kind tells alone. */
const FIXED: Readonly<Record<number, number>> = {
  [KIND.minKey]: 0,
  [KIND.undefined]: 0,
  [KIND.null]: 0,
  [KIND.maxKey]: 0,
  [KIND.objectId]: 12,
  [KIND.bool]: 1,
  [KIND.date]: 8,
  [KIND.timestamp]: 8,
};

/** A byte as it was before a descending field turned it round. */
function byteAt(key: Uint8Array, at: number, flip: number): number {
  const b = key[at];
  if (b === undefined) throw new Error("the store's file holds an index key that ends too early");
  return b ^ flip;
}

/** Text is ended by 0 0; a 0 inside is written 0 255. */
function textEnd(key: Uint8Array, from: number, flip: number): number {
  for (let at = key.indexOf(flip, from); at >= 0; at = key.indexOf(flip, at + 2)) {
    if (byteAt(key, at + 1, flip) === 0) return at + 2;
  }
  throw new Error("the store's file holds an index key that ends too early");
}

function binaryEnd(key: Uint8Array, from: number, flip: number): number {
  let length = 0;
  for (let i = 0; i < LENGTH_BYTES; i++) length = length * 256 + byteAt(key, from + i, flip);
  return from + LENGTH_BYTES + 1 + length;
}

function arrayEnd(key: Uint8Array, from: number, flip: number): number {
  let at = from;
  while (byteAt(key, at, flip) !== 0) at = valueEnd(key, at, flip);
  return at + 1;
}

function docEnd(key: Uint8Array, from: number, flip: number): number {
  let at = from;
  for (;;) {
    const kind = byteAt(key, at, flip);
    if (kind === 0) return at + 1;
    at = payloadEnd(kind, key, textEnd(key, at + 1, flip), flip);
  }
}

function payloadEnd(kind: number, key: Uint8Array, from: number, flip: number): number {
  const fixed = FIXED[kind];
  if (fixed !== undefined) return from + fixed;
  switch (kind) {
    case KIND.number:
      return from + DOUBLE_BYTES + 1 + (byteAt(key, from + DOUBLE_BYTES, flip) === 0 ? 0 : REMAINDER_BYTES);
    case KIND.string:
    case KIND.code:
    case KIND.codeWithScope:
      return textEnd(key, from, flip);
    case KIND.regex:
      return textEnd(key, textEnd(key, from, flip), flip);
    case KIND.binary:
      return binaryEnd(key, from, flip);
    case KIND.array:
      return arrayEnd(key, from, flip);
    case KIND.object:
      return docEnd(key, from, flip);
    default:
      throw new Error(`the store's file holds an index key of unknown kind ${kind}`);
  }
}

function valueEnd(key: Uint8Array, from: number, flip: number): number {
  return payloadEnd(byteAt(key, from, flip), key, from + 1, flip);
}

/** Where the part of a compound key that begins at `from` ends (what `encodeKey` wrote for one field). Errors: a key that is none. */
export function partEnd(key: Uint8Array, from: number, descending: boolean): number {
  return valueEnd(key, from, descending ? 255 : 0);
}
