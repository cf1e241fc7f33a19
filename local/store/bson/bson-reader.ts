import { isUtf8 } from "node:buffer";
import {
  Binary,
  BSONRegExp,
  BSONSymbol,
  Code,
  Decimal128,
  Double,
  Long,
  MaxKey,
  MinKey,
  ObjectId,
  Timestamp,
} from "bson";
import { StoreError } from "./errors.ts";
import { checkRegexOptions } from "./regex.ts";
import type { Doc, Value } from "./values.ts";

/** MongoDB's nesting bound for BSON (BSONDepth::kDefaultMaxAllowableDepth). */
const MAX_DEPTH = 200;
const MAX_DATE_MS = 8.64e15;
const SHORT_NAME_BYTES = 24;

function invalid(what: string): StoreError {
  return new StoreError("InvalidBSON", `invalid BSON: ${what}`);
}

/** A read position in a BSON buffer; every read is bounds-checked by Buffer or by hand. */
interface Reader {
  buf: Buffer;
  at: number;
  depth: number;
}

/** Names met lately, by their hash: documents say the same few over and over, and a text that is there already need not be made and hashed again. */
const NAMES: (string | undefined)[] = Array.from({ length: 4096 }, () => undefined);

function isSame(name: string, buf: Buffer, start: number, end: number): boolean {
  if (name.length !== end - start) return false;
  for (let i = 0; i < name.length; i++) if (name.charCodeAt(i) !== buf[start + i]) return false;
  return true;
}

/** The ASCII text between two places of the buffer. */
function knownName(buf: Buffer, start: number, end: number, hash: number): string {
  const slot = hash & (NAMES.length - 1);
  const known = NAMES[slot];
  if (known !== undefined && isSame(known, buf, start, end)) return known;
  const name = buf.toString("latin1", start, end);
  NAMES[slot] = name;
  return name;
}

function readName(r: Reader): string {
  const { buf } = r;
  const start = r.at;
  const shortEnd = Math.min(start + SHORT_NAME_BYTES, buf.length);
  let hash = 0;
  for (let i = start; i < shortEnd; i++) {
    const c = buf[i] ?? 0;
    if (c === 0) {
      r.at = i + 1;
      return knownName(buf, start, i, hash);
    }
    if (c > 127) break;
    hash = (hash * 31 + c) | 0;
  }
  const end = buf.indexOf(0, start);
  if (end === -1) throw invalid("a field name does not end");
  r.at = end + 1;
  return buf.toString("utf8", start, end);
}

function readString(r: Reader): string {
  const length = r.buf.readInt32LE(r.at);
  const start = r.at + 4;
  const end = start + length - 1;
  if (length < 1 || end >= r.buf.length || r.buf[end] !== 0) throw invalid("a string's length is wrong");
  r.at = end + 1;
  const text = r.buf.toString("utf8", start, end);
  if (text.includes("\ufffd") && !isUtf8(r.buf.subarray(start, end))) throw invalid("a string is not UTF-8");
  return text;
}

function readBytes(r: Reader, length: number): Uint8Array {
  if (length < 0 || r.at + length > r.buf.length) throw invalid("a binary's length is wrong");
  // A copy: the values outlive the network or page buffer they were read from.
  const bytes = new Uint8Array(r.buf.subarray(r.at, r.at + length));
  r.at += length;
  return bytes;
}

function readBinary(r: Reader): Binary {
  const length = r.buf.readInt32LE(r.at);
  const subType = r.buf.readUInt8(r.at + 4);
  r.at += 5;
  if (subType !== Binary.SUBTYPE_BYTE_ARRAY) return new Binary(readBytes(r, length), subType);
  // The old generic subtype carries its length twice; bson writes both back.
  r.at += 4;
  return new Binary(readBytes(r, length - 4), subType);
}

function readLong(r: Reader): Long {
  const value = new Long(r.buf.readInt32LE(r.at), r.buf.readInt32LE(r.at + 4));
  r.at += 8;
  return value;
}

function readDate(r: Reader): Date {
  const ms = readLong(r).toNumber();
  if (Math.abs(ms) > MAX_DATE_MS)
    throw new StoreError("BadValue", "a date outside the years -271821 to 275760 cannot be stored");
  return new Date(ms);
}

function readDouble(r: Reader): Value {
  const n = r.buf.readDoubleLE(r.at);
  r.at += 8;
  return Number.isInteger(n) || !Number.isFinite(n) ? new Double(n) : n;
}

function readCodeWithScope(r: Reader): Code {
  r.at += 4;
  return new Code(readString(r), readDocument(r, false));
}

function readRegex(r: Reader): BSONRegExp {
  const pattern = readName(r);
  const options = readName(r);
  checkRegexOptions(options);
  return new BSONRegExp(pattern, options);
}

function readRareValue(r: Reader, type: number): Value {
  switch (type) {
    case 0x0b:
      return readRegex(r);
    case 0x0d:
      return new Code(readString(r));
    case 0x0e:
      return new BSONSymbol(readString(r));
    case 0x0f:
      return readCodeWithScope(r);
    case 0x11: {
      const v = readLong(r);
      return new Timestamp({ t: v.high >>> 0, i: v.low >>> 0 });
    }
    case 0x13:
      return new Decimal128(readBytes(r, 16));
    case 0xff:
      return new MinKey();
    case 0x7f:
      return new MaxKey();
    case 0x06:
      throw new StoreError(
        "BadValue",
        "the deprecated BSON type undefined is not supported: send null or leave the field out",
      );
    case 0x0c:
      throw new StoreError("BadValue", "the deprecated BSON type DBPointer is not supported: store the id itself");
    default:
      throw invalid(`unknown type 0x${type.toString(16)}`);
  }
}

function readValue(r: Reader, type: number): Value {
  switch (type) {
    case 0x01:
      return readDouble(r);
    case 0x02:
      return readString(r);
    case 0x03:
      return readDocument(r, false);
    case 0x04:
      return readArray(r);
    case 0x05:
      return readBinary(r);
    case 0x07:
      return new ObjectId(readBytes(r, 12));
    case 0x08:
      return r.buf.readUInt8(r.at++) === 1;
    case 0x09:
      return readDate(r);
    case 0x0a:
      return null;
    case 0x10: {
      const n = r.buf.readInt32LE(r.at);
      r.at += 4;
      return n;
    }
    case 0x12:
      return readLong(r);
    default:
      return readRareValue(r, type);
  }
}

function enter(r: Reader): number {
  const start = r.at;
  const end = start + r.buf.readInt32LE(start);
  if (end > r.buf.length || end < start + 5 || r.buf[end - 1] !== 0) throw invalid("a document's length is wrong");
  if (++r.depth > MAX_DEPTH) throw new StoreError(15, `nesting deeper than ${MAX_DEPTH} levels`);
  r.at = start + 4;
  return end;
}

function leave(r: Reader, end: number): void {
  if (r.at !== end) throw invalid("a document's length is wrong");
  r.depth--;
}

function readArray(r: Reader): Value[] {
  const end = enter(r);
  const items: Value[] = [];
  for (let type = r.buf[r.at++] ?? 0; type !== 0; type = r.buf[r.at++] ?? 0) {
    // The names of array elements are their indexes; only the order counts.
    while ((r.buf[r.at++] ?? 0) !== 0);
    items.push(readValue(r, type));
  }
  leave(r, end);
  return items;
}

function readDocument(r: Reader, keepRaw: boolean): Doc {
  const end = enter(r);
  const doc: Doc = {};
  for (let type = r.buf[r.at++] ?? 0; type !== 0; type = r.buf[r.at++] ?? 0) {
    const name = readName(r);
    if (keepRaw && type === 0x04 && RAW_ARGUMENTS.has(name)) {
      r.at += r.buf.readInt32LE(r.at);
      continue;
    }
    const value = readValue(r, type);
    if (name === "__proto__")
      Object.defineProperty(doc, name, { value, enumerable: true, writable: true, configurable: true });
    else doc[name] = value;
  }
  leave(r, end);
  return doc;
}

/** Arguments whose documents are stored as they came, so that their bytes are kept beside the decoded form. */
const RAW_ARGUMENTS: ReadonlySet<string> = new Set(["documents"]);

function guarded<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (isOutOfBounds(error)) throw invalid("it ends too early");
    throw error;
  }
}

/** True for what Buffer throws on a read past its end; told by the code, since the class differs between realms. */
export function isOutOfBounds(error: unknown): boolean {
  return (
    typeof error === "object" &&
    error !== null &&
    "code" in error &&
    (error.code === "ERR_OUT_OF_RANGE" || error.code === "ERR_BUFFER_OUT_OF_BOUNDS")
  );
}

/** Decodes one BSON document. Errors: InvalidBSON, BadValue for deprecated types and dates JavaScript cannot hold. */
export function decode(bytes: Uint8Array): Doc {
  const buf = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return guarded(() => readDocument({ buf, at: 0, depth: 0 }, false));
}

/** Decodes a command body; arrays named `documents` are left out: read them with {@link rawArray}. */
export function decodeCommand(bytes: Buffer): Doc {
  return guarded(() => readDocument({ buf: bytes, at: 0, depth: 0 }, true));
}

/** The documents of the array `name` at the top level of a command, each as its BSON bytes; undefined when there is no such array. */
export function rawArray(bytes: Buffer, name: string): Buffer[] | undefined {
  return guarded(() => {
    const r: Reader = { buf: bytes, at: 0, depth: 0 };
    enter(r);
    for (let type = bytes[r.at++] ?? 0; type !== 0; type = bytes[r.at++] ?? 0) {
      if (readName(r) === name && type === 0x04) return slices(r);
      readValue(r, type);
    }
    return undefined;
  });
}

function slices(r: Reader): Buffer[] {
  const end = enter(r);
  const found: Buffer[] = [];
  for (let type = r.buf[r.at++] ?? 0; type !== 0; type = r.buf[r.at++] ?? 0) {
    readName(r);
    if (type !== 0x03) throw new StoreError("TypeMismatch", "every element of 'documents' must be an object");
    const length = r.buf.readInt32LE(r.at);
    if (length < 5 || r.at + length > end) throw invalid("a document's length is wrong");
    found.push(r.buf.subarray(r.at, r.at + length));
    r.at += length;
  }
  return found;
}
