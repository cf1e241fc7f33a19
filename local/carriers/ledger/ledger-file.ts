import { closeSync, existsSync, ftruncateSync, openSync, readFileSync, writeSync } from "node:fs";

/** The ledger's copy on disk, newline-delimited JSON. */
export interface LedgerFile {
  append(entry: object): void;
  clear(): void;
  close(): Promise<void>;
}

/** Entries are written together this often, ms: a ledger must not slow the calls it watches. */
const FLUSH_MS = 50;

/**
 * Reads the file back (a line cut by a crash is skipped) and opens it for appending.
 * Throws the system's error (ENOENT for a missing folder, EACCES …) when it cannot be opened.
 */
export function openLedgerFile(path: string, onEntry: (value: unknown) => void): LedgerFile {
  let endsMidLine = false;
  if (existsSync(path)) {
    const text = readFileSync(path, "utf8");
    endsMidLine = text !== "" && !text.endsWith("\n");
    for (const line of text.split("\n")) {
      if (line === "") continue;
      try {
        onEntry(JSON.parse(line));
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error;
      }
    }
  }
  const fd = openSync(path, "a");
  if (endsMidLine) writeSync(fd, "\n");
  let pending: string[] = [];
  let timer: NodeJS.Timeout | null = null;
  let closed = false;
  const flush = (): void => {
    timer = null;
    if (pending.length === 0) return;
    writeSync(fd, pending.join(""));
    pending = [];
  };

  return {
    append(entry) {
      if (closed) return;
      pending.push(`${JSON.stringify(entry)}\n`);
      timer ??= setTimeout(flush, FLUSH_MS);
    },
    clear() {
      pending = [];
      ftruncateSync(fd, 0);
    },
    async close() {
      if (closed) return;
      if (timer) clearTimeout(timer);
      flush();
      closed = true;
      closeSync(fd);
    },
  };
}
