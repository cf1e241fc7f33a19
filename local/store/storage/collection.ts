import { encode } from "../bson/bson-writer.ts";
import { decode } from "../bson/bson-reader.ts";
import { identical } from "../bson/comparison.ts";
import { StoreError } from "../bson/errors.ts";
import { indexDocument, type IndexDefinition } from "../indexes/index-definition.ts";
import { KeyMaker, type DocKeys } from "../indexes/index-keys.ts";
import { EMPTY_ARRAY, type KeyPart } from "../indexes/key-encoder.ts";
import { field } from "../bson/paths.ts";
import { blob, integer, type Storage } from "./storage.ts";
import { isDoc, type Doc, type Value } from "../bson/values.ts";
import { crc32 } from "node:zlib";
import { ObjectId, Double, Decimal128, Binary, Long } from "bson";

/** Documents read at once while an index is built. */
const BUILD_BATCH = 1000;

/** An index in use: its definition, its table and how keys are made. */
export interface Index {
  id: number;
  definition: IndexDefinition;
  keys: KeyMaker;
  multikey: boolean;
}

/** A document with its place in the file. */
export interface Stored {
  rid: number;
  bytes: Uint8Array;
  /** The checksum of the bytes that were stored; null when an older version stored them. */
  crc: number | null;
}

/** A row of d_<id> (rid, doc, crc). */
export function storedOf(row: Record<string, unknown>): Stored {
  const { crc } = row;
  return { rid: integer(row["rid"]), bytes: blob(row["doc"]), crc: crc === null ? null : integer(crc) };
}

/** The checksum of a document's bytes, signed: sqlite keeps it in four bytes. */
function checksum(bytes: Uint8Array): number {
  return crc32(bytes) | 0;
}

/** One collection: its documents (table d_<id>, in order of insertion) and its indexes (tables x_<id>). */
export class Collection {
  readonly id: number;
  readonly db: string;
  name: string;
  readonly uuid: Uint8Array;
  readonly indexes: Index[] = [];
  /** Set when the collection is dropped: what still reads it must stop. */
  dropped = false;
  /** How often something was written: what was read before the last change may be old. */
  changes = 0;
  private readonly storage: Storage;
  private nextRid: number;

  constructor(storage: Storage, row: { id: number; db: string; name: string; uuid: Uint8Array }) {
    this.storage = storage;
    this.id = row.id;
    this.db = row.db;
    this.name = row.name;
    this.uuid = row.uuid;
    this.nextRid = 0;
    this.reload();
  }

  /** Reads anew what is kept of the file's state. */
  reload(): void {
    this.changes++;
    this.nextRid = integer(this.storage.one(`SELECT coalesce(max(rid), 0) AS n FROM d_${this.id}`)?.["n"]) + 1;
  }

  /** database.collection */
  get ns(): string {
    return `${this.db}.${this.name}`;
  }

  /** The index on _id. */
  get idIndex(): Index {
    const [index] = this.indexes;
    if (index === undefined) throw new Error(`collection ${this.ns} has no index on _id`);
    return index;
  }

  /** Stores a new document, `bytes` being its encoding. Errors: DuplicateKey (nothing is written then), 171. */
  insert(doc: Doc, bytes: Uint8Array): void {
    const rid = this.nextRid;
    const made = this.indexes.map((index): [Index, DocKeys] => [index, index.keys.keysOf(doc)]);
    for (const [index, k] of made) this.refuseDuplicates(index, k, rid);
    this.nextRid++;
    this.changes++;
    this.storage.write(`INSERT INTO d_${this.id}(rid, doc, crc) VALUES(?, ?, ?)`, rid, bytes, checksum(bytes));
    for (const [index, k] of made) this.addKeys(index, k, rid);
  }

  /** Puts `after` in the place of `before`. Errors: DuplicateKey (nothing is written then), BSONObjectTooLarge. */
  replace(rid: number, before: Doc, after: Doc): Uint8Array {
    const bytes = encode(after);
    const fields = changedFields(before, after);
    const changes: [Index, DocKeys, DocKeys][] = [];
    for (const index of this.indexes) {
      if (!index.keys.touched(fields)) continue;
      const next = index.keys.keysOf(after);
      const old = index.keys.keysOf(before);
      if (sameKeys(old.keys, next.keys)) continue;
      this.refuseDuplicates(index, next, rid);
      changes.push([index, old, next]);
    }
    this.changes++;
    this.storage.write(`UPDATE d_${this.id} SET doc = ?, crc = ? WHERE rid = ?`, bytes, checksum(bytes), rid);
    for (const [index, old, next] of changes) this.changeKeys(index, old, next, rid);
    return bytes;
  }

  private changeKeys(index: Index, old: DocKeys, next: DocKeys, rid: number): void {
    const [from] = old.keys;
    const [to] = next.keys;
    if (old.keys.length === 1 && next.keys.length === 1 && from !== undefined && to !== undefined) {
      this.storage.write(`UPDATE x_${index.id} SET key = ? WHERE key = ? AND rid = ?`, to, from, rid);
      this.noteMultikey(index, next);
      return;
    }
    const kept = new Set(next.keys.map(latin1));
    const there = new Set(old.keys.map(latin1));
    for (const key of old.keys)
      if (!kept.has(latin1(key))) this.storage.write(`DELETE FROM x_${index.id} WHERE key = ? AND rid = ?`, key, rid);
    this.addKeys(index, { ...next, keys: next.keys.filter((key) => !there.has(latin1(key))) }, rid);
  }

  /** Removes a document. */
  remove(rid: number, doc: Doc): void {
    this.changes++;
    this.storage.write(`DELETE FROM d_${this.id} WHERE rid = ?`, rid);
    for (const index of this.indexes) {
      for (const key of index.keys.keysOf(doc).keys)
        this.storage.write(`DELETE FROM x_${index.id} WHERE key = ? AND rid = ?`, key, rid);
    }
  }

  private addKeys(index: Index, made: DocKeys, rid: number): void {
    for (const key of made.keys) this.storage.write(`INSERT INTO x_${index.id}(key, rid) VALUES(?, ?)`, key, rid);
    this.noteMultikey(index, made);
  }

  private noteMultikey(index: Index, made: DocKeys): void {
    if (!made.multikey || index.multikey) return;
    index.multikey = true;
    this.storage.write("UPDATE indexes SET multikey = 1 WHERE id = ?", index.id);
  }

  private refuseDuplicates(index: Index, made: DocKeys, rid: number): void {
    if (!index.definition.unique) return;
    made.keys.forEach((key, i) => {
      const other = this.storage.one(`SELECT rid FROM x_${index.id} WHERE key = ? AND rid <> ? LIMIT 1`, key, rid);
      if (other !== undefined) throw duplicateKey(this.ns, index.definition, made.parts[i] ?? []);
    });
  }

  /** A document, not yet checked; undefined when it is no longer there. */
  stored(rid: number): Stored | undefined {
    const row = this.storage.one(`SELECT rid, doc, crc FROM d_${this.id} WHERE rid = ?`, rid);
    return row === undefined ? undefined : storedOf(row);
  }

  /** A document that is about to be used, when its bytes are those that were stored. Errors: DataCorruptionDetected. */
  checked<T extends Stored>(stored: T): T {
    if (this.isWhole(stored)) return stored;
    const error = new StoreError(
      "DataCorruptionDetected",
      `document ${stored.rid} of ${this.ns} is damaged in the store's file: its bytes are not those that were stored. Restore a backup, or start the store once with --accept-loss, which removes damaged documents`,
    );
    this.storage.report(error.message);
    throw error;
  }

  private isWhole({ bytes, crc }: Stored): boolean {
    return crc === null || crc === checksum(bytes);
  }

  /** Removes the documents that are damaged; their number. What they were in the indexes is found by their place alone. */
  removeDamaged(): number {
    let removed = 0;
    for (const stored of this.everything()) {
      if (this.isWhole(stored)) continue;
      removed++;
      this.changes++;
      this.storage.write(`DELETE FROM d_${this.id} WHERE rid = ?`, stored.rid);
      for (const index of this.indexes) this.storage.write(`DELETE FROM x_${index.id} WHERE rid = ?`, stored.rid);
    }
    return removed;
  }

  private *everything(): Generator<Stored, void> {
    for (
      let batch = this.page(0, BUILD_BATCH, false);
      batch.length > 0;
      batch = this.page(batch.at(-1)?.rid ?? 0, BUILD_BATCH, false)
    )
      yield* batch;
  }

  /** How many documents there are. */
  count(): number {
    return integer(this.storage.one(`SELECT count(*) AS n FROM d_${this.id}`)?.["n"]);
  }

  /** Documents after `rid` in order of insertion (before it when `reverse`), at most `limit`, not yet checked. */
  page(rid: number, limit: number, reverse: boolean): Stored[] {
    const sql = reverse
      ? `SELECT rid, doc, crc FROM d_${this.id} WHERE rid < ? ORDER BY rid DESC LIMIT ?`
      : `SELECT rid, doc, crc FROM d_${this.id} WHERE rid > ? ORDER BY rid LIMIT ?`;
    return this.storage.all(sql, rid, limit).map(storedOf);
  }

  /** Attaches an index read from the file. */
  attach(index: Index): void {
    this.indexes.push(index);
  }

  /** Builds a new index over all documents. Errors: DuplicateKey; the caller drops the half-made table. */
  build(id: number, definition: IndexDefinition): Index {
    const index: Index = { id, definition, keys: new KeyMaker(definition), multikey: false };
    for (const stored of this.everything()) {
      const made = index.keys.keysOf(decode(this.checked(stored).bytes));
      this.refuseDuplicates(index, made, stored.rid);
      this.addKeys(index, made, stored.rid);
    }
    this.indexes.push(index);
    return index;
  }

  /** listIndexes. */
  describeIndexes(): Doc[] {
    return this.indexes.map((i) => indexDocument(i.definition));
  }
}

/** The top-level fields that are not the same in both documents. */
function changedFields(before: Doc, after: Doc): Set<string> {
  const out = new Set<string>();
  for (const name of Object.keys(before)) if (!identical(before[name], field(after, name))) out.add(name);
  for (const name of Object.keys(after)) if (!Object.hasOwn(before, name)) out.add(name);
  return out;
}

function sameKeys(a: readonly Uint8Array[], b: readonly Uint8Array[]): boolean {
  return a.length === b.length && a.every((key, i) => Buffer.compare(key, b[i] ?? key) === 0);
}

function latin1(key: Uint8Array): string {
  return Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString("latin1");
}

function part(p: KeyPart | undefined): Value {
  return p === undefined || p === EMPTY_ARRAY ? null : p;
}

/** MongoDB's duplicate key error, in the wording drivers and mongoose parse. */
export function duplicateKey(ns: string, definition: IndexDefinition, parts: KeyPart[]): StoreError {
  const keyValue: Doc = {};
  Object.keys(definition.key).forEach((path, i) => {
    keyValue[path] = part(parts[i]);
  });
  const values = Object.entries(keyValue)
    .map(([path, v]) => `${path}: ${describeValue(v)}`)
    .join(", ");
  return new StoreError(
    "DuplicateKey",
    `E11000 duplicate key error collection: ${ns} index: ${definition.name} dup key: { ${values} }`,
    { keyPattern: definition.key, keyValue },
  );
}

/** A value in the mongo shell's notation, as it stands in MongoDB's error messages. */
function describeValue(v: Value): string {
  if (v === null) return "null";
  if (typeof v === "string") return `"${v}"`;
  if (typeof v === "number" || typeof v === "boolean") return String(v);
  if (v instanceof Date) return `new Date(${v.getTime()})`;
  if (v instanceof ObjectId) return `ObjectId('${v.toHexString()}')`;
  if (v instanceof Double) return Number.isInteger(v.value) ? v.value.toFixed(1) : String(v.value);
  if (v instanceof Decimal128) return `NumberDecimal("${v.toString()}")`;
  if (v instanceof Binary)
    return v.sub_type === Binary.SUBTYPE_UUID && v.position === 16
      ? `UUID("${v.toUUID().toString()}")`
      : `BinData(${v.sub_type}, ${v.toString("hex").toUpperCase()})`;
  if (v instanceof Long) return v.toString();
  if (Array.isArray(v)) return `[ ${v.map(describeValue).join(", ")} ]`;
  if (isDoc(v))
    return `{ ${Object.entries(v)
      .map(([k, x]) => `${k}: ${describeValue(x)}`)
      .join(", ")} }`;
  return String(v);
}
