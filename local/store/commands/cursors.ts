import { Binary, Long } from "bson";
import { REST, type Budget, type Slices } from "../budget.ts";
import { RawArray, SubReply } from "../bson/bson-writer.ts";
import type { Reply } from "../bson/bson-writer.ts";
import { StoreError } from "../bson/errors.ts";
import { isDoc, type Doc, type Value } from "../bson/values.ts";

/** MongoDB's defaults: documents in a first batch, bytes in any batch, idle time. */
const FIRST_BATCH = 101;
const BATCH_BYTES = 16 * 1024 * 1024;
const IDLE_MS = 10 * 60_000;
/** Cursors open at once. */
const MAX_CURSORS = 10_000;

/** The command that opens a cursor. */
export interface Opener {
  command: Doc;
  budget: Budget;
}

interface Cursor {
  ns: string;
  docs: Iterator<Uint8Array | typeof REST>;
  /** Read already, but it did not fit the last batch. */
  held: Uint8Array | undefined;
  usedAt: number;
  session: string | undefined;
  budget: Budget;
}

/** Open cursors by id. Idle ones are closed by {@link Cursors.sweep}. */
export class Cursors {
  private readonly open = new Map<bigint, Cursor>();
  private lastId = BigInt(Date.now()) << 20n;

  /** Answers a first batch and keeps the rest open. A batchSize of 0 answers none yet; `single` closes at once. */
  *first(
    { command, budget }: Opener,
    ns: string,
    docs: Iterator<Uint8Array | typeof REST>,
    batchSize: number | undefined,
    single = false,
  ): Slices<Reply> {
    const cursor: Cursor = { ns, docs, held: undefined, usedAt: Date.now(), session: sessionOf(command), budget };
    const batch = yield* take(cursor, batchSize ?? FIRST_BATCH);
    let id = 0n;
    if (!single && (yield* more(cursor))) {
      if (this.open.size >= MAX_CURSORS)
        throw new StoreError(
          "InternalError",
          `more than ${MAX_CURSORS} cursors are open: close some (killCursors) or read them to their end`,
        );
      id = ++this.lastId;
      this.open.set(id, cursor);
      budget.kept = true;
      budget.stop();
    } else end(cursor);
    return { cursor: new SubReply({ firstBatch: new RawArray(batch), id: Long.fromBigInt(id), ns }) };
  }

  /** Answers the next batch. Errors: CursorNotFound. */
  *next(id: bigint, ns: string, batchSize: number | undefined): Slices<Reply> {
    const cursor = this.open.get(id);
    if (cursor === undefined) throw new StoreError("CursorNotFound", `cursor id ${id} not found`);
    if (cursor.ns !== ns)
      throw new StoreError(
        13,
        `Requested getMore on namespace '${ns}', but cursor belongs to a different namespace ${cursor.ns}`,
      );
    cursor.usedAt = Date.now();
    cursor.budget.start();
    let batch: Uint8Array[];
    let open: boolean;
    try {
      batch = yield* take(cursor, batchSize === undefined || batchSize === 0 ? Number.MAX_SAFE_INTEGER : batchSize);
      open = yield* more(cursor);
    } catch (error) {
      this.close(id);
      throw error;
    }
    if (!open) this.close(id);
    cursor.budget.stop();
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
    const cursor = this.open.get(id);
    if (cursor !== undefined) end(cursor);
    return this.open.delete(id);
  }

  /** How many cursors are open. */
  get size(): number {
    return this.open.size;
  }
}

function end(cursor: Cursor): void {
  cursor.docs.return?.();
  cursor.budget.release();
}

function* pull(cursor: Cursor): Slices<Uint8Array | undefined> {
  if (cursor.held !== undefined) {
    const doc = cursor.held;
    cursor.held = undefined;
    return doc;
  }
  for (;;) {
    const next = cursor.docs.next();
    if (next.done === true) return undefined;
    if (next.value !== REST) return next.value;
    yield REST;
    cursor.budget.resume();
  }
}

function* take(cursor: Cursor, count: number): Slices<Uint8Array[]> {
  const batch: Uint8Array[] = [];
  let bytes = 0;
  while (batch.length < count) {
    const doc = yield* pull(cursor);
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

function* more(cursor: Cursor): Slices<boolean> {
  cursor.held ??= yield* pull(cursor);
  return cursor.held !== undefined;
}

/** A cursor id as it comes in getMore and killCursors. Errors: TypeMismatch. */
export function cursorId(v: Value | undefined): bigint {
  if (v instanceof Long) return v.toBigInt();
  if (typeof v === "number" && Number.isInteger(v)) return BigInt(v);
  throw new StoreError("TypeMismatch", "a cursor id must be a long");
}

/** The session id of a command as text, if it has one. */
export function sessionOf(command: Doc): string | undefined {
  const lsid = command["lsid"];
  const id = isDoc(lsid) ? lsid["id"] : undefined;
  return id instanceof Binary ? id.toString("hex") : undefined;
}
