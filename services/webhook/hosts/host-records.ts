import { recencyCache } from "../../../shared/cache.ts";
import { plusMs, type Clock } from "../../../shared/time/clock.ts";
import { afterBegin, healthAfter, isDown, roomFor, type HostHealth } from "../rules/host-health.ts";
import type { TryResult } from "../rules/delivery-verdict.ts";

/** Hosts kept by each record; evicted ones get a fresh start. */
export const MAX_HOSTS = 10_000;

/** A pause that a try began (for how long), or ended; null: neither. */
export type PauseChange = { began_ms: number } | { ended: true } | null;

/** What a process knows of the hosts it asked. */
export interface HostRecords {
  /** How many more requests may begin beside those under way, up to `cap` in all while the host is well. */
  room(host: string, underWay: number, cap: number): number;
  /** A request to the host begins: after a pause it is the probe. */
  begin(host: string): void;
  /** Whether the host fails whatever it is sent. */
  isDown(host: string): boolean;
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
  /** When each host last answered well, monotonic ms; of these, `proven` are those that did not fail since. */
  const answered = recencyCache<number>({ max: MAX_HOSTS });
  const proven = recencyCache<true>({ max: MAX_HOSTS });
  return {
    room: (host, underWay, cap) => roomFor(unwell.get(host) ?? null, underWay, cap, clock.monotonicMs()),
    begin(host) {
      const health = afterBegin(unwell.get(host) ?? null, clock.monotonicMs(), random());
      if (health) unwell.set(host, health);
    },
    isDown: (host) => isDown(unwell.get(host) ?? null, answered.get(host) ?? null, clock.monotonicMs()),
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
      if (result.status !== null) {
        proven.set(host, true);
        answered.set(host, now);
      }
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
