import { uptime } from "node:os";

/** The source of time. `now` is wall time for documents; `monotonicMs` is for deadlines, so that a clock jump can't stretch them. */
export interface Clock {
  now(): Date;
  monotonicMs(): number;
  /** How long the machine has slept since this process began, ms, while the monotonic clock stood; absent: nobody can say. */
  sleptMs?(): number;
  /** Resolves after `ms`, or at once when the signal aborts (it never rejects). Below 0: what is waited for is past. */
  wait(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The machine's time since its start counts its sleep; less the monotonic clock, ms. */
const asleepMs = (): number => uptime() * 1000 - performance.now();
const ASLEEP_AT_START_MS = asleepMs();

/** The system's clock: this machine's own. Instants that other processes see come from the deployment's time (store-clock.ts). */
export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  sleptMs: () => asleepMs() - ASLEEP_AT_START_MS,
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
      // time that is left of a limit, and none may be; Node warns of timers below 0
      const timer = setTimeout(end, Math.max(0, ms));
      signal?.addEventListener("abort", end, { once: true });
    }),
};

/** Milliseconds in a second. */
export const MS_PER_SECOND = 1000;

/** `date` moved by a number of milliseconds (may be negative). */
export const plusMs = (date: Date, ms: number): Date => new Date(date.getTime() + ms);

/** `date` moved by a number of seconds (may be negative). */
export const plusSeconds = (date: Date, seconds: number): Date => plusMs(date, seconds * MS_PER_SECOND);
