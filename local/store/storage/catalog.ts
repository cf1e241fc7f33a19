import { randomUUID } from "node:crypto";
import { decode } from "../bson/bson-reader.ts";
import { encode } from "../bson/bson-writer.ts";
import { Collection } from "./collection.ts";
import type { Index } from "./index-table.ts";
import { REST, UNLIMITED, whole, type Budget, type Slices } from "../budget.ts";
import { StoreError } from "../bson/errors.ts";
import { alreadyThere, ID_INDEX, indexDefinition, indexDocument, MAX_INDEXES } from "../indexes/index-definition.ts";
import type { IndexDefinition } from "../indexes/index-definition.ts";
import { KeyMaker } from "../indexes/index-keys.ts";
import { blob, integer } from "./storage.ts";
import type { Storage } from "./storage.ts";

const MAX_NAMESPACE_BYTES = 255;
/** How the names of collections begin that $out fills before they take another's place. */
export const SCRATCH = "tmp.agg_out.";

function readIndex(id: number, spec: Uint8Array): Index {
  const stored = decode(spec);
  const definition = stored["name"] === ID_INDEX.name ? ID_INDEX : indexDefinition(stored);
  return { id, definition, keys: new KeyMaker(definition), multikey: false };
}

/** All collections, by namespace; the file is read once at the start and again after a rollback. */
export class Catalog {
  private readonly storage: Storage;
  private collections = new Map<string, Collection>();

  constructor(storage: Storage) {
    this.storage = storage;
    this.load();
  }

  /** Reads the catalog from the file: at the start, and when writes were taken back. Collections in use stay the same objects. */
  load(): void {
    const known = new Map([...this.collections.values()].map((c) => [c.id, c]));
    for (const c of known.values()) c.building?.abort();
    this.collections = new Map();
    for (const row of this.storage.all("SELECT id, db, name, uuid FROM collections ORDER BY id")) {
      const id = integer(row["id"]);
      const [db, name] = [String(row["db"]), String(row["name"])];
      const collection = known.get(id) ?? new Collection(this.storage, { id, db, name, uuid: blob(row["uuid"]) });
      known.delete(id);
      collection.name = name;
      const indexes = new Map(collection.indexes.splice(0).map((i) => [i.id, i]));
      for (const i of this.storage.all(
        "SELECT id, spec, multikey FROM indexes WHERE collection = ? ORDER BY id",
        collection.id,
      )) {
        const index = indexes.get(integer(i["id"])) ?? readIndex(integer(i["id"]), blob(i["spec"]));
        index.multikey = i["multikey"] === 1;
        collection.attach(index);
      }
      collection.reload();
      this.collections.set(collection.ns, collection);
    }
    for (const gone of known.values()) gone.dropped = true;
  }

  /** Drops what a pipeline with $out, or the build of an index, left behind when the store died. */
  dropScratch(): void {
    for (const row of this.storage.all("SELECT id FROM indexes WHERE collection < 0")) this.forget(integer(row["id"]));
    for (const c of this.list()) if (c.name.startsWith(SCRATCH)) this.drop(c);
  }

  /** Removes damaged documents, and says how many: their loss was accepted. */
  dropDamaged(): void {
    for (const c of this.list()) {
      const removed = c.removeDamaged();
      if (removed > 0) this.storage.report(`${removed} damaged documents of ${c.ns} were removed`);
    }
  }

  /** A collection, or undefined. */
  find(db: string, name: string): Collection | undefined {
    return this.collections.get(`${db}.${name}`);
  }

  /** All collections, of one database or of all, by name. */
  list(db?: string): Collection[] {
    const all = [...this.collections.values()].filter((c) => db === undefined || c.db === db);
    return all.sort((a, b) => (a.ns < b.ns ? -1 : 1));
  }

  /** A collection, made if it is not there. Errors: InvalidNamespace. */
  ensure(db: string, name: string): Collection {
    return this.find(db, name) ?? this.create(db, name);
  }

  /** Makes a collection. Errors: InvalidNamespace. */
  create(db: string, name: string): Collection {
    checkNamespace(db, name);
    const uuid = Buffer.from(randomUUID().replaceAll("-", ""), "hex");
    this.storage.write("INSERT INTO collections(db, name, uuid) VALUES(?, ?, ?)", db, name, uuid);
    const id = this.lastId();
    this.storage.schema(`CREATE TABLE d_${id}(rid INTEGER PRIMARY KEY, doc BLOB NOT NULL, crc INTEGER)`);
    const collection = new Collection(this.storage, { id, db, name, uuid });
    this.collections.set(collection.ns, collection);
    whole(this.createIndex(collection, ID_INDEX, UNLIMITED), UNLIMITED);
    return collection;
  }

  private lastId(): number {
    return integer(this.storage.one("SELECT last_insert_rowid() AS id")?.["id"]);
  }

  /** Drops a collection; the others of its database stay. */
  drop(collection: Collection): void {
    collection.dropped = true;
    collection.changes++;
    for (const index of collection.indexes) this.forget(index.id);
    if (collection.building !== undefined) this.forget(collection.building.index.id);
    this.storage.write("DELETE FROM collections WHERE id = ?", collection.id);
    this.storage.schema(`DROP TABLE d_${collection.id}`);
    this.collections.delete(collection.ns);
  }

  /** Gives a collection another name, which must be free. */
  rename(collection: Collection, name: string): void {
    checkNamespace(collection.db, name);
    this.storage.write("UPDATE collections SET name = ? WHERE id = ?", name, collection.id);
    this.collections.delete(collection.ns);
    collection.name = name;
    this.collections.set(collection.ns, collection);
  }

  /**
   * Makes an index, in slices, unless the same one is there; false then. Errors: those of alreadyThere, CannotCreateIndex,
   * DuplicateKey, IndexBuildAborted.
   */
  *createIndex(collection: Collection, definition: IndexDefinition, budget: Budget): Slices<boolean> {
    // One at a time: the one that is being built may be the same.
    while (collection.building !== undefined) {
      budget.due();
      yield REST;
    }
    const there = collection.indexes.map((i) => i.definition);
    if (alreadyThere(there, definition)) return false;
    if (there.length >= MAX_INDEXES)
      throw new StoreError("CannotCreateIndex", `add index fails, too many indexes for ${collection.ns}`);
    // A negative collection marks an index that is not whole.
    const spec = encode(indexDocument(definition));
    this.storage.write("INSERT INTO indexes(collection, spec) VALUES(?, ?)", -collection.id, spec);
    const id = this.lastId();
    this.storage.schema(
      `CREATE TABLE x_${id}(key BLOB NOT NULL, rid INTEGER NOT NULL, PRIMARY KEY(key, rid)) WITHOUT ROWID`,
    );
    const index: Index = { id, definition, keys: new KeyMaker(definition), multikey: false };
    let done = false;
    try {
      yield* collection.begin(index).run(budget);
      done = true;
    } finally {
      collection.building = undefined;
      if (!done && !collection.dropped) this.forget(id);
    }
    this.storage.write(
      "UPDATE indexes SET collection = ?, multikey = ? WHERE id = ?",
      collection.id,
      index.multikey ? 1 : 0,
      id,
    );
    collection.attach(index);
    return true;
  }

  /** Drops an index other than the one on _id. */
  dropIndex(collection: Collection, index: Index): void {
    this.forget(index.id);
    collection.indexes.splice(collection.indexes.indexOf(index), 1);
  }

  private forget(id: number): void {
    this.storage.schema(`DROP TABLE IF EXISTS x_${id}`);
    this.storage.write("DELETE FROM indexes WHERE id = ?", id);
  }
}

/** Errors: InvalidNamespace for names MongoDB does not take. */
export function checkNamespace(db: string, name: string): void {
  if (db === "" || /[/\\. "$\0]/u.test(db)) throw new StoreError("InvalidNamespace", `Invalid database name: '${db}'`);
  if (
    name === "" ||
    name.startsWith(".") ||
    name.endsWith(".") ||
    /[$\0]/u.test(name) ||
    Buffer.byteLength(`${db}.${name}`) > MAX_NAMESPACE_BYTES
  ) {
    throw new StoreError("InvalidNamespace", `Invalid collection name: '${name}'`);
  }
  if (name.startsWith("system.")) throw new StoreError("InvalidNamespace", `cannot write to '${db}.${name}'`);
}
