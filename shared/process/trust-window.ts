import { within } from "../time/deadline.ts";
import type { Clock } from "../time/clock.ts";

/** Whether this process may take another's silence for its death: only who has itself had all it judges by, without a break, for a whole lease. */
export interface TrustWindow {
  /** Looks once whether all is there; never rejects. To be called every `PROBE_EVERY_MS`. */
  probe(): Promise<void>;
  trusted(): boolean;
}

/** How often a window is to be probed, ms. */
export const PROBE_EVERY_MS = 1000;
/** A probe that takes longer has failed. */
const PROBE_LIMIT_MS = 2000;
/** Between two probes that went well; more, and this process stood still itself. */
const MAX_GAP_MS = 5000;

/** A window of `windowMs`; `reach` rejects where something that this process judges by is out of its reach. */
export function createTrustWindow(clock: Clock, windowMs: number, reach: () => Promise<unknown>): TrustWindow {
  let sinceMs: number | null = null;
  let lastMs = -Infinity;
  return {
    async probe() {
      const askedMs = clock.monotonicMs();
      if (askedMs - lastMs > MAX_GAP_MS) sinceMs = null;
      const reached = await within(clock, PROBE_LIMIT_MS, reach()).catch(() => false);
      if (!reached) sinceMs = null;
      else {
        sinceMs ??= askedMs;
        lastMs = clock.monotonicMs();
      }
    },
    trusted: () =>
      sinceMs !== null && clock.monotonicMs() - lastMs <= MAX_GAP_MS && clock.monotonicMs() - sinceMs >= windowMs,
  };
}
