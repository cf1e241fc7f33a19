import { createCallBook, type CallBook, type CallRow } from "./call-rows.ts";
import type { EntryFacts, Entry } from "./entries.ts";
import { openLedgerFile, type LedgerFile } from "./ledger-file.ts";

/** The book outside the service by which tests judge it. */
export interface Ledger {
  write(facts: EntryFacts): Entry;
  /** Entries after `since`, oldest first, at most `limit`, and the `since` of the next page. */
  read(since: number, limit: number): { entries: Entry[]; next: number };
  calls(): CallRow[];
  call(sid: string): CallRow | undefined;
  /** How often the number's phone has rung. */
  ringsOf(to: string): number;
  follow(listener: (entry: Entry) => void): () => void;
  clear(): void;
  close(): Promise<void>;
}

/** The oldest entries are forgotten beyond this. */
const MAX_ENTRIES = 500_000;
/** Forgetting goes in steps, so that it is rarely done. */
const FORGET_STEP = 50_000;

function isEntry(value: unknown): value is Entry {
  return (
    typeof value === "object" &&
    value !== null &&
    "seq" in value &&
    typeof value.seq === "number" &&
    "kind" in value &&
    "at" in value
  );
}

/** Opens the ledger; with a file, what is in it is read back first and every entry is appended as one JSON line. */
export function openLedger(file?: string, now: () => Date = () => new Date()): Ledger {
  let entries: Entry[] = [];
  let book: CallBook = createCallBook();
  let seq = 0;
  const followers = new Set<(entry: Entry) => void>();
  const take = (entry: Entry): void => {
    entries.push(entry);
    if (entries.length > MAX_ENTRIES) entries = entries.slice(FORGET_STEP);
    book.note(entry);
    seq = entry.seq;
  };
  const disk: LedgerFile | null =
    file === undefined
      ? null
      : openLedgerFile(file, (value) => {
          if (isEntry(value)) take(value);
        });

  return {
    write(facts) {
      const entry: Entry = { seq: seq + 1, at: now().toISOString(), ...facts };
      take(entry);
      disk?.append(entry);
      for (const listener of followers) listener(entry);
      return entry;
    },
    read(since, limit) {
      const first = entries[0]?.seq ?? seq + 1;
      const from = Math.max(0, since + 1 - first);
      const page = entries.slice(from, from + limit);
      return { entries: page, next: page.at(-1)?.seq ?? Math.max(since, 0) };
    },
    calls: () => book.rows(),
    call: (sid) => book.row(sid),
    ringsOf: (to) => book.ringsOf(to),
    follow(listener) {
      followers.add(listener);
      return () => {
        followers.delete(listener);
      };
    },
    clear() {
      entries = [];
      book = createCallBook();
      disk?.clear();
    },
    close: async () => {
      followers.clear();
      await disk?.close();
    },
  };
}
