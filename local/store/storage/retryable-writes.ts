import { Binary, Long } from "bson";
import { decode } from "../bson/bson-reader.ts";
import { encode } from "../bson/bson-writer.ts";
import { StoreError } from "../bson/errors.ts";
import { blob, integer } from "./storage.ts";
import type { Storage } from "./storage.ts";
import { isDoc } from "../bson/values.ts";
import type { Doc, Value } from "../bson/values.ts";

/** How long the answer of a retryable write is kept: MongoDB's logical session time-out. */
const KEPT_MS = 30 * 60_000;

/** The statement a retryable write is: one session's numbered write. */
export interface RetryKey {
  session: Uint8Array;
  txn: number;
}

/**
 * Answers of retryable writes (driver specification "Retryable Writes"), written in the transaction of the write itself: a
 * write repeated after a lost connection, or after the store was killed, gets its first answer and is not done twice.
 */
export class Retries {
  private readonly storage: Storage;
  /** How many items of each list of the write's progress are kept. */
  private readonly listed = new Map<string, number>();
  private begun = false;
  constructor(storage: Storage) {
    this.storage = storage;
  }

  /** The key of a write that may come again, or undefined. Errors: InvalidOptions. */
  static keyOf(command: Doc): RetryKey | undefined {
    const txn = command["txnNumber"];
    if (txn === undefined) return undefined;
    const lsid = command["lsid"];
    const id = isDoc(lsid) ? lsid["id"] : undefined;
    if (!(id instanceof Binary))
      throw new StoreError("InvalidOptions", "Transaction number requires a session ID to also be specified");
    const n = txn instanceof Long ? txn.toNumber() : txn;
    if (typeof n !== "number" || n < 0)
      throw new StoreError("InvalidOptions", "Transaction number cannot be negative or of another type than long");
    return { session: id.value(), txn: n };
  }

  /** What is kept of a write that was cut off in the middle (by the store's death); undefined for a whole answer. */
  progressOf(key: RetryKey, kept: Uint8Array): Doc | undefined {
    const counts = decode(kept);
    if (counts["ok"] !== undefined) return undefined;
    const lists = new Map<string, Value[]>();
    for (const row of this.storage.all("SELECT piece FROM retry_pieces WHERE session = ? ORDER BY id", key.session))
      for (const [name, items] of Object.entries(decode(blob(row["piece"]))))
        if (Array.isArray(items)) lists.set(name, (lists.get(name) ?? []).concat(items));
    for (const [name, items] of lists) this.listed.set(name, items.length);
    this.begun = true;
    return { ...counts, ...Object.fromEntries(lists) };
  }

  /** Keeps what a write has done before it rests: its counts, and of its lists what is new, so that a long list is written once. */
  keepProgress(key: RetryKey, progress: Doc, now: number): void {
    // left by a write of this session that never came again
    if (!this.begun) this.forgetPieces(key);
    this.begun = true;
    const counts: Doc = {};
    const added: Doc = {};
    for (const [name, v] of Object.entries(progress)) {
      const items = Array.isArray(v) ? v.slice(this.listed.get(name) ?? 0) : undefined;
      if (items === undefined) counts[name] = v;
      else if (items.length > 0) {
        added[name] = items;
        this.listed.set(name, (this.listed.get(name) ?? 0) + items.length);
      }
    }
    this.write(key, encode(counts), now);
    if (Object.keys(added).length > 0)
      this.storage.write("INSERT INTO retry_pieces(session, piece) VALUES(?, ?)", key.session, encode(added));
  }

  private forgetPieces(key: RetryKey): void {
    this.storage.write("DELETE FROM retry_pieces WHERE session = ?", key.session);
  }

  /** The first answer of the same write, undefined for a new one. Errors: TransactionTooOld. */
  find(key: RetryKey): Uint8Array | undefined {
    const row = this.storage.one("SELECT txn, reply FROM retries WHERE session = ?", key.session);
    if (row === undefined) return undefined;
    const latest = integer(row["txn"]);
    if (latest > key.txn)
      throw new StoreError(
        "TransactionTooOld",
        `Retryable write with txnNumber ${key.txn} is prohibited on session because a newer retryable write with txnNumber ${latest} has already started on this session.`,
      );
    return latest === key.txn ? blob(row["reply"]) : undefined;
  }

  /** Keeps an answer; the session's former one goes. */
  keep(key: RetryKey, reply: Uint8Array, now: number): void {
    if (this.begun) this.forgetPieces(key);
    this.write(key, reply, now);
  }

  private write(key: RetryKey, reply: Uint8Array, now: number): void {
    this.storage.write(
      "INSERT OR REPLACE INTO retries(session, txn, at, reply) VALUES(?, ?, ?, ?)",
      key.session,
      key.txn,
      now,
      reply,
    );
  }

  /** Forgets old answers. */
  sweep(now: number): void {
    if (this.storage.one("SELECT 1 FROM retries WHERE at < ? LIMIT 1", now - KEPT_MS) === undefined) return;
    this.storage.write("DELETE FROM retries WHERE at < ?", now - KEPT_MS);
    this.storage.write("DELETE FROM retry_pieces WHERE session NOT IN (SELECT session FROM retries)");
  }
}
