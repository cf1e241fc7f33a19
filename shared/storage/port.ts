import type { Readable } from "node:stream";
import { fail } from "../errors.ts";

/** Bytes of an object, both ends included, counted from 0. */
export interface ByteRange {
  start: number;
  end: number;
}

/** An object being read; whoever opened it must read `body` to its end or destroy it. `bytes`: of the whole object, whatever the range. */
export interface Opened {
  body: Readable;
  bytes: number;
}

/** A place for large immutable objects. Everything throws DEPENDENCY_DOWN when the place can't be reached or does not work, VALIDATION_FAILED for a key that is none. */
export interface Storage {
  /** Writes an object, whole or not at all, over one of the same key; gives its bytes once they are safe. `bytes` null: not known beforehand. */
  put(key: string, body: Readable, content_type: string, bytes: number | null): Promise<number>;
  /** Opens an object, or a range that must lie within it; null: there is none of this key. */
  open(key: string, range?: ByteRange): Promise<Opened | null>;
  /** Forgets an object; one that is not there is no fault. */
  remove(key: string): Promise<void>;
}

const MAX_KEY_CHARS = 300;
/** Folders and a name; no part begins with a dot, so that none means "here" or "above", or is one of the store's own. */
const KEY = /^[A-Za-z0-9_-][A-Za-z0-9._-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/;

/** The key itself; VALIDATION_FAILED for anything that is none. */
export function checkKey(key: string): string {
  if (key.length > MAX_KEY_CHARS || !KEY.test(key)) fail("VALIDATION_FAILED", "This is no key of a stored object.");
  return key;
}
