import type { Clock } from "../../../shared/clock.ts";
import { FRAME_MS } from "./port.ts";

/** Calls are spread over this many moments of a period, so that they do not all want the processor at once. */
const SLOTS = 4;
const SLOT_MS = FRAME_MS / SLOTS;
/** After a longer stand-still the missed beats are not made up for: who keeps the pace looks at the clock. */
const MAX_BEHIND_MS = 5 * FRAME_MS;

/** One beat every FRAME_MS for all talks of a process. */
export interface FrameClock {
  /** Calls `beat` until the function it gives is called. */
  subscribe(beat: () => void): () => void;
}

/** Runs only while somebody listens. */
export function frameClock(clock: Clock): FrameClock {
  const slots = Array.from({ length: SLOTS }, () => new Set<() => void>());
  let members = 0;
  let stop: AbortController | null = null;

  const run = async (signal: AbortSignal): Promise<void> => {
    let next = clock.monotonicMs();
    for (let at = 0; !signal.aborted; at = (at + 1) % SLOTS) {
      for (const beat of slots[at] ?? []) beat();
      next += SLOT_MS;
      const now = clock.monotonicMs();
      if (now - next > MAX_BEHIND_MS) next = now;
      if (next > now) await clock.wait(next - now, signal);
    }
  };

  return {
    subscribe(beat) {
      const slot = slots.reduce((least, other) => (other.size < least.size ? other : least));
      slot.add(beat);
      members++;
      if (!stop) {
        stop = new AbortController();
        void run(stop.signal);
      }
      return () => {
        if (!slot.delete(beat) || --members > 0) return;
        stop?.abort();
        stop = null;
      };
    },
  };
}
