import type { Clock } from "../time/clock.ts";

/** A reading that is made every `ms` at most, however often it is asked for; one that fails is made again the next time. */
export function remembered<T>(clock: Pick<Clock, "monotonicMs">, ms: number, read: () => Promise<T>): () => Promise<T> {
  let last: { atMs: number; reading: Promise<T> } | null = null;
  return () => {
    const nowMs = clock.monotonicMs();
    if (last !== null && nowMs - last.atMs < ms) return last.reading;
    const mine = { atMs: nowMs, reading: read() };
    mine.reading.catch(() => {
      if (last === mine) last = null;
    });
    last = mine;
    return mine.reading;
  };
}
