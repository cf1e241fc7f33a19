import type { ChildProcess } from "node:child_process";

/** How often a child says that its event loop runs, and how many beats in a row it may miss. */
export interface Beats {
  everyMs: number;
  missed: number;
}

/** Half a minute: a store that starts with a large file, or drops one, is busy for some seconds, and is no hung one. */
export const BEATS: Beats = { everyMs: 1000, missed: 30 };

/**
 * Watches a child that sends "beat" over its channel: calls `hung` when it has missed too many in a row. Only beats that this
 * process waited for on time count, so a machine that slept or is overloaded kills nothing; a child that never sent one is not watched.
 */
export function watchBeats(child: ChildProcess, { everyMs, missed }: Beats, hung: (silentMs: number) => void): void {
  let silent = 0;
  let timer: NodeJS.Timeout | undefined;
  let lastTick = performance.now();
  const tick = (): void => {
    const now = performance.now();
    const onTime = now - lastTick < 2 * everyMs;
    lastTick = now;
    silent = onTime ? silent + 1 : 0;
    if (silent <= missed) return;
    clearInterval(timer);
    hung(missed * everyMs);
  };
  child.on("message", (message) => {
    if (message !== "beat") return;
    silent = 0;
    if (timer !== undefined) return;
    lastTick = performance.now();
    timer = setInterval(tick, everyMs);
    timer.unref();
  });
  child.once("exit", () => clearInterval(timer));
}
