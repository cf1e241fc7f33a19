import { aggregate } from "./aggregate.ts";
import { evaluate } from "./expression.ts";
import { bySort, matches, type Filter } from "./match.ts";
import { refuseConflicts, updated, type Update } from "./update.ts";
import { at, compare, copy, isPlain, reached, type Doc } from "./values.ts";

/** A unique index: its paths, and the documents it holds. */
export interface UniqueIndex {
  name: string;
  paths: readonly string[];
  partial: Filter | null;
}

/** How documents are looked for. */
export interface Seek {
  sort?: Record<string, number> | null;
  limit?: number;
  skip?: number;
  projection?: Record<string, unknown> | null;
}

/** How one document is changed. */
export interface ChangeHow {
  sort?: Record<string, number> | null;
  after?: boolean;
  upsert?: boolean;
  projection?: Record<string, unknown> | null;
}

const DUPLICATE_KEY = 11_000;

/** MongoDB's duplicate key error, as far as the services look at it. */
export class DuplicateKey extends Error {
  readonly code = DUPLICATE_KEY;
  constructor(collection: string, index: string, key: string) {
    super(`E11000 duplicate key error collection: ${collection} index: ${index} dup key: ${key}`);
    this.name = "MongoServerError";
  }
}

type Projection = Record<string, unknown> | null | undefined;
const isGiven = (v: unknown): boolean => v === 1 || v === true;

function put(doc: Doc, [part = "", ...rest]: string[], value: unknown): void {
  if (rest.length === 0) doc[part] = value;
  else put((doc[part] ??= {}) as Doc, rest, value);
}

/** What a projection shows: all but some fields, or some fields and what expressions make of them. */
function projected(doc: Doc, projection: Projection, now: Date): Doc {
  const fields = Object.entries(projection ?? {}).filter(([k]) => k !== "_id");
  if (fields.length === 0) return projection?.["_id"] === 1 ? { _id: doc["_id"] } : copy(doc);
  if (fields.every(([, v]) => v === 0 || v === false)) {
    if (fields.some(([k]) => k.includes("."))) throw new Error("the simulated database leaves whole fields out only");
    const left = new Set(fields.map(([k]) => k));
    const out: Doc = {};
    for (const k in doc) if (!left.has(k)) out[k] = copy(doc[k]);
    return out;
  }
  const out: Doc = projection?.["_id"] === 0 ? {} : { _id: doc["_id"] };
  for (const [k, v] of fields) {
    if (v === 0 || v === false) throw new Error("a projection that shows some fields can't leave others out");
    const path = k.split(".");
    const value = isGiven(v) ? at(doc, k) : evaluate(v, { root: doc, now, variables: {} });
    if (value !== undefined) put(out, path, copy(value));
    // of an object that has not the field, the database shows the empty object
    else if (isGiven(v) && path.length === 2 && isPlain(doc[path[0] ?? ""]))
      put(out, path.slice(0, 1), out[path[0] ?? ""] ?? {});
    else if (path.length > 2) throw new Error("the simulated database shows fields at most one level down");
  }
  return out;
}

/**
 * One collection of the simulated database: every operation is atomic and at once; the clock is the simulation's.
 */
export class Collection {
  readonly name: string;
  readonly docs = new Map<string, Doc>();
  readonly #unique: readonly UniqueIndex[];
  readonly #now: () => Date;
  readonly #onPut: (doc: Doc, old: Doc | null) => void;

  /** `onPut` hears of each document as it is written, and of what it was before. */
  constructor(
    name: string,
    unique: readonly UniqueIndex[],
    now: () => Date,
    onPut: (doc: Doc, old: Doc | null) => void = () => undefined,
  ) {
    this.name = name;
    this.#unique = unique;
    this.#now = now;
    this.#onPut = onPut;
  }

  #keys(index: UniqueIndex, doc: Doc): string[] {
    if (index.partial !== null && !matches(doc, index.partial, this.#now())) return [];
    return index.paths.reduce<string[]>(
      (keys, path) => {
        const values = reached(doc, path.split(".")).flat();
        const own = [...new Set((values.length === 0 ? [null] : values).map((v) => JSON.stringify(v)))];
        return keys.flatMap((k) => own.map((o) => `${k}|${o}`));
      },
      [""],
    );
  }

  #refuseDuplicate(doc: Doc, old: Doc | null): void {
    for (const index of this.#unique) {
      const keys = this.#keys(index, doc);
      if (keys.length === 0) continue;
      if (old !== null && this.#keys(index, old).join() === keys.join()) continue;
      for (const other of this.docs.values()) {
        if (other["_id"] === doc["_id"]) continue;
        const shared = this.#keys(index, other).find((k) => keys.includes(k));
        if (shared !== undefined) throw new DuplicateKey(this.name, index.name, shared);
      }
    }
  }

  #put(doc: Doc, old: Doc | null): void {
    this.#refuseDuplicate(doc, old);
    this.docs.set(String(doc["_id"]), doc);
    this.#onPut(doc, old);
  }

  #matching(filter: Filter, sort: Record<string, number> | null | undefined, limit: number): Doc[] {
    const now = this.#now();
    const id = filter["_id"];
    const one = typeof id === "string" ? this.docs.get(id) : undefined;
    const pool: Iterable<Doc> = typeof id === "string" ? (one ? [one] : []) : this.docs.values();
    const found: Doc[] = [];
    for (const doc of pool) {
      if (!matches(doc, filter, now)) continue;
      found.push(doc);
      if (!sort && found.length === limit) break;
    }
    return sort ? found.sort(bySort(sort)) : found;
  }

  find(filter: Filter, how: Seek = {}): Doc[] {
    const skip = how.skip ?? 0;
    const limit = how.limit === undefined || how.limit === 0 ? Infinity : how.limit;
    return this.#matching(filter, how.sort, skip + limit)
      .slice(skip, skip + limit)
      .map((d) => projected(d, how.projection, this.#now()));
  }

  /** Changes the first that fits; null when none does. */
  change(filter: Filter, update: Update, how: ChangeHow = {}): Doc | null {
    refuseConflicts(update);
    const [old] = this.#matching(filter, how.sort, 1);
    if (!old) {
      if (!how.upsert) return null;
      const fixed = Object.fromEntries(
        Object.entries(filter).filter(
          ([k, v]) => !k.startsWith("$") && (typeof v !== "object" || v === null || v instanceof Date),
        ),
      ) as Doc;
      const made = updated(fixed, update, this.#now(), true);
      this.#put(made, null);
      return how.after ? projected(made, how.projection, this.#now()) : null;
    }
    const fresh = updated(old, update, this.#now());
    if (fresh["_id"] !== old["_id"]) throw new Error("an update must not change _id");
    this.#put(fresh, old);
    return projected(how.after ? fresh : old, how.projection, this.#now());
  }

  /** Changes all that fit; how many there were, and how many are different now. */
  changeAll(filter: Filter, update: Update, only = Infinity): { matched: number; modified: number } {
    refuseConflicts(update);
    const found = this.#matching(filter, null, only);
    let modified = 0;
    for (const old of found) {
      const fresh = updated(old, update, this.#now());
      if (compare(old, fresh) !== 0) modified++;
      this.#put(fresh, old);
    }
    return { matched: found.length, modified };
  }

  insert(doc: Doc): void {
    if (this.docs.has(String(doc["_id"]))) throw new DuplicateKey(this.name, "_id_", String(doc["_id"]));
    this.#put(copy(doc), null);
  }

  replace(filter: Filter, doc: Doc): { matched: number; modified: number } {
    const [old] = this.#matching(filter, null, 1);
    if (!old) return { matched: 0, modified: 0 };
    this.#put({ _id: old["_id"], ...copy(doc) }, old);
    return { matched: 1, modified: 1 };
  }

  remove(filter: Filter, only: number): number {
    const found = this.#matching(filter, null, only);
    for (const doc of found) this.docs.delete(String(doc["_id"]));
    return found.length;
  }

  aggregate(stages: readonly Doc[]): Doc[] {
    return aggregate([...this.docs.values()], stages, this.#now());
  }
}
