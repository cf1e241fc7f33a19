import type { Clock } from "../../../shared/clock.ts";

/** A short memory of answers by key, for at most `ttlMs` and `max` keys. */
export interface Remembered<T> {
  get(key: string): T | undefined;
  set(key: string, value: T): void;
  forget(key: string): void;
  clear(): void;
}

/** An empty memory. Its time is monotonic. */
export function remembered<T>(clock: Clock, ttlMs: number, max: number): Remembered<T> {
  const known = new Map<string, { value: T; until: number }>();
  return {
    get(key) {
      const entry = known.get(key);
      return entry && entry.until > clock.monotonicMs() ? entry.value : undefined;
    },
    set(key, value) {
      known.delete(key);
      known.set(key, { value, until: clock.monotonicMs() + ttlMs });
      for (const oldest of known.keys()) {
        if (known.size <= max) return;
        known.delete(oldest);
      }
    },
    forget: (key) => {
      known.delete(key);
    },
    clear: () => {
      known.clear();
    },
  };
}
