/** Exponential back-off: `base` doubled `tries` times, never above `max` (all in milliseconds). */
export const exponentialMs = (tries: number, baseMs: number, maxMs: number): number =>
  Math.min(maxMs, baseMs * 2 ** Math.min(tries, 30));

/** `ms` spread by ±`share` (0.1 = ten per cent); `random` is in [0, 1). */
export const jitterMs = (ms: number, share: number, random: number): number =>
  Math.round(ms * (1 - share + 2 * share * random));
