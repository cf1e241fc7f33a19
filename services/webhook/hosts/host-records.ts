import { recencyCache } from "../../../shared/cache.ts";
import { plusMs, type Clock } from "../../../shared/time/clock.ts";
import { afterBegin, healthAfter, isDown, roomFor, type HostHealth } from "../rules/host-health.ts";
import { keyOf, type Receiver } from "../rules/receiver.ts";
import type { TryResult } from "../rules/delivery-verdict.ts";

/** Receivers kept by each record; evicted ones get a fresh start. */
export const MAX_RECEIVERS = 10_000;

/** A pause that a try began (for how long), or ended; null: neither. */
export type PauseChange = { began_ms: number } | { ended: true } | null;

/** What a process knows of the receivers it asked. */
export interface HostRecords {
  /** How many more requests may begin beside those under way, up to `cap` in all while the receiver is well. */
  room(receiver: Receiver, underWay: number, cap: number): number;
  /** A request to the receiver begins: after a pause it is the probe. */
  begin(receiver: Receiver): void;
  /** Whether the receiver fails whatever it is sent. */
  isDown(receiver: Receiver): boolean;
  /** Whether it has answered well since then, monotonic ms. */
  hasAnsweredSince(receiver: Receiver, ms: number): boolean;
  /** Whether its last answer was a good one. */
  isProven(receiver: Receiver): boolean;
  learn(receiver: Receiver, result: TryResult): PauseChange;
  /** Ends a pause: the next request shows whether the receiver is well again. */
  endPause(receiver: Receiver): void;
  /** Until when the receiver is paused; null: it is not. */
  pausedUntil(receiver: Receiver): Date | null;
}

/** Records in memory, of this process alone. */
export function hostRecords(clock: Clock, random: () => number): HostRecords {
  const unwell = recencyCache<HostHealth>({ max: MAX_RECEIVERS });
  /** When each receiver last answered well, monotonic ms; of these, `proven` are those that did not fail since. */
  const answered = recencyCache<number>({ max: MAX_RECEIVERS });
  const proven = recencyCache<true>({ max: MAX_RECEIVERS });
  return {
    room: (receiver, underWay, cap) => roomFor(unwell.get(keyOf(receiver)) ?? null, underWay, cap, clock.monotonicMs()),
    begin(receiver) {
      const key = keyOf(receiver);
      const health = afterBegin(unwell.get(key) ?? null, clock.monotonicMs(), random());
      if (health) unwell.set(key, health);
    },
    isDown(receiver) {
      const key = keyOf(receiver);
      return isDown(unwell.get(key) ?? null, answered.get(key) ?? null, clock.monotonicMs());
    },
    hasAnsweredSince: (receiver, ms) => (answered.get(keyOf(receiver)) ?? -Infinity) > ms,
    isProven: (receiver) => proven.get(keyOf(receiver)) === true,
    learn(receiver, result) {
      const key = keyOf(receiver);
      const before = unwell.get(key) ?? null;
      const now = clock.monotonicMs();
      const health = healthAfter(before, result, now, random());
      if (health) {
        unwell.set(key, health);
        proven.delete(key);
        return health.paused_until !== null && health.paused_until !== before?.paused_until
          ? { began_ms: health.paused_until - now }
          : null;
      }
      unwell.delete(key);
      if (result.status !== null) {
        proven.set(key, true);
        answered.set(key, now);
      }
      return before && before.paused_until !== null ? { ended: true } : null;
    },
    endPause(receiver) {
      const key = keyOf(receiver);
      const health = unwell.get(key);
      if (health && health.paused_until !== null) unwell.set(key, { ...health, paused_until: clock.monotonicMs() });
    },
    pausedUntil(receiver) {
      const until = unwell.get(keyOf(receiver))?.paused_until ?? null;
      const left = until === null ? 0 : until - clock.monotonicMs();
      return left > 0 ? plusMs(clock.now(), left) : null;
    },
  };
}
