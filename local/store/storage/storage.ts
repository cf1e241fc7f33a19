import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { SQLInputValue, StatementSync } from "node:sqlite";
import { checkFiles, CommitRecord, DATA_FILE } from "./commit-record.ts";

const PAGE_BYTES = 8192;
const CACHE_KIB = 128 * 1024;
const CHECKPOINT_PAGES = 8000;
const WAL_LIMIT_BYTES = 128 * 1024 * 1024;
/** 2: documents have checksums, commits are counted. Files of format 1 are brought to it. */
const FORMAT = 2;
const IN_MEMORY = ":memory:";

/** The end of a query of at most so many rows. A bare `LIMIT ?` makes sqlite compile the query anew whenever a number is bound to it. */
export const AT_MOST = "LIMIT ? + 0";

/** How a store is opened. */
export interface StorageOptions {
  /** Start although commits or documents are lost. */
  acceptLoss?: boolean;
  /** Told of losses and of damaged documents. */
  report?: (error: unknown) => void;
}

/**
 * The sqlite file and its one transaction. All writes of one event-loop turn share a transaction, committed before any of
 * their answers leave (see connection.ts).
 *
 * Durability: WAL with synchronous=NORMAL. A commit is in the operating system's hands before it is acknowledged, so it
 * survives the death of this process (SIGKILL included). It is not fsynced one by one: after a power loss or kernel panic the
 * last commits (since the last checkpoint) may be gone, but the file is consistent, with no half-written document or index.
 *
 * What is deleted or written over is overwritten with zeros in the file (secure_delete), so that an erased phone number is in no old page of it.
 */
export class Storage {
  readonly db: DatabaseSync;
  private readonly statements = new Map<string, StatementSync>();
  private transaction = false;
  /** The piece of work at hand: none, one that has not written yet, the transaction's only one, or one behind a savepoint. */
  private piece: "none" | "unwritten" | "whole" | "savepoint" = "none";

  /** Told of what a person should know. */
  readonly report: (error: unknown) => void;
  private commits = 0;
  /** None in memory: what ends with the process cannot be missing from a file. */
  private readonly record: CommitRecord | undefined;

  /** Opens or creates the store. Errors: the folder is not writable, another process has the store open; StoreDamaged. */
  constructor(dir: string, { acceptLoss = false, report = () => undefined }: StorageOptions = {}) {
    this.report = report;
    if (dir !== IN_MEMORY) {
      mkdirSync(dir, { recursive: true });
      this.commits = checkFiles(dir, acceptLoss, report);
    }
    this.db = new DatabaseSync(dir === IN_MEMORY ? dir : join(dir, DATA_FILE));
    this.db
      .exec(`PRAGMA page_size=${PAGE_BYTES}; PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;
      PRAGMA cache_size=-${CACHE_KIB}; PRAGMA wal_autocheckpoint=${CHECKPOINT_PAGES}; PRAGMA journal_size_limit=${WAL_LIMIT_BYTES}; PRAGMA temp_store=MEMORY;
      PRAGMA secure_delete=ON;`);
    // Taking a write lock now makes a second store on the same folder fail at once, with a clear error.
    this.db.exec("BEGIN IMMEDIATE");
    // Made before the file begins to count: a file that counts has a record.
    if (dir !== IN_MEMORY) this.record = new CommitRecord(dir, this.commits);
    this.makeTables(dir);
    this.db.exec("COMMIT");
  }

  private makeTables(dir: string): void {
    const version = integer(this.one("PRAGMA user_version")?.["user_version"]);
    if (version > FORMAT)
      throw new Error(
        `${dir} holds a store of format ${version}, this program reads format ${FORMAT}: move the folder away`,
      );
    this.db.exec(`
      CREATE TABLE IF NOT EXISTS collections(id INTEGER PRIMARY KEY, db TEXT NOT NULL, name TEXT NOT NULL, uuid BLOB NOT NULL, UNIQUE(db, name));
      CREATE TABLE IF NOT EXISTS indexes(id INTEGER PRIMARY KEY, collection INTEGER NOT NULL, spec BLOB NOT NULL, multikey INTEGER NOT NULL DEFAULT 0);
      CREATE TABLE IF NOT EXISTS retries(session BLOB PRIMARY KEY, txn INTEGER NOT NULL, at INTEGER NOT NULL, reply BLOB NOT NULL) WITHOUT ROWID;
      CREATE INDEX IF NOT EXISTS retries_at ON retries(at);
      CREATE TABLE IF NOT EXISTS retry_pieces(id INTEGER PRIMARY KEY, session BLOB NOT NULL, piece BLOB NOT NULL);
      CREATE INDEX IF NOT EXISTS retry_pieces_session ON retry_pieces(session);`);
    if (version === FORMAT) return;
    for (const row of this.all("SELECT id FROM collections"))
      this.db.exec(`ALTER TABLE d_${integer(row["id"])} ADD COLUMN crc INTEGER`);
    this.db.exec(
      `CREATE TABLE commits(n INTEGER NOT NULL); INSERT INTO commits VALUES(0); PRAGMA user_version=${FORMAT}`,
    );
  }

  /** A prepared statement, made once per text. */
  prepare(sql: string): StatementSync {
    let statement = this.statements.get(sql);
    if (statement === undefined) {
      statement = this.db.prepare(sql);
      this.statements.set(sql, statement);
    }
    return statement;
  }

  /** The first row, or undefined. */
  one(sql: string, ...values: SQLInputValue[]): Record<string, unknown> | undefined {
    return this.prepare(sql).get(...values);
  }

  /** All rows. */
  all(sql: string, ...values: SQLInputValue[]): Record<string, unknown>[] {
    return this.prepare(sql).all(...values);
  }

  /** All rows as arrays of their columns, which are made in half the time. */
  rows(sql: string, ...values: SQLInputValue[]): unknown[] {
    const known = this.statements.get(sql);
    const statement = known ?? this.prepare(sql);
    if (known === undefined) statement.setReturnArrays(true);
    return statement.all(...values);
  }

  /** Runs a writing statement inside the open transaction, which it opens if need be. */
  write(sql: string, ...values: SQLInputValue[]): void {
    this.begin();
    this.prepare(sql).run(...values);
  }

  /** Runs schema changes; statements prepared on dropped tables are forgotten. */
  schema(sql: string): void {
    this.begin();
    this.statements.clear();
    this.db.exec(sql);
  }

  private begin(): void {
    if (!this.transaction) {
      this.db.exec("BEGIN");
      this.transaction = true;
      this.piece = this.piece === "none" ? "none" : "whole";
    } else if (this.piece === "unwritten") {
      this.prepare("SAVEPOINT piece").run();
      this.piece = "savepoint";
    }
  }

  /** Begins a piece of work that can be taken back by itself. A savepoint is made when it first writes, and others have written before. */
  beginPiece(): void {
    this.piece = "unwritten";
  }

  /** Keeps what the piece wrote. */
  keepPiece(): void {
    if (this.piece === "savepoint") this.prepare("RELEASE piece").run();
    this.piece = "none";
  }

  /** Takes back what the piece wrote: "nothing", or "piece"; "all" when the whole transaction is gone. */
  takeBackPiece(): "nothing" | "piece" | "all" {
    const { piece } = this;
    this.piece = "none";
    if (piece === "none" || piece === "unwritten") return "nothing";
    // sqlite has rolled back everything by itself after some errors (disk full).
    if (!this.db.isTransaction) return "all";
    this.statements.clear();
    if (piece === "whole") this.rollback();
    else this.db.exec("ROLLBACK TO piece; RELEASE piece");
    return "piece";
  }

  /** True while writes wait for their commit. */
  get dirty(): boolean {
    return this.transaction;
  }

  /** Commits what this turn wrote. */
  commit(): void {
    if (!this.transaction) return;
    if (this.record !== undefined) this.prepare("UPDATE commits SET n = ?").run(this.commits + 1);
    this.db.exec("COMMIT");
    this.transaction = false;
    this.record?.write(++this.commits);
  }

  /** Takes back what this turn wrote. */
  rollback(): void {
    if (!this.transaction) return;
    this.transaction = false;
    // sqlite has already rolled back by itself after some errors (disk full).
    if (this.db.isTransaction) this.db.exec("ROLLBACK");
  }

  /** Commits and closes. */
  close(): void {
    if (!this.db.isOpen) return;
    this.commit();
    this.statements.clear();
    this.db.close();
    this.record?.close();
  }
}

/** A blob column as bytes. */
export function blob(v: unknown): Uint8Array {
  if (v instanceof Uint8Array) return v;
  throw new TypeError("the store's file holds no blob where one belongs");
}

/** An integer column. */
export function integer(v: unknown): number {
  if (typeof v === "number") return v;
  throw new TypeError("the store's file holds no integer where one belongs");
}

/** A document with its place in the file. */
export interface Stored {
  rid: number;
  bytes: Uint8Array;
  /** The checksum of the bytes that were stored; null when an older version stored them. */
  crc: number | null;
}

/** The columns of one of {@link Storage.rows}. */
export function columns(row: unknown): readonly unknown[] {
  if (Array.isArray(row)) return row;
  throw new TypeError("the store's file holds no row where one belongs");
}

/** The columns rid, doc, crc of a row of d_<id>. */
export function storedOf(row: unknown): Stored {
  const [rid, doc, crc] = columns(row);
  return { rid: integer(rid), bytes: blob(doc), crc: crc === null ? null : integer(crc) };
}
