import { encode } from "../bson/bson-writer.ts";
import { identical } from "../bson/comparison.ts";
import { StoreError } from "../bson/errors.ts";
import { indexDocument } from "../indexes/index-definition.ts";
import type { DocKeys } from "../indexes/index-keys.ts";
import { IndexBuild } from "./index-build.ts";
import { addKeys, changeKeys, refuseDuplicates, removeKeys, sameKeys, type Index } from "./index-table.ts";
import { field } from "../bson/paths.ts";
import { AT_MOST, integer, storedOf, type Storage, type Stored } from "./storage.ts";
import type { Doc } from "../bson/values.ts";
import { crc32 } from "node:zlib";

/** Documents read at once when all are read at the start. */
const BATCH = 1000;

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
  /** The index that is being built. */
  building: IndexBuild | undefined;
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
    for (const [index, k] of made) refuseDuplicates(this.storage, this.ns, index, k, rid);
    this.nextRid++;
    this.changes++;
    this.storage.write(`INSERT INTO d_${this.id}(rid, doc, crc) VALUES(?, ?, ?)`, rid, bytes, checksum(bytes));
    for (const [index, k] of made) addKeys(this.storage, index, k, rid);
    this.building?.inserted(rid, doc);
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
      refuseDuplicates(this.storage, this.ns, index, next, rid);
      changes.push([index, old, next]);
    }
    this.changes++;
    this.storage.write(`UPDATE d_${this.id} SET doc = ?, crc = ? WHERE rid = ?`, bytes, checksum(bytes), rid);
    for (const [index, old, next] of changes) changeKeys(this.storage, index, old, next, rid);
    this.building?.replaced(rid, before, after);
    return bytes;
  }

  /** Removes a document. */
  remove(rid: number, doc: Doc): void {
    this.changes++;
    this.storage.write(`DELETE FROM d_${this.id} WHERE rid = ?`, rid);
    for (const index of this.indexes) removeKeys(this.storage, index, index.keys.keysOf(doc).keys, rid);
    this.building?.removed(rid, doc);
  }

  /** A document, not yet checked; undefined when it is no longer there. */
  stored(rid: number): Stored | undefined {
    const [row] = this.storage.rows(`SELECT rid, doc, crc FROM d_${this.id} WHERE rid = ?`, rid);
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
    let batch = this.page(0, BATCH, false);
    while (batch.length > 0) {
      for (const { rid } of batch.filter((stored) => !this.isWhole(stored))) {
        removed++;
        this.changes++;
        this.storage.write(`DELETE FROM d_${this.id} WHERE rid = ?`, rid);
        for (const index of this.indexes) this.storage.write(`DELETE FROM x_${index.id} WHERE rid = ?`, rid);
      }
      batch = this.page(batch.at(-1)?.rid ?? 0, BATCH, false);
    }
    return removed;
  }

  /** How many documents there are: keys on _id, which lie closer together than documents. */
  count(): number {
    return integer(this.storage.one(`SELECT count(*) AS n FROM x_${this.idIndex.id}`)?.["n"]);
  }

  /** Documents after `rid` in order of insertion (before it when `reverse`), at most `limit`, not yet checked. */
  page(rid: number, limit: number, reverse: boolean): Stored[] {
    const sql = reverse
      ? `SELECT rid, doc, crc FROM d_${this.id} WHERE rid < ? ORDER BY rid DESC ${AT_MOST}`
      : `SELECT rid, doc, crc FROM d_${this.id} WHERE rid > ? ORDER BY rid ${AT_MOST}`;
    return this.storage.rows(sql, rid, limit).map(storedOf);
  }

  /** Attaches an index that is whole. */
  attach(index: Index): void {
    this.indexes.push(index);
  }

  /** Begins to build an index, to be attached when it is whole. Errors, while it is built: DuplicateKey, 171. */
  begin(index: Index): IndexBuild {
    this.building = new IndexBuild(this.storage, this, index, this.nextRid);
    return this.building;
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
