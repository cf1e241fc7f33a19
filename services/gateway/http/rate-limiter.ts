import { recencyCache } from "../../../shared/cache.ts";
import { MS_PER_SECOND } from "../../../shared/time/clock.ts";

/** What is left of an allowance after a request was counted. */
export interface Allowance {
  allowed: boolean;
  limit: number;
  remaining: number;
  /** Whole seconds until the window ends. */ reset_seconds: number;
}

/** Counts per key in windows of fixed length, in this process. */
export interface FixedWindowLimiter {
  /** Counts one at `nowMs` (monotonic); past the limit nothing is counted and `allowed` is false. */
  acquirePermit(key: string, nowMs: number): Allowance;
  /** Takes one back: it does not count. */
  refund(key: string): void;
}

/** At most `limit` in each `windowMs` from a key's first request on. It keeps `maxKeys` keys; past that it forgets the key used longest ago. */
export function fixedWindowLimiter(limit: number, windowMs: number, maxKeys: number): FixedWindowLimiter {
  const windows = recencyCache<{ began: number; used: number }>({ max: maxKeys });
  return {
    acquirePermit(key, nowMs) {
      let window = windows.get(key);
      if (window === undefined || nowMs >= window.began + windowMs) {
        window = { began: nowMs, used: 0 };
        windows.set(key, window);
      }
      const allowed = window.used < limit;
      if (allowed) window.used++;
      return {
        allowed,
        limit,
        remaining: limit - window.used,
        reset_seconds: Math.max(1, Math.ceil((window.began + windowMs - nowMs) / MS_PER_SECOND)),
      };
    },
    refund(key) {
      const window = windows.get(key);
      if (window !== undefined && window.used > 0) window.used--;
    },
  };
}
