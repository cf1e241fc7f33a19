import { inScope, type Scope } from "../../../shared/contracts/records/identity.ts";
import type { Clock } from "../../../shared/time/clock.ts";
import type { LogEntry } from "./event-log.model.ts";

/** What was written a moment ago. `last`: the position up to which this is all of it. */
export interface Recent {
  found: LogEntry[];
  last: number;
}

/** The end of the log as this process wrote it: who follows closely is answered from it, and need not wait for the database. */
export interface LogTail {
  /** These are in the log now. */
  add(entries: readonly LogEntry[]): void;
  /** Entries of a scope behind a position; null: there is none here, or not all behind that position are here, and the database is to be asked. */
  behind(scope: Scope, after: number, limit: number): Recent | null;
  /** Something in the log was changed. */
  forget(): void;
}

/** How long entries are kept, and how many at most: followers come within milliseconds. */
const KEPT_MS = 2000;
const MAX_ENTRIES = 1000;

/** An empty one. What another process writes is not in it, so it answers for what is behind it with null, never with nothing. */
export function logTail(clock: Pick<Clock, "monotonicMs">): LogTail {
  let kept: { entry: LogEntry; untilMs: number }[] = [];
  const fresh = (): typeof kept => {
    const nowMs = clock.monotonicMs();
    const first = kept.findIndex(({ untilMs }) => untilMs > nowMs);
    if (first !== 0) kept = first === -1 ? [] : kept.slice(first);
    return kept;
  };
  return {
    add(entries) {
      const [first] = entries;
      if (first === undefined) return;
      const before = fresh().at(-1)?.entry.position;
      const untilMs = clock.monotonicMs() + KEPT_MS;
      const added = entries.map((entry) => ({ entry, untilMs }));
      kept = (before === first.position - 1 ? [...kept, ...added] : added).slice(-MAX_ENTRIES);
    },
    behind(scope, after, limit) {
      const there = fresh();
      const [first, last] = [there[0]?.entry.position, there.at(-1)?.entry.position];
      if (first === undefined || last === undefined || after < first - 1 || after >= last) return null;
      const found = there.slice(after - first + 1).flatMap(({ entry }) => (inScope(scope, entry) ? entry : []));
      return { found: found.slice(0, limit), last };
    },
    forget() {
      kept = [];
    },
  };
}
