import { Binary, BSONRegExp, BSONSymbol, Code, Decimal128, Long, ObjectId, Timestamp } from "bson";
import { exactDouble, exactNumber, primitiveNumber } from "../bson/comparison.ts";
import { StoreError } from "../bson/errors.ts";
import { isDoc, KIND, kindOf } from "../bson/values.ts";
import type { Doc, Value } from "../bson/values.ts";

/** Bits of a double's last place kept behind it, so that int64 and decimal values between two doubles stay apart and in order. */
const REMAINDER_BITS = 128n;
const REMAINDER_BYTES = 16;

/** A growing buffer of key bytes. */
class KeyBytes {
  private buf = Buffer.allocUnsafe(64);
  length = 0;
  room(n: number): Buffer {
    if (this.length + n > this.buf.length) {
      const bigger = Buffer.allocUnsafe(Math.max(this.buf.length * 2, this.length + n));
      this.buf.copy(bigger, 0, 0, this.length);
      this.buf = bigger;
    }
    return this.buf;
  }
  byte(b: number): void {
    this.room(1)[this.length++] = b;
  }
  bytes(b: Uint8Array): void {
    this.room(b.length).set(b, this.length);
    this.length += b.length;
  }
  /** Turns the order of the bytes written since `from` around (a descending field). */
  invert(from: number): void {
    for (let i = from; i < this.length; i++) this.buf[i] = 255 - (this.buf[i] ?? 0);
  }
  /** The bytes written so far, as a copy. */
  result(): Uint8Array {
    return new Uint8Array(this.buf.subarray(0, this.length));
  }
}

const scratch = Buffer.alloc(8);

function nextBelow(d: number): number {
  scratch.writeDoubleBE(d);
  const bits = scratch.readBigInt64BE();
  scratch.writeBigInt64BE(d > 0 ? bits - 1n : bits + 1n);
  return scratch.readDoubleBE();
}

function writeDouble(out: KeyBytes, d: number): void {
  const buf = out.room(8);
  buf.writeDoubleBE(d === 0 ? 0 : d, out.length);
  // Sign-magnitude to an unsigned order: flip all bits of negatives, the sign bit of the others.
  if (d < 0) for (let i = out.length; i < out.length + 8; i++) buf[i] = 255 - (buf[i] ?? 0);
  else buf[out.length] = (buf[out.length] ?? 0) ^ 0x80;
  out.length += 8;
}

/** Writes a value that no double equals: the double below it, then the distance in units of the last place. */
function writeInexact(out: KeyBytes, v: Value, nearest: number): void {
  if (!Number.isFinite(nearest))
    throw new StoreError("BadValue", "a Decimal128 beyond the range of a double cannot be an index key here");
  const value = exactNumber(v);
  const low = Math.min(value.exponent, exactDouble(nearest).exponent);
  const scaled = (x: { digits: bigint; exponent: number }): bigint => x.digits * 10n ** BigInt(x.exponent - low);
  let floor = nearest;
  if (scaled(exactDouble(nearest)) > scaled(value)) floor = nearest === 0 ? -Number.MIN_VALUE : nextBelow(nearest);
  const above = floor < 0 ? -nextBelow(-floor) : nextAbove(floor);
  const ends = [floor, above].map(exactDouble);
  const lowest = Math.min(value.exponent, ...ends.map((e) => e.exponent));
  const at = (x: { digits: bigint; exponent: number }): bigint => x.digits * 10n ** BigInt(x.exponent - lowest);
  const [from, to] = [at(ends[0] ?? value), at(ends[1] ?? value)];
  const remainder = ((at(value) - from) << REMAINDER_BITS) / (to - from);
  writeDouble(out, floor);
  out.byte(remainder === 0n ? 0 : 1);
  if (remainder !== 0n) out.bytes(Buffer.from(remainder.toString(16).padStart(REMAINDER_BYTES * 2, "0"), "hex"));
}

function nextAbove(d: number): number {
  if (d === 0) return Number.MIN_VALUE;
  scratch.writeDoubleBE(d);
  const bits = scratch.readBigInt64BE();
  scratch.writeBigInt64BE(bits + 1n);
  return scratch.readDoubleBE();
}

function writeNumber(out: KeyBytes, v: Value): void {
  const n = primitiveNumber(v);
  const d = Number(n);
  if (Number.isNaN(d)) {
    out.bytes(Buffer.alloc(8));
    out.byte(0);
    return;
  }
  const inexact =
    typeof n === "bigint"
      ? BigInt(d) !== n
      : v instanceof Decimal128 && !/inf/iu.test(v.toString()) && !sameExact(v, d);
  if (inexact) {
    writeInexact(out, v, d);
    return;
  }
  writeDouble(out, d);
  out.byte(0);
}

function sameExact(v: Decimal128, d: number): boolean {
  if (!Number.isFinite(d)) return false;
  const a = exactNumber(v);
  const b = exactDouble(d);
  const low = Math.min(a.exponent, b.exponent);
  return a.digits * 10n ** BigInt(a.exponent - low) === b.digits * 10n ** BigInt(b.exponent - low);
}

/** UTF-8 with 0 escaped as 0 255, ended by 0 0: sorts as the bytes do and no key is a prefix of another. */
function writeText(out: KeyBytes, text: string): void {
  const bytes = Buffer.from(text, "utf8");
  if (!bytes.includes(0)) out.bytes(bytes);
  else
    for (const b of bytes) {
      out.byte(b);
      if (b === 0) out.byte(255);
    }
  out.byte(0);
  out.byte(0);
}

function writeDate(out: KeyBytes, ms: number): void {
  const buf = out.room(8);
  buf.writeBigUInt64BE(BigInt(ms) + 0x8000000000000000n, out.length);
  out.length += 8;
}

function writeDoc(out: KeyBytes, doc: Doc): void {
  for (const [name, v] of Object.entries(doc)) {
    out.byte(kindOf(v));
    writeText(out, name);
    writePayload(out, v);
  }
  out.byte(0);
}

function writeBinary(out: KeyBytes, v: Binary): void {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(v.position, 0);
  head.writeUInt8(v.sub_type, 4);
  out.bytes(head);
  out.bytes(v.buffer.subarray(0, v.position));
}

function writeClass(out: KeyBytes, v: Value): void {
  if (v instanceof ObjectId) out.bytes(v.id);
  else if (v instanceof Timestamp) out.bytes(Buffer.from(Long.prototype.toBytesBE.call(v)));
  else if (v instanceof Binary) writeBinary(out, v);
  else if (v instanceof BSONRegExp) {
    writeText(out, v.pattern);
    writeText(out, v.options);
  } else if (v instanceof BSONSymbol) writeText(out, v.value);
  else if (v instanceof Code) writeText(out, v.code);
  else if (isDoc(v)) writeDoc(out, v);
  // MinKey and MaxKey are told apart by their kind alone.
}

function writePayload(out: KeyBytes, v: Value | undefined): void {
  if (v === undefined || v === null) return;
  if (typeof v === "string") writeText(out, v);
  else if (typeof v === "boolean") out.byte(v ? 1 : 0);
  else if (v instanceof Date) writeDate(out, v.getTime());
  else if (Array.isArray(v)) {
    for (const item of v) writeValue(out, item);
    out.byte(0);
  } else if (kindOf(v) === KIND.number) writeNumber(out, v);
  else writeClass(out, v);
}

function writeValue(out: KeyBytes, v: Value | undefined): void {
  out.byte(kindOf(v));
  writePayload(out, v);
}

/** Stands for the key of an empty array: below null, as in MongoDB. */
export const EMPTY_ARRAY = Symbol("empty array");
/** One component of an index key. A missing field is null. */
export type KeyPart = Value | undefined | typeof EMPTY_ARRAY;

/** The bytes of a compound key; `memcmp` order of keys is MongoDB's order of the values, each part turned round where `descending`. */
export function encodeKey(parts: readonly KeyPart[], descending: readonly boolean[]): Uint8Array {
  const out = new KeyBytes();
  parts.forEach((part, i) => {
    const from = out.length;
    if (part === EMPTY_ARRAY) out.byte(KIND.undefined);
    else writeValue(out, part);
    if (descending[i] === true) out.invert(from);
  });
  return out.result();
}
