import NodeCache from "node-cache";

/** A bounded memory of things that never change under their key. */
export interface Memory<T> {
  /** What is remembered under the key, else what `make` gives; null is passed on but not remembered. */
  get(key: string, make: () => Promise<T | null>): Promise<T | null>;
}

const TTL_SECONDS = 600;
/** Share of the oldest entries that goes when the memory is full. */
const FORGOTTEN_AT_ONCE = 0.1;

/** A memory of at most `max` entries, each kept ten minutes. */
export function memory<T>(max: number): Memory<T> {
  const cache = new NodeCache({ stdTTL: TTL_SECONDS, checkperiod: 0, useClones: false });
  return {
    async get(key, make) {
      const known = cache.get<T>(key);
      if (known !== undefined) return known;
      const made = await make();
      if (made === null) return null;
      if (cache.getStats().keys >= max) cache.del(cache.keys().slice(0, Math.ceil(max * FORGOTTEN_AT_ONCE)));
      cache.set(key, made);
      return made;
    },
  };
}
