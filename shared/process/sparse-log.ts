import { timedCache } from "../cache.ts";
import { MS_PER_SECOND, type Clock } from "../time/clock.ts";

/** How often one thing is logged, in seconds. */
const LOG_SECONDS = 60;
/** Things that are counted at once. */
const MAX_THINGS = 1000;

/** Counts what may come in masses, and has it said at once and then once a minute at most. */
export interface SparseLog {
  /** Counts the thing; `say` is called when a line is due, with how often it came since the last one. */
  note(thing: string, say: (times: number) => void): void;
}

/** A counter by this clock. */
export function sparseLog(clock: Pick<Clock, "monotonicMs">): SparseLog {
  const things = timedCache<{ times: number; logged_ms: number }>({ ttlSeconds: 10 * LOG_SECONDS, max: MAX_THINGS });
  return {
    note(thing, say) {
      const now = clock.monotonicMs();
      const known = things.get(thing) ?? { times: 0, logged_ms: Number.NEGATIVE_INFINITY };
      const times = known.times + 1;
      const due = now - known.logged_ms >= LOG_SECONDS * MS_PER_SECOND;
      things.set(thing, due ? { times: 0, logged_ms: now } : { ...known, times });
      if (due) say(times);
    },
  };
}
