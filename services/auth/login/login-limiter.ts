import { recencyCache } from "../../../shared/cache.ts";
import { MS_PER_SECOND } from "../../../shared/time/clock.ts";

/** Attempts per key in a sliding window, kept in this process. */
export interface SlidingWindowLimiter {
  /** Counts an attempt at `nowMs` (monotonic). 0: it may go ahead; else the whole seconds until the next attempt is allowed, and nothing is counted. */
  acquirePermit(key: string, nowMs: number): number;
  /** Removes the newest attempt of the key: it succeeded, and only failures count. */
  refund(key: string): void;
}

/** A limiter of `limit` attempts in any `windowMs`. It keeps `maxKeys` keys; past that it forgets the key used longest ago. */
export function slidingWindowLimiter(limit: number, windowMs: number, maxKeys: number): SlidingWindowLimiter {
  const attempts = recencyCache<number[]>({ max: maxKeys });
  return {
    acquirePermit(key, nowMs) {
      const recent = (attempts.get(key) ?? []).filter((at) => at > nowMs - windowMs);
      const [oldest] = recent;
      const refused = recent.length >= limit && oldest !== undefined;
      if (!refused) recent.push(nowMs);
      attempts.set(key, recent);
      return refused ? Math.max(1, Math.ceil((oldest + windowMs - nowMs) / MS_PER_SECOND)) : 0;
    },
    refund(key) {
      const recent = attempts.get(key);
      recent?.pop();
      if (recent?.length === 0) attempts.delete(key);
    },
  };
}

/** How failures in a row are answered: after `free` of them a pause, which doubles with each further one, from `firstMs` up to `maxMs`. */
export interface GrowingPause {
  free: number;
  firstMs: number;
  maxMs: number;
}

/**
 * A limiter by failures in a row, kept in this process for `maxKeys` keys; past that it forgets the key used longest ago. A try counts as a failure
 * until it is refunded, which forgets the key's failures. They are forgotten as well when the longest pause has gone by without any.
 */
export function growingPauseLimiter({ free, firstMs, maxMs }: GrowingPause, maxKeys: number): SlidingWindowLimiter {
  const tries = recencyCache<{ failures: number; until: number }>({ max: maxKeys });
  return {
    acquirePermit(key, nowMs) {
      const known = tries.get(key);
      if (known !== undefined && nowMs < known.until)
        return Math.max(1, Math.ceil((known.until - nowMs) / MS_PER_SECOND));
      const failures = (known === undefined || nowMs >= known.until + maxMs ? 0 : known.failures) + 1;
      const pause = failures < free ? 0 : Math.min(maxMs, firstMs * 2 ** (failures - free));
      tries.set(key, { failures, until: nowMs + pause });
      return 0;
    },
    refund: (key) => {
      tries.delete(key);
    },
  };
}
