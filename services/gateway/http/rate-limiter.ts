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
  /** Takes one back: it turned out not to count. */
  refund(key: string): void;
}

const MS_PER_SECOND = 1000;

/** At most `limit` in each `windowMs` from a key's first request on. It remembers `maxKeys` keys; past that the window that began longest ago is forgotten. */
export function fixedWindowLimiter(limit: number, windowMs: number, maxKeys: number): FixedWindowLimiter {
  const windows = new Map<string, { began: number; used: number }>(); // in the order in which the windows began
  return {
    acquirePermit(key, nowMs) {
      let window = windows.get(key);
      if (window === undefined || nowMs >= window.began + windowMs) {
        windows.delete(key);
        window = { began: nowMs, used: 0 };
        windows.set(key, window);
        if (windows.size > maxKeys)
          for (const oldest of windows.keys()) {
            windows.delete(oldest);
            break;
          }
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
