import { errorForLog, type Log } from "../../../shared/process/log.ts";
import type { Clock } from "../../../shared/time/clock.ts";
import { within } from "../../../shared/time/deadline.ts";

/** The words of a decision wait this long for it to be written, ms: a database that is away silences nobody. */
const DECISION_MS = 500;

/**
 * Writes the latest state of something, one write at a time; states that came during a write are skipped but the last. A write
 * that fails is logged and forgotten: the next one carries everything.
 */
export function progressWriter(clock: Clock, log: Log, about: Record<string, unknown>) {
  let next: (() => Promise<void>) | null = null;
  let running: Promise<void> | null = null;
  const run = async (): Promise<void> => {
    while (next) {
      const write = next;
      next = null;
      await write().catch((error: unknown) =>
        log.warn(
          { event: "talk.progress_lost", ...about, error: errorForLog(error) },
          "The progress of a conversation could not be written.",
        ),
      );
    }
    running = null;
  };
  const save = (write: () => Promise<void>): void => {
    next = write;
    running ??= run();
  };
  return {
    save,
    /** The same, and waits until it is written, or must be said all the same. Never rejects. */
    async saveDecision(write: () => Promise<void>): Promise<void> {
      save(write);
      await within(clock, DECISION_MS, running ?? Promise.resolve());
    },
    async settled(): Promise<void> {
      await running;
    },
  };
}

/** The writer of one conversation's progress. */
export type Progress = ReturnType<typeof progressWriter>;
