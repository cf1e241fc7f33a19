import { errorForLog, type Log } from "../../../shared/process/log.ts";

/**
 * Writes the latest state of something, one write at a time; states that came during a write are skipped but the last. A write
 * that fails is logged and forgotten: the next one carries everything.
 */
export function progressWriter(log: Log, about: Record<string, unknown>) {
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
  return {
    save(write: () => Promise<void>): void {
      next = write;
      running ??= run();
    },
    async settled(): Promise<void> {
      await running;
    },
  };
}

/** The writer of one conversation's progress. */
export type Progress = ReturnType<typeof progressWriter>;
