/** Tokens that leads on their way to the dialler will ask for: so that a pass does not give the same room away again. Counted by ring. */
export interface SpokenFor {
  add(ring: string, nowMs: number): void;
  /** A grant was asked for here: one of those that were expected, whoever handed it over; with several replicas this evens out. */
  asked(ring: string): void;
  count(ring: string, nowMs: number): number;
}

/** An order that has not asked by then ended before: a pre-check, an abort, a process that died. */
const EXPECTED_WITHIN_MS = 3000;

/** Nothing is spoken for. Times are monotonic milliseconds. */
export function createSpokenFor(): SpokenFor {
  const rings = new Map<string, number[]>();
  const live = (ring: string, nowMs: number): number[] => {
    const times = (rings.get(ring) ?? []).filter((at) => at > nowMs - EXPECTED_WITHIN_MS);
    if (times.length > 0) rings.set(ring, times);
    else rings.delete(ring);
    return times;
  };
  return {
    add(ring, nowMs) {
      rings.set(ring, [...live(ring, nowMs), nowMs]);
    },
    asked(ring) {
      rings.get(ring)?.shift();
    },
    count: (ring, nowMs) => live(ring, nowMs).length,
  };
}
