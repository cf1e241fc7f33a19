import type { Clock } from "./clock.ts";
import { startTimer } from "./timer.ts";

/** A time limit on a clock. `clear` must be called when the work is over, or its timer goes on. */
export interface Deadline {
  /** Aborts when the time is over, or with one of the signals it was given. */
  readonly signal: AbortSignal;
  /** True once the time was over before `clear`. */
  readonly expired: boolean;
  clear(): void;
}

/** Starts a time limit of `ms`; `others` abort its signal too, without making it expired. */
export function startDeadline(clock: Clock, ms: number, ...others: AbortSignal[]): Deadline {
  const late = new AbortController();
  const clear = startTimer(clock, ms, () => late.abort());
  return {
    signal: others.length === 0 ? late.signal : AbortSignal.any([late.signal, ...others]),
    get expired() {
      return late.signal.aborted;
    },
    clear,
  };
}

/** Waits for a promise for at most `ms`; true: it was fulfilled in time. Rejects as the promise does. */
export async function within(clock: Clock, ms: number, promise: Promise<unknown>): Promise<boolean> {
  const over = new AbortController();
  try {
    return await Promise.race([promise.then(() => true), clock.wait(ms, over.signal).then(() => false)]);
  } finally {
    over.abort(null);
  }
}

/** Work under way that must end before a process shuts down. */
export interface TaskSet {
  readonly size: number;
  /** Adds a task until it ends. Its failure is its owner's to handle. */
  add(task: Promise<unknown>): void;
  /** Resolves when no task is left, those that were added meanwhile included. */
  drain(): Promise<void>;
}

/** An empty set. */
export function taskSet(): TaskSet {
  const tasks = new Set<Promise<unknown>>();
  return {
    get size() {
      return tasks.size;
    },
    add(task) {
      const ended = task
        .catch(() => undefined)
        .finally(() => {
          tasks.delete(ended);
        });
      tasks.add(ended);
    },
    async drain() {
      while (tasks.size > 0) await Promise.all(tasks);
    },
  };
}
