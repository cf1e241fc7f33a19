import type { Clock } from "../../../shared/time/clock.ts";
import { FRAME_MS } from "./port.ts";

/** Calls are spread over this many phases of a frame, so that they do not all need the processor at once. */
const PHASES = 4;
const PHASE_MS = FRAME_MS / PHASES;
/** After a longer standstill the missed ticks are dropped: subscribers read the clock themselves. */
const MAX_BEHIND_MS = 5 * FRAME_MS;

/** One tick every FRAME_MS for all calls of a process. */
export interface FrameClock {
  /** Calls `tick` until the returned function is called. */
  subscribe(tick: () => void): () => void;
}

/** A clock that runs only while it has subscribers. */
export function frameClock(clock: Clock): FrameClock {
  const phases = Array.from({ length: PHASES }, () => new Set<() => void>());
  let subscribers = 0;
  let stop: AbortController | null = null;

  const run = async (signal: AbortSignal): Promise<void> => {
    let next = clock.monotonicMs();
    for (let at = 0; !signal.aborted; at = (at + 1) % PHASES) {
      for (const tick of phases[at] ?? []) tick();
      next += PHASE_MS;
      const now = clock.monotonicMs();
      if (now - next > MAX_BEHIND_MS) next = now;
      if (next > now) await clock.wait(next - now, signal);
    }
  };

  return {
    subscribe(tick) {
      const phase = phases.reduce((least, other) => (other.size < least.size ? other : least));
      phase.add(tick);
      subscribers++;
      if (!stop) {
        stop = new AbortController();
        void run(stop.signal);
      }
      return () => {
        if (!phase.delete(tick) || --subscribers > 0) return;
        stop?.abort();
        stop = null;
      };
    },
  };
}
