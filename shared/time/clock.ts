/** The source of time. `now` is wall time for documents; `monotonicMs` is for deadlines, so that a clock jump can't stretch them. */
export interface Clock {
  now(): Date;
  monotonicMs(): number;
  /** Resolves after `ms`, or at once when the signal aborts (it never rejects). */
  wait(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The system's clock. */
export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  // not the timers of node:timers/promises: they make an error with its stack of every wait that is cut short, which most are
  wait: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) {
        resolve();
        return;
      }
      const end = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      signal?.addEventListener("abort", end, { once: true });
    }),
};

/** Milliseconds in a second. */
export const MS_PER_SECOND = 1000;

/** `date` moved by a number of milliseconds (may be negative). */
export const plusMs = (date: Date, ms: number): Date => new Date(date.getTime() + ms);

/** `date` moved by a number of seconds (may be negative). */
export const plusSeconds = (date: Date, seconds: number): Date => plusMs(date, seconds * MS_PER_SECOND);
