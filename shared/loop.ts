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

/** What a loop does and how often. `pass` returns true when there is more to do at once. */
export interface LoopOptions {
  name: string;
  clock: Clock;
  intervalMs: number;
  pass(): Promise<boolean>;
  onError(error: unknown): void;
}

/** Starts a loop. A pass that throws is reported and the next one comes after the interval. */
export function startLoop(options: LoopOptions): Loop {
  const stopping = new AbortController();
  let wake = new AbortController();
  let waiting: { resolve: () => void; fresh: boolean }[] = [];

  const onePass = async (): Promise<boolean> => {
    for (const w of waiting) w.fresh = true;
    try {
      return await options.pass();
    } catch (error) {
      options.onError(error);
      return false;
    } finally {
      const done = waiting.filter((w) => w.fresh);
      waiting = waiting.filter((w) => !w.fresh);
      for (const w of done) w.resolve();
    }
  };

  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      wake = new AbortController();
      const more = await onePass();
      if (!more) await options.clock.wait(options.intervalMs, AbortSignal.any([wake.signal, stopping.signal]));
    }
    for (const w of waiting) w.resolve();
    waiting = [];
  };
  const running = run();

  return {
    nudge: () => wake.abort(),
    nextPass: () => new Promise<void>((resolve) => {
      if (stopping.signal.aborted) { resolve(); return; }
      waiting.push({ resolve, fresh: false });
      wake.abort();
    }),
    stop: async () => { stopping.abort(); await running; },
  };
}
