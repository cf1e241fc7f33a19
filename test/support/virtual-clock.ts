import type { Clock } from "../../shared/clock.ts";

/** A clock that only moves when told to. */
export interface VirtualClock extends Clock {
  /** Moves time on and lets every wait that ended meanwhile go on. */
  advance(ms: number): Promise<void>;
  set(now: Date): void;
}

/** Starts a virtual clock. Waits resolve when `advance` passes their end, or when their signal aborts. */
export function virtualClock(start = new Date("2026-11-21T10:00:00.000Z")): VirtualClock {
  let now = start.getTime();
  let monotonic = 0;
  const waits = new Set<{ until: number; resolve: () => void }>();
  return {
    now: () => new Date(now),
    monotonicMs: () => monotonic,
    wait: (ms, signal) =>
      new Promise<void>((resolve) => {
        if (signal?.aborted) {
          resolve();
          return;
        }
        const entry = {
          until: monotonic + ms,
          resolve: () => {
            waits.delete(entry);
            resolve();
          },
        };
        waits.add(entry);
        signal?.addEventListener("abort", entry.resolve, { once: true });
      }),
    async advance(ms) {
      now += ms;
      monotonic += ms;
      for (const w of waits) if (w.until <= monotonic) w.resolve();
      await new Promise((resolve) => setImmediate(resolve));
    },
    set: (to) => {
      now = to.getTime();
    },
  };
}
