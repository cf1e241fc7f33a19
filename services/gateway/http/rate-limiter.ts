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
  /**
   * Counts `cost` at `nowMs` (monotonic). Allowed is what comes while anything is left, so that what costs more than the whole limit is possible too;
   * past the limit nothing is counted. `limit`: another one than that of all keys.
   */
  acquirePermit(key: string, nowMs: number, cost?: number, limit?: number): Allowance;
  /** Counts what was used elsewhere, also past the limit. */
  usedElsewhere(key: string, nowMs: number, cost: number): void;
  /** Takes one back: it does not count. */
  refund(key: string): void;
}

/** At most `usual` in each `windowMs` from a key's first request on. It keeps `maxKeys` keys; past that it forgets the key used longest ago. */
export function fixedWindowLimiter(usual: number, windowMs: number, maxKeys: number): FixedWindowLimiter {
  const windows = recencyCache<{ began: number; used: number }>({ max: maxKeys });
  const windowOf = (key: string, nowMs: number): { began: number; used: number } => {
    const known = windows.get(key);
    if (known !== undefined && nowMs < known.began + windowMs) return known;
    const fresh = { began: nowMs, used: 0 };
    windows.set(key, fresh);
    return fresh;
  };
  return {
    acquirePermit(key, nowMs, cost = 1, limit = usual) {
      const window = windowOf(key, nowMs);
      const allowed = window.used < limit;
      if (allowed) window.used += cost;
      return {
        allowed,
        limit,
        remaining: Math.max(0, limit - window.used),
        reset_seconds: Math.max(1, Math.ceil((window.began + windowMs - nowMs) / MS_PER_SECOND)),
      };
    },
    usedElsewhere(key, nowMs, cost) {
      windowOf(key, nowMs).used += cost;
    },
    refund(key) {
      const window = windows.get(key);
      if (window !== undefined && window.used > 0) window.used--;
    },
  };
}
