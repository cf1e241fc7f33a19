import type { Clock } from "../time/clock.ts";

/** Tells whether this process stood still lately: its event loop was blocked, or the machine stopped it. */
export interface StallWatch {
  start(): void;
  /** How long it last stood still, ms; 0: it did not, within the last seconds. */
  recentMs(): number;
  stop(): void;
}

/** A beat is expected this often. */
const BEAT_MS = 500;
/** Later by this much, the process stood still. */
const STALL_MS = 1500;
/** What lies back longer than this explains nothing any more. */
const RECENT_MS = 5000;

/** A watch by the process's own monotonic clock. */
export function createStallWatch(clock: Pick<Clock, "monotonicMs">): StallWatch {
  let timer: NodeJS.Timeout | undefined;
  let beatMs = clock.monotonicMs();
  let stall = { ms: 0, endedMs: -Infinity };
  const look = (): void => {
    const nowMs = clock.monotonicMs();
    const lateMs = nowMs - beatMs - BEAT_MS;
    if (lateMs >= STALL_MS) stall = { ms: lateMs, endedMs: nowMs };
    beatMs = nowMs;
  };
  return {
    start() {
      if (timer !== undefined) return;
      beatMs = clock.monotonicMs();
      timer = setInterval(look, BEAT_MS);
      timer.unref();
    },
    recentMs() {
      const nowMs = clock.monotonicMs();
      // the socket's news may be read before the late beat
      const runningMs = timer === undefined ? 0 : nowMs - beatMs - BEAT_MS;
      if (runningMs >= STALL_MS) return runningMs;
      return nowMs - stall.endedMs <= RECENT_MS ? stall.ms : 0;
    },
    stop() {
      clearInterval(timer);
      timer = undefined;
    },
  };
}
