import { serialize } from "bson";
import { StoreError } from "./errors.ts";
import type { Doc, Value } from "./values.ts";

/** MongoDB's bound for one document, bytes. */
export const MAX_DOCUMENT_BYTES = 16 * 1024 * 1024;

/** A stored document put into a reply as its bytes, without decoding it. */
export class RawDoc {
  readonly bytes: Uint8Array;
  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
}

/** An array of stored documents put into a reply as their bytes. */
export class RawArray {
  readonly items: Uint8Array[];
  constructor(items: Uint8Array[]) {
    this.items = items;
  }
}

/** A command's answer before encoding: a document whose parts may be raw. */
export interface Reply {
  [key: string]: Value | RawDoc | RawArray | SubReply;
}

/** A sub-document of a reply that itself holds raw parts (the `cursor` of find). */
export class SubReply {
  readonly fields: Reply;
  constructor(fields: Reply) {
    this.fields = fields;
  }
}

/** Encodes a document for storage. Errors: BSONObjectTooLarge above 16 MB. */
export function encode(doc: Doc): Uint8Array {
  let bytes: Uint8Array | undefined;
  try {
    bytes = serialize(doc, { ignoreUndefined: true });
  } catch (error) {
    if (!(error instanceof Error) || !/larger than|out of bounds|offset/iu.test(error.message)) throw error;
  }
  if (bytes === undefined || bytes.length > MAX_DOCUMENT_BYTES) {
    throw new StoreError(
      "BSONObjectTooLarge",
      `BSONObj size is invalid: a document must not exceed ${MAX_DOCUMENT_BYTES} bytes`,
    );
  }
  return bytes;
}

const DOCUMENT = 0x03;
const ARRAY = 0x04;

function element(type: number, name: string): Buffer {
  return Buffer.from(`${String.fromCharCode(type)}${name}\0`, "utf8");
}

function wrap(parts: Uint8Array[]): Buffer {
  const size = parts.reduce((sum, p) => sum + p.length, 5);
  const out = Buffer.allocUnsafe(size);
  out.writeInt32LE(size, 0);
  let at = 4;
  for (const p of parts) {
    out.set(p, at);
    at += p.length;
  }
  out[at] = 0;
  return out;
}

function rawArrayBytes(items: Uint8Array[]): Buffer {
  const parts: Uint8Array[] = [];
  items.forEach((item, i) => parts.push(element(DOCUMENT, String(i)), item));
  return wrap(parts);
}

/** Encodes an answer; raw parts are copied as they are. */
export function encodeReply(reply: Reply): Buffer {
  const parts: Uint8Array[] = [];
  let plain: Doc = {};
  const flush = (): void => {
    if (Object.keys(plain).length === 0) return;
    const bytes = serialize(plain, { ignoreUndefined: true });
    parts.push(bytes.subarray(4, bytes.length - 1));
    plain = {};
  };
  for (const [name, value] of Object.entries(reply)) {
    if (value instanceof RawDoc) {
      flush();
      parts.push(element(DOCUMENT, name), value.bytes);
    } else if (value instanceof RawArray) {
      flush();
      parts.push(element(ARRAY, name), rawArrayBytes(value.items));
    } else if (value instanceof SubReply) {
      flush();
      parts.push(element(DOCUMENT, name), encodeReply(value.fields));
    } else plain[name] = value;
  }
  flush();
  return wrap(parts);
}
