import { recencyCache } from "../../../shared/cache.ts";
import { plusMs, type Clock } from "../../../shared/time/clock.ts";
import { healthAfter, allowedRequests, type HostHealth } from "../rules/host-health.ts";
import type { TryResult } from "../rules/delivery-verdict.ts";

/** Hosts kept by each record; evicted ones get a fresh start. */
export const MAX_HOSTS = 10_000;

/** A pause that a try began (for how long), or ended; null: neither. */
export type PauseChange = { began_ms: number } | { ended: true } | null;

/** What a process knows of the hosts it asked. */
export interface HostRecords {
  /** Requests that may be under way to the host, `cap` while it is well. */
  allowed(host: string, cap: number): number;
  /** Whether its last answer was a good one. */
  isProven(host: string): boolean;
  learn(host: string, result: TryResult): PauseChange;
  /** Ends a pause: the next request shows whether the host is well again. */
  endPause(host: string): void;
  /** Until when the host is paused; null: it is not. */
  pausedUntil(host: string): Date | null;
}

/** Records in memory, of this process alone. */
export function hostRecords(clock: Clock, random: () => number): HostRecords {
  const unwell = recencyCache<HostHealth>({ max: MAX_HOSTS });
  const proven = recencyCache<true>({ max: MAX_HOSTS });
  return {
    allowed: (host, cap) => allowedRequests(unwell.get(host) ?? null, cap, clock.monotonicMs()),
    isProven: (host) => proven.get(host) === true,
    learn(host, result) {
      const before = unwell.get(host) ?? null;
      const now = clock.monotonicMs();
      const health = healthAfter(before, result, now, random());
      if (health) {
        unwell.set(host, health);
        proven.delete(host);
        return health.paused_until !== null && health.paused_until !== before?.paused_until
          ? { began_ms: health.paused_until - now }
          : null;
      }
      unwell.delete(host);
      if (result.status !== null) proven.set(host, true);
      return before && before.paused_until !== null ? { ended: true } : null;
    },
    endPause(host) {
      const health = unwell.get(host);
      if (health && health.paused_until !== null) unwell.set(host, { ...health, paused_until: clock.monotonicMs() });
    },
    pausedUntil(host) {
      const until = unwell.get(host)?.paused_until ?? null;
      const left = until === null ? 0 : until - clock.monotonicMs();
      return left > 0 ? plusMs(clock.now(), left) : null;
    },
  };
}
