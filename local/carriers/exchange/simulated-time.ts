/** Ends a timer early; calling it again, or after the timer ran, does nothing. */
export type Cancel = () => void;

/**
 * Compressed time: every simulated duration (ringing, speech, thinking) is divided by `scale`, waits for the other
 * side's computers are not. All timers are kept, so that closing leaves none behind.
 */
export interface SimTime {
  readonly scale: number;
  /** Simulated milliseconds since the start, monotonic. */
  elapsedMs(): number;
  /** Runs `fn` after `simMs` simulated milliseconds, but never sooner than `floorRealMs` real ones. */
  after(simMs: number, fn: () => void, floorRealMs?: number): Cancel;
  /** Resolves true after the time, false at once when the signal aborts or the clock is closed. */
  wait(simMs: number, signal: AbortSignal, floorRealMs?: number): Promise<boolean>;
  /** Timers still waiting. */
  pending(): number;
  /** Cancels every timer; open waits resolve false. */
  close(): void;
}

/** Starts a compressed clock; scale 1 is real time, 20 makes a 40 s call last 2 s. */
export function startTime(scale: number): SimTime {
  const startedAt = performance.now();
  const cancels = new Set<Cancel>();
  const closing = new AbortController();

  const after: SimTime["after"] = (simMs, fn, floorRealMs = 0) => {
    if (closing.signal.aborted) return () => undefined;
    const timer = setTimeout(
      () => {
        cancels.delete(cancel);
        fn();
      },
      Math.max(simMs / scale, floorRealMs),
    );
    const cancel: Cancel = () => {
      clearTimeout(timer);
      cancels.delete(cancel);
    };
    cancels.add(cancel);
    return cancel;
  };

  return {
    scale,
    elapsedMs: () => (performance.now() - startedAt) * scale,
    after,
    wait: (simMs, signal, floorRealMs) =>
      new Promise((resolve) => {
        if (signal.aborted || closing.signal.aborted) {
          resolve(false);
          return;
        }
        const finish = (ran: boolean): void => {
          cancel();
          signal.removeEventListener("abort", stop);
          closing.signal.removeEventListener("abort", stop);
          resolve(ran);
        };
        const stop = (): void => finish(false);
        const cancel = after(simMs, () => finish(true), floorRealMs);
        signal.addEventListener("abort", stop, { once: true });
        closing.signal.addEventListener("abort", stop, { once: true });
      }),
    pending: () => cancels.size,
    close() {
      closing.abort();
      for (const cancel of new Set(cancels)) cancel();
    },
  };
}
