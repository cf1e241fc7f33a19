import { Binary, Long } from "bson";
import { decode } from "../bson/bson-reader.ts";
import { StoreError } from "../bson/errors.ts";
import { blob, integer } from "./storage.ts";
import type { Storage } from "./storage.ts";
import { isDoc } from "../bson/values.ts";
import type { Doc } from "../bson/values.ts";

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
  static progressOf(kept: Uint8Array): Doc | undefined {
    const doc = decode(kept);
    return doc["ok"] === undefined ? doc : undefined;
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
  }
}
