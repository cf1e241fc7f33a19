import type { Clock } from "./clock.ts";

/** Calls `act` after `ms`, unless the returned function is called first. */
export function startTimer(clock: Clock, ms: number, act: () => void): () => void {
  const cancelled = new AbortController();
  const run = async (): Promise<void> => {
    await clock.wait(ms, cancelled.signal);
    if (!cancelled.signal.aborted) act();
  };
  void run();
  // with a reason of its own the signal makes no error with a stack: timers are cancelled many times a second
  return () => cancelled.abort(null);
}
