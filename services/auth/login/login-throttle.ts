/** Tries per key in a sliding window, kept in this process. */
export interface Throttle {
  /** Counts a try at `nowMs` (monotonic). 0: go ahead; else the whole seconds until the next try may be made, and nothing is counted. */
  take(key: string, nowMs: number): number;
  /** Takes back the newest try of the key: it turned out to be rightful. */
  giveBack(key: string): void;
}

const MS_PER_SECOND = 1000;

/** A throttle of `limit` tries in any `windowMs`. It remembers `maxKeys` keys; past that the one that was tried longest ago is forgotten. */
export function throttle(limit: number, windowMs: number, maxKeys: number): Throttle {
  const tries = new Map<string, number[]>();
  return {
    take(key, nowMs) {
      const recent = (tries.get(key) ?? []).filter((at) => at > nowMs - windowMs);
      tries.delete(key); // set again below: the map's order is the order of last use
      const [oldest] = recent;
      const refused = recent.length >= limit && oldest !== undefined;
      if (!refused) recent.push(nowMs);
      tries.set(key, recent);
      if (tries.size > maxKeys)
        for (const stale of tries.keys()) {
          tries.delete(stale);
          break;
        }
      return refused ? Math.max(1, Math.ceil((oldest + windowMs - nowMs) / MS_PER_SECOND)) : 0;
    },
    giveBack(key) {
      const recent = tries.get(key);
      recent?.pop();
      if (recent?.length === 0) tries.delete(key);
    },
  };
}
