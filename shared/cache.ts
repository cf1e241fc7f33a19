import { LRUCache } from "lru-cache";
import NodeCache from "node-cache";
import type { Clock } from "./time/clock.ts";

/** A bounded cache in this process. Entries may go at any time. */
export interface Cache<T> {
  get(key: string): T | undefined;
  set(key: string, value: T): void;
  delete(key: string): void;
  clear(): void;
}

/** Share of the oldest entries that goes when a timed cache is full. */
const EVICTED_SHARE = 0.1;

/**
 * A cache for small look-ups that live by time: each entry lives `ttlSeconds` of wall time, and the oldest tenth goes when there are `max` entries.
 * `sweepSeconds`: entries that have expired are removed this often; 0: when they are next asked for.
 */
export function timedCache<T>({
  ttlSeconds,
  max,
  sweepSeconds = 0,
}: {
  ttlSeconds: number;
  max: number;
  sweepSeconds?: number;
}): Cache<T> {
  const cache = new NodeCache({ stdTTL: ttlSeconds, checkperiod: sweepSeconds, useClones: false, maxKeys: max });
  return {
    get: (key) => cache.get<T>(key),
    set(key, value) {
      // node-cache refuses to replace a key when it is full
      if (cache.del(key) === 0 && cache.getStats().keys >= max)
        cache.del(cache.keys().slice(0, Math.ceil(max * EVICTED_SHARE)));
      cache.set(key, value);
    },
    delete: (key) => {
      cache.del(key);
    },
    clear: () => cache.flushAll(),
  };
}

/** Bounds of a recency cache: entries, bytes as `bytesOf` counts them, and how long an entry lives, in ms of the clock's monotonic time. */
export interface RecencyBounds<T> {
  max: number;
  bytes?: { max: number; of(value: T): number };
  ttl?: { ms: number; clock: Pick<Clock, "monotonicMs"> };
}

/** A cache that drops what was used longest ago, for where recency or size decide. An entry larger than all bytes allowed is not kept. */
export function recencyCache<T extends {}>({ max, bytes, ttl }: RecencyBounds<T>): Cache<T> {
  const cache = new LRUCache<string, T>({
    // counted as sizes, never as `max`: of that lru-cache allocates as many entries at once, and fills as many when its last one is deleted.
    // Of bytes an entry takes its share at the least, so that there are never more than `max`
    ...(bytes === undefined
      ? { maxSize: max, sizeCalculation: () => 1 }
      : {
          maxSize: bytes.max,
          maxEntrySize: bytes.max,
          sizeCalculation: (value: T) => Math.max(1, Math.floor(bytes.max / max), bytes.of(value)),
        }),
    // lru-cache takes a start at 0 for an entry without a time to live
    ...(ttl === undefined ? {} : { ttl: ttl.ms, ttlResolution: 0, perf: { now: () => ttl.clock.monotonicMs() + 1 } }),
  });
  return {
    get: (key) => cache.get(key),
    set: (key, value) => {
      cache.set(key, value);
    },
    delete: (key) => {
      cache.delete(key);
    },
    clear: () => cache.clear(),
  };
}

/** What the cache holds under the key, else what `make` gives; null and undefined are passed on but not kept. */
export async function cached<T extends {}, Missing extends null | undefined>(
  cache: Cache<T>,
  key: string,
  make: () => Promise<T | Missing>,
): Promise<T | Missing> {
  const known = cache.get(key);
  if (known !== undefined) return known;
  const made = await make();
  if (made !== null && made !== undefined) cache.set(key, made);
  return made;
}
