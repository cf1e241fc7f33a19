import { Long } from "bson";
import { RawArray, SubReply } from "../bson/bson-writer.ts";
import type { Reply } from "../bson/bson-writer.ts";
import { StoreError } from "../bson/errors.ts";
import type { Value } from "../bson/values.ts";

/** MongoDB's defaults: documents in a first batch, bytes in any batch, idle time. */
const FIRST_BATCH = 101;
const BATCH_BYTES = 16 * 1024 * 1024;
const IDLE_MS = 10 * 60_000;
/** Cursors open at once. */
const MAX_CURSORS = 10_000;

interface Cursor {
  ns: string;
  docs: Iterator<Uint8Array>;
  /** Read already, but it did not fit the last batch. */
  held: Uint8Array | undefined;
  usedAt: number;
  session: string | undefined;
}

/** Open cursors by id. Idle ones are closed by {@link Cursors.sweep}. */
export class Cursors {
  private readonly open = new Map<bigint, Cursor>();
  private lastId = BigInt(Date.now()) << 20n;

  /** Answers a first batch and keeps the rest open. A batchSize of 0 answers none yet; `single` closes at once. */
  first(
    ns: string,
    docs: Iterator<Uint8Array>,
    batchSize: number | undefined,
    single: boolean,
    session: string | undefined,
  ): Reply {
    const cursor: Cursor = { ns, docs, held: undefined, usedAt: Date.now(), session };
    const batch = take(cursor, batchSize ?? FIRST_BATCH);
    let id = 0n;
    if (!single && more(cursor)) {
      if (this.open.size >= MAX_CURSORS)
        throw new StoreError(
          "InternalError",
          `more than ${MAX_CURSORS} cursors are open: close some (killCursors) or read them to their end`,
        );
      id = ++this.lastId;
      this.open.set(id, cursor);
    } else docs.return?.();
    return { cursor: new SubReply({ firstBatch: new RawArray(batch), id: Long.fromBigInt(id), ns }) };
  }

  /** Answers the next batch. Errors: CursorNotFound. */
  next(id: bigint, ns: string, batchSize: number | undefined): Reply {
    const cursor = this.open.get(id);
    if (cursor === undefined) throw new StoreError("CursorNotFound", `cursor id ${id} not found`);
    if (cursor.ns !== ns)
      throw new StoreError(
        13,
        `Requested getMore on namespace '${ns}', but cursor belongs to a different namespace ${cursor.ns}`,
      );
    cursor.usedAt = Date.now();
    let batch: Uint8Array[];
    let open: boolean;
    try {
      batch = take(cursor, batchSize === undefined || batchSize === 0 ? Number.MAX_SAFE_INTEGER : batchSize);
      open = more(cursor);
    } catch (error) {
      this.close(id);
      throw error;
    }
    if (!open) this.close(id);
    return { cursor: new SubReply({ nextBatch: new RawArray(batch), id: Long.fromBigInt(open ? id : 0n), ns }) };
  }

  /** Closes one cursor of a namespace; false when there is none. */
  kill(id: bigint, ns: string): boolean {
    return this.open.get(id)?.ns === ns && this.close(id);
  }

  /** Closes the cursors on a namespace, or on all of a database when `ns` ends with a dot. */
  closeOn(ns: string): void {
    for (const [id, c] of this.open) if (ns.endsWith(".") ? c.ns.startsWith(ns) : c.ns === ns) this.close(id);
  }

  /** Closes the cursors of a session. */
  endSession(session: string): void {
    for (const [id, c] of this.open) if (c.session === session) this.close(id);
  }

  /** Closes cursors nobody used for ten minutes. */
  sweep(now: number): void {
    for (const [id, c] of this.open) if (now - c.usedAt > IDLE_MS) this.close(id);
  }

  private close(id: bigint): boolean {
    this.open.get(id)?.docs.return?.();
    return this.open.delete(id);
  }

  /** How many cursors are open. */
  get size(): number {
    return this.open.size;
  }
}

function pull(cursor: Cursor): Uint8Array | undefined {
  if (cursor.held !== undefined) {
    const doc = cursor.held;
    cursor.held = undefined;
    return doc;
  }
  const next = cursor.docs.next();
  return next.done === true ? undefined : next.value;
}

function take(cursor: Cursor, count: number): Uint8Array[] {
  const batch: Uint8Array[] = [];
  let bytes = 0;
  while (batch.length < count) {
    const doc = pull(cursor);
    if (doc === undefined) break;
    if (batch.length > 0 && bytes + doc.length > BATCH_BYTES) {
      cursor.held = doc;
      break;
    }
    batch.push(doc);
    bytes += doc.length;
  }
  return batch;
}

function more(cursor: Cursor): boolean {
  cursor.held ??= pull(cursor);
  return cursor.held !== undefined;
}

/** A cursor id as it comes in getMore and killCursors. Errors: TypeMismatch. */
export function cursorId(v: Value | undefined): bigint {
  if (v instanceof Long) return v.toBigInt();
  if (typeof v === "number" && Number.isInteger(v)) return BigInt(v);
  throw new StoreError("TypeMismatch", "a cursor id must be a long");
}
