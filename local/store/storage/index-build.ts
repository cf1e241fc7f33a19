import { REST, type Budget, type Slices } from "../budget.ts";
import { decode } from "../bson/bson-reader.ts";
import { StoreError } from "../bson/errors.ts";
import type { Doc } from "../bson/values.ts";
import type { DocKeys } from "../indexes/index-keys.ts";
import { orderedInSlices } from "../query/sort.ts";
import { addKeys, changeKeys, latin1, refuseDuplicates, removeKeys, type Index } from "./index-table.ts";
import type { Storage, Stored } from "./storage.ts";

/** Documents read at once: those behind a rest are read again, others may have written them. */
const BATCH = 128;
/** Documents whose keys are put into the index together, in the order of their keys: so a slice writes to few of its pages. */
const CHUNK = 20_000;
/** Bytes of keys held at most. */
const CHUNK_BYTES = 32 * 1024 * 1024;

/** What an index is built over. */
interface Documents {
  readonly ns: string;
  readonly dropped: boolean;
  page(rid: number, limit: number, reverse: boolean): Stored[];
  checked(stored: Stored): Stored;
}

/**
 * An index that is being built while others write. The build goes through the documents in order of insertion; who writes one
 * that it has passed, or that came after it began, keeps the index right, and the build itself takes in what lies between.
 */
export class IndexBuild {
  readonly index: Index;
  private readonly storage: Storage;
  private readonly collection: Documents;
  /** Documents from here on came after the build began. */
  private readonly later: number;
  /** The last document that the build has passed. */
  private passed = 0;
  /** The keys of documents that it has passed, but that are not yet in the index. */
  private readonly pending = new Map<number, DocKeys>();
  private failure: StoreError | undefined;

  constructor(storage: Storage, collection: Documents, index: Index, later: number) {
    this.storage = storage;
    this.collection = collection;
    this.index = index;
    this.later = later;
  }

  /** Goes through the documents, in slices. Errors: DuplicateKey, 171; IndexBuildAborted. */
  *run(budget: Budget): Slices<void> {
    for (let more = true; more;) {
      more = yield* this.gather(budget);
      yield* this.putPending(budget);
    }
  }

  /** Makes the keys of the next documents; false when these were the last. */
  private *gather(budget: Budget): Slices<boolean> {
    let bytes = 0;
    while (this.pending.size < CHUNK && bytes < CHUNK_BYTES) {
      this.refuseFailed();
      const batch = this.collection.page(this.passed, BATCH, false);
      if (batch.length === 0) return false;
      for (const stored of batch) {
        if (stored.rid >= this.later) return false;
        const made = this.index.keys.keysOf(decode(this.collection.checked(stored).bytes));
        this.passed = stored.rid;
        if (made.keys.length > 0) this.pending.set(stored.rid, made);
        for (const key of made.keys) bytes += key.length;
        if (budget.due()) {
          yield REST;
          break;
        }
      }
    }
    return true;
  }

  private *putPending(budget: Budget): Slices<void> {
    // Texts are compared faster than bytes.
    const keyed = [...this.pending].map(([rid, made]) => ({
      rid,
      made,
      text: latin1(made.keys[0] ?? new Uint8Array()),
    }));
    for (const { rid, made } of yield* orderedInSlices(keyed, (a, b) => (a.text < b.text ? -1 : 1), budget)) {
      this.refuseFailed();
      // Unless another has changed or removed the document meanwhile.
      if (this.pending.delete(rid)) this.put(rid, made);
      if (budget.due()) yield REST;
    }
  }

  private refuseFailed(): void {
    if (this.collection.dropped) throw aborted(`collection dropped: ${this.collection.ns}`);
    if (this.failure !== undefined) throw this.failure;
  }

  private put(rid: number, made: DocKeys): void {
    refuseDuplicates(this.storage, this.collection.ns, this.index, made, rid);
    addKeys(this.storage, this.index, made, rid);
  }

  /** A document was inserted. */
  inserted(rid: number, doc: Doc): void {
    this.keep(rid, () => this.put(rid, this.index.keys.keysOf(doc)));
  }

  /** A document was changed. */
  replaced(rid: number, before: Doc, after: Doc): void {
    this.keep(rid, () => {
      const next = this.index.keys.keysOf(after);
      if (this.pending.delete(rid)) this.put(rid, next);
      else {
        refuseDuplicates(this.storage, this.collection.ns, this.index, next, rid);
        changeKeys(this.storage, this.index, this.index.keys.keysOf(before), next, rid);
      }
    });
  }

  /** A document was removed. */
  removed(rid: number, doc: Doc): void {
    this.keep(rid, () => {
      if (this.pending.delete(rid)) return;
      removeKeys(this.storage, this.index, this.index.keys.keysOf(doc).keys, rid);
    });
  }

  /** What does not fit the index fails the build, not the write: the index is not there yet. */
  private keep(rid: number, change: () => void): void {
    if (this.failure !== undefined || (rid > this.passed && rid < this.later)) return;
    try {
      change();
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.failure = error;
    }
  }

  /** Writes were taken back, perhaps some that kept this index right: it cannot go on. */
  abort(): void {
    this.failure ??= aborted("another command failed, and what it had written was taken back; ask for the index again");
  }
}

function aborted(why: string): StoreError {
  return new StoreError("IndexBuildAborted", `the index build was aborted: ${why}`);
}
