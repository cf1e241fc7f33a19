import type { Readable } from "node:stream";
import { fail } from "../errors.ts";

/** Bytes of an object, both ends included, counted from 0. */
export interface ByteRange {
  start: number;
  end: number;
}

/** An open object; its opener must read `body` to the end or destroy it. `bytes`: size of the whole object, whatever the range. */
export interface Opened {
  body: Readable;
  bytes: number;
}

/** A store of large immutable objects. Every method throws DEPENDENCY_DOWN when the store fails and VALIDATION_FAILED for an invalid key. */
export interface Storage {
  /** Writes an object atomically, replacing one of the same key; resolves with its size once it is durable. `bytes` null: size unknown beforehand. `within_ms`: after this nothing is written any more, in a bucket. */
  put(key: string, body: Readable, content_type: string, bytes: number | null, within_ms?: number): Promise<number>;
  /** Opens an object, or a range that must lie within it; null: no such object. */
  open(key: string, range?: ByteRange): Promise<Opened | null>;
  /** Removes an object. Idempotent. */
  remove(key: string): Promise<void>;
}

/** A store whose objects are found by how their keys begin. */
export interface Bucket extends Storage {
  /** Keys that begin so, all of them. */
  keys(prefix: string): Promise<string[]>;
  /** The folders in this one, which ends in a slash, as prefixes that end in one too. */
  folders(prefix: string): Promise<string[]>;
}

const MAX_KEY_CHARS = 300;
/** Folders and a name; no part begins with a dot, which excludes "." and ".." and the store's own folders. */
const KEY = /^[A-Za-z0-9_-][A-Za-z0-9._-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/;

/** Returns the key; throws VALIDATION_FAILED for an invalid one. */
export function checkKey(key: string): string {
  if (key.length > MAX_KEY_CHARS || !KEY.test(key)) fail("VALIDATION_FAILED", "This is no key of a stored object.");
  return key;
}
