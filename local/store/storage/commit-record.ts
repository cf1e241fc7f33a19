import { closeSync, constants, existsSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { crc32 } from "node:zlib";

/** The sqlite file in the store's folder. */
export const DATA_FILE = "store.sqlite";
/** Beside it: how many commits have been acknowledged. */
const RECORD_FILE = "store.commits";
const COUNT_BYTES = 6;
const RECORD_BYTES = COUNT_BYTES + 4;
const OWNER_ONLY = 0o600;

/** The store's files are not as it left them; the message says what is wrong and what to do. */
export class StoreDamaged extends Error {}

/** What the record says: a number of commits; "missing" and "damaged" say nothing. */
type Recorded = number | "missing" | "damaged";

/** What the data file says with its journal: its commits (undefined: it counts none yet), and what is wrong with its structure. */
interface Inspected {
  commits: number | undefined;
  damage: string | undefined;
}

/**
 * The number of acknowledged commits, in a file of its own: sqlite drops what follows a damaged place in its journal without a
 * word, so only something outside of the journal can tell that commits are missing. It is not fsynced: like the journal it
 * survives the death of the process, and after a power loss it may be behind.
 */
export class CommitRecord {
  readonly #fd: number;
  readonly #bytes = Buffer.alloc(RECORD_BYTES);

  /** Opens or makes the record of the store in `dir`. */
  constructor(dir: string, commits: number) {
    this.#fd = openSync(join(dir, RECORD_FILE), constants.O_RDWR | constants.O_CREAT, OWNER_ONLY);
    this.write(commits);
  }

  /** Records that so many commits have been made, before any of their answers leave. */
  write(commits: number): void {
    this.#bytes.writeUIntLE(commits, 0, COUNT_BYTES);
    this.#bytes.writeUInt32LE(crc32(this.#bytes.subarray(0, COUNT_BYTES)), COUNT_BYTES);
    writeSync(this.#fd, this.#bytes, 0, RECORD_BYTES, 0);
  }

  close(): void {
    closeSync(this.#fd);
  }
}

function readRecord(dir: string): Recorded {
  const path = join(dir, RECORD_FILE);
  const bytes = existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
  // Empty: the store was killed when it had just made it, before anything was counted.
  if (bytes.length === 0) return "missing";
  if (bytes.length !== RECORD_BYTES || bytes.readUInt32LE(COUNT_BYTES) !== crc32(bytes.subarray(0, COUNT_BYTES)))
    return "damaged";
  return bytes.readUIntLE(0, COUNT_BYTES);
}

/** Looks into the data file without changing it or its journal: whoever refuses to start must leave them as they are. */
function inspect(dir: string): Inspected {
  const file = join(dir, DATA_FILE);
  if (!existsSync(file)) return { commits: undefined, damage: undefined };
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    const counted = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'commits'").get() !== undefined;
    const commits = counted ? Number(db.prepare("SELECT n FROM commits").get()?.["n"]) : undefined;
    const finding = String(db.prepare("PRAGMA quick_check(1)").get()?.["quick_check"]);
    return { commits, damage: finding === "ok" ? undefined : finding };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (/malformed|not a database/u.test(message)) return { commits: undefined, damage: message };
    throw error;
  } finally {
    db.close();
  }
}

/** What is wrong, in a person's words; undefined when nothing is. */
function wrong({ commits, damage }: Inspected, recorded: Recorded): string | undefined {
  if (damage !== undefined) return `is damaged (${damage.replaceAll(/\s+/gu, " ")})`;
  const cause = `its journal ${DATA_FILE}-wal was shortened, changed or removed, or an older copy of ${DATA_FILE} was put in its place`;
  if (typeof recorded === "number")
    // More than recorded is what a kill between a commit and its record leaves behind.
    return recorded > (commits ?? 0)
      ? `lacks ${recorded - (commits ?? 0)} of ${recorded} acknowledged commits: ${cause}`
      : undefined;
  // Files of older versions have no record: it is made.
  return recorded === "missing" && (commits ?? 0) === 0
    ? undefined
    : `may lack commits that were acknowledged: ${RECORD_FILE} beside it, which counts them, is ${recorded}`;
}

/**
 * Compares the files in `dir` with what was acknowledged; the number of commits to go on from. With `acceptLoss` what is wrong
 * is only reported. Errors: StoreDamaged; those of sqlite for a folder that is in use or cannot be read.
 */
export function checkFiles(dir: string, acceptLoss: boolean, report: (error: unknown) => void): number {
  const inspected = inspect(dir);
  const what = wrong(inspected, readRecord(dir));
  if (what !== undefined) {
    const found = `${join(dir, DATA_FILE)} ${what}`;
    if (!acceptLoss)
      throw new StoreDamaged(
        `${found}. Nothing was changed. Restore a backup of the whole folder; or go on without what is lost by starting once with --accept-loss (node local/store/main.ts --dir ${dir} --accept-loss); or begin with empty data (npm start -- --fresh)`,
      );
    report(`${found}. It goes on without what is lost, as --accept-loss says`);
  }
  return inspected.commits ?? 0;
}
