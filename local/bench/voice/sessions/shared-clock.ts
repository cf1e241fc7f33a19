const NS_PER_MS = 1e6;
const TRIES = 20;

/** Where performance.now's zero is on the machine's monotonic clock: of a few readings the largest, for whoever is interrupted between the two clocks reads it too small. */
const zero = Math.max(
  ...Array.from({ length: TRIES }, () => Number(process.hrtime.bigint()) / NS_PER_MS - performance.now()),
);

/** A moment of performance.now's as all processes of the machine have it, ms; absent: now. */
export const sharedMs = (at: number = performance.now()): number => zero + at;
