import pLimit from "p-limit";
import type { Clock } from "../../../shared/time/clock.ts";
import { errorForLog, type Log } from "../../../shared/process/log.ts";

/** What is kept at most; of more than that the oldest is given up, and the carrier is asked about its call as after a crash. */
const MOST_KEPT = 10_000;
/** How long one thing is tried, ms. */
const KEPT_FOR_MS = 3_600_000;
const AT_ONCE = 10;

/**
 * What this process knows about calls and could not write down: that nothing was dialled, what the carrier answered, what a callback said. Nobody else
 * knows it; without it the carrier has to be asked for minutes. It is written as soon as the database takes it.
 */
export interface Unwritten {
  /** Does the work now; where it fails it is kept and repeated. The work must bear being done twice. Never rejects. */
  write(call_ref: string, what: string, work: () => Promise<void>): Promise<void>;
  /** Keeps work that has failed once. */
  keep(call_ref: string, what: string, work: () => Promise<void>): void;
  /** Tries all that is kept once; never rejects. */
  retry(): Promise<void>;
}

interface Kept {
  call_ref: string;
  what: string;
  work: () => Promise<void>;
  sinceMs: number;
}

/** The memory of one process. */
export function createUnwritten({ clock, log }: { clock: Clock; log: Log }): Unwritten {
  const kept = new Set<Kept>();
  const giveUp = (one: Kept, why: string): void => {
    kept.delete(one);
    log.error(
      { event: "call.not_written", call_ref: one.call_ref, what: one.what, why },
      "What is known about a call could not be written down and is given up; the carrier is asked about it.",
    );
  };
  const keep = (call_ref: string, what: string, work: () => Promise<void>): void => {
    const [oldest] = kept;
    if (kept.size >= MOST_KEPT && oldest) giveUp(oldest, `more than ${MOST_KEPT} are waiting`);
    kept.add({ call_ref, what, work, sinceMs: clock.monotonicMs() });
  };
  const tryOnce = async (one: Kept): Promise<boolean> => {
    try {
      await one.work();
      kept.delete(one);
      log.info(
        { event: "call.written_late", call_ref: one.call_ref, what: one.what },
        "What could not be written down about a call is written now.",
      );
      return true;
    } catch (error) {
      if (clock.monotonicMs() - one.sinceMs > KEPT_FOR_MS) giveUp(one, String(errorForLog(error)["message"]));
      return false;
    }
  };
  return {
    keep,
    async write(call_ref, what, work) {
      try {
        await work();
      } catch (error) {
        log.warn(
          { event: "call.unwritten", call_ref, what, error: errorForLog(error) },
          "Something about a call could not be written down; it is kept and tried again.",
        );
        keep(call_ref, what, work);
      }
    },
    async retry() {
      let failures = 0;
      await pLimit(AT_ONCE).map([...kept], async (one) => {
        // one after another fails: the database is still away, and need not hear the rest of it
        if (failures < AT_ONCE && !(await tryOnce(one))) failures += 1;
      });
    },
  };
}
