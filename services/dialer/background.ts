import type { Clock } from "../../shared/time/clock.ts";
import { taskSet, within } from "../../shared/time/deadline.ts";
import { errorForLog, type Log } from "../../shared/process/log.ts";

/** Work that goes on after its action has answered. */
export interface Background {
  /** Starts it. A failure is logged; the next sweep resumes it from the documents. */
  run(what: string, work: () => Promise<void>): void;
  /** Resolves when all of it is done, or after `limitMs`. */
  drain(limitMs: number): Promise<void>;
}

/** Background work of this process. */
export function createBackground(log: Log, clock: Clock): Background {
  const running = taskSet();
  return {
    run(what, work) {
      running.add(
        work().catch((error: unknown) => {
          log.warn({ error: errorForLog(error) }, `${what} did not finish; the next sweep resumes it`);
        }),
      );
    },
    async drain(limitMs) {
      await within(clock, limitMs, running.drain());
    },
  };
}
