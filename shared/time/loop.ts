import type { Clock } from "./clock.ts";

/** A background loop: one pass at a time, every `intervalMs` or sooner when nudged. */
export interface Loop {
  /** Asks for a pass as soon as possible; many nudges during a pass make one further pass. */
  nudge(): void;
  /** Resolves when a whole pass that began after this call has ended: how tests wait without sleeping. */
  nextPass(): Promise<void>;
  /** Ends the loop after the pass under way. */
  stop(): Promise<void>;
}

/** What a loop does and how often. `pass` returns true when there is more to do at once, or the milliseconds after which the next pass is wanted at the latest. */
export interface LoopOptions {
  name: string;
  clock: Clock;
  intervalMs: number;
  /** Passes begin at least this far apart, however often they are asked for; default 0. */
  minGapMs?: number;
  pass(): Promise<boolean | number>;
  onError(error: unknown): void;
}

/** Starts a loop. A pass that throws is reported and the next one comes after the interval. */
export function startLoop(options: LoopOptions): Loop {
  const { clock, intervalMs, minGapMs = 0 } = options;
  const stopping = new AbortController();
  let wake = new AbortController();
  let waiting: { resolve: () => void; fresh: boolean }[] = [];

  /** Runs a pass; how long to wait for the next one. */
  const onePass = async (): Promise<number> => {
    for (const w of waiting) w.fresh = true;
    try {
      const more = await options.pass();
      if (typeof more === "number") return Math.min(more, intervalMs);
      return more ? 0 : intervalMs;
    } catch (error) {
      options.onError(error);
      return intervalMs;
    } finally {
      const done = waiting.filter((w) => w.fresh);
      waiting = waiting.filter((w) => !w.fresh);
      for (const w of done) w.resolve();
    }
  };

  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      wake = new AbortController();
      const began = clock.monotonicMs();
      const pauseMs = await onePass();
      const ended = clock.monotonicMs();
      const gapMs = began + minGapMs - ended;
      if (gapMs > 0) await clock.wait(gapMs, stopping.signal);
      const restMs = pauseMs - (gapMs > 0 ? gapMs : 0);
      if (restMs > 0) await clock.wait(restMs, AbortSignal.any([wake.signal, stopping.signal]));
    }
    for (const w of waiting) w.resolve();
    waiting = [];
  };
  const running = run();

  return {
    nudge: () => wake.abort(),
    nextPass: () =>
      new Promise<void>((resolve) => {
        if (stopping.signal.aborted) {
          resolve();
          return;
        }
        waiting.push({ resolve, fresh: false });
        wake.abort();
      }),
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}
