import type { Clock } from "./clock.ts";
import { startLoop, type Loop } from "./loop.ts";

/** One reading of the store's clock: our monotonic time before and after the request, and what the store said in between, in whole ms. */
export interface StoreClockReading {
  asked_ms: number;
  answered_ms: number;
  store_ms: number;
}

/** Bounds of "the store's time less our monotonic time", as they were at the monotonic instant `at_ms`. */
export interface OffsetBounds {
  low_ms: number;
  high_ms: number;
  at_ms: number;
}

/** A span of this process's monotonic time. It is empty where it begins after its end. */
export interface MonotonicSpan {
  notBeforeMs: number;
  notAfterMs: number;
}

/** Two clocks part by no more than this, as a share of the time that passes: twice what NTP slews by at most. */
export const DRIFT = 0.001;
/** The store says whole milliseconds. */
const RESOLUTION_MS = 1;
/** The store's clock is read this often. */
const READ_EVERY_MS = 2000;
/** Without a reading for this long the offset counts as unknown. */
export const KNOWN_FOR_MS = 60_000;

/** The bounds at another instant: the clocks may have parted since, or part until then. */
export function boundsAt({ low_ms, high_ms, at_ms }: OffsetBounds, nowMs: number): OffsetBounds {
  const drift = Math.abs(nowMs - at_ms) * DRIFT;
  return { low_ms: low_ms - drift, high_ms: high_ms + drift, at_ms: nowMs };
}

/**
 * What is known after a reading: what it says and what was known before must both hold. Where they can't, one of the clocks was set, and the
 * reading alone counts (`stepped_ms`: by how much at least).
 */
export function afterReading(
  before: OffsetBounds | null,
  { asked_ms, answered_ms, store_ms }: StoreClockReading,
): { bounds: OffsetBounds; stepped_ms: number } {
  const read = boundsAt(
    { low_ms: store_ms - answered_ms, high_ms: store_ms + RESOLUTION_MS - asked_ms, at_ms: asked_ms },
    answered_ms,
  );
  if (!before) return { bounds: read, stepped_ms: 0 };
  const known = boundsAt(before, answered_ms);
  const [low_ms, high_ms] = [Math.max(read.low_ms, known.low_ms), Math.min(read.high_ms, known.high_ms)];
  if (low_ms <= high_ms) return { bounds: { low_ms, high_ms, at_ms: answered_ms }, stepped_ms: 0 };
  return {
    bounds: read,
    stepped_ms: read.low_ms > known.high_ms ? read.low_ms - known.high_ms : read.high_ms - known.low_ms,
  };
}

/**
 * The store's clock as this process knows it: its offset to the monotonic clock, between two bounds that every reading narrows and that widen as time
 * passes. Steps of the wall clock don't touch it; where wall and monotonic clock part (the machine slept, or the wall clock was set), it widens by
 * as much until the next reading.
 */
export interface StoreClock {
  /** The span of our monotonic time that lies between these instants of the store, whatever the offset is within its bounds; null: the store's clock is not known. */
  within(from: Date, until: Date): MonotonicSpan | null;
  /** The store's time, in the middle of the bounds; null: it is not known. */
  now(): Date | null;
  /** Half the distance of the bounds, ms; null: the store's clock is not known. */
  uncertainMs(): number | null;
  /** Reads the store's clock now. Does not throw: a failed reading leaves the bounds as they are. */
  refresh(): Promise<void>;
  /** Begins to read every two seconds. */
  start(): void;
  stop(): Promise<void>;
}

/** What the clock is kept with. `read`: the store's time; null: this store does not tell it. */
export interface StoreClockDeps {
  clock: Clock;
  read(): Promise<Date | null>;
  /** The store's clock, or ours, was set: by so many ms. */
  onStep(stepped_ms: number): void;
}

/** A store's clock that was not read yet. */
export function createStoreClock({ clock, read, onStep }: StoreClockDeps): StoreClock {
  let known: OffsetBounds | null = null;
  /** Wall less monotonic time, at the last reading. */
  let wallMs = 0;
  let loop: Loop | null = null;
  const wallNow = (): number => clock.now().getTime() - clock.monotonicMs();

  /** The bounds for what happens until `aheadMs` from now. */
  const bounds = (aheadMs = 0): OffsetBounds | null => {
    const now = clock.monotonicMs();
    if (!known || now - known.at_ms > KNOWN_FOR_MS) return null;
    const { low_ms, high_ms } = boundsAt(known, now + Math.max(0, aheadMs));
    const parted = wallNow() - wallMs;
    return { low_ms: low_ms + Math.min(0, parted), high_ms: high_ms + Math.max(0, parted), at_ms: now };
  };
  const refresh = async (): Promise<void> => {
    try {
      const asked_ms = clock.monotonicMs();
      const store = await read();
      if (!store) return;
      const reading = { asked_ms, answered_ms: clock.monotonicMs(), store_ms: store.getTime() };
      const { bounds: next, stepped_ms } = afterReading(known, reading);
      known = next;
      wallMs = wallNow();
      if (stepped_ms !== 0) onStep(Math.round(stepped_ms));
    } catch {
      // the bounds widen until a reading succeeds
    }
  };
  return {
    within(from, until) {
      const b = bounds(until.getTime() - clock.monotonicMs() - (known?.low_ms ?? 0));
      return b && { notBeforeMs: from.getTime() - b.low_ms, notAfterMs: until.getTime() - b.high_ms };
    },
    now() {
      const b = bounds();
      return b && new Date(Math.round(b.at_ms + (b.low_ms + b.high_ms) / 2));
    },
    uncertainMs() {
      const b = bounds();
      return b && (b.high_ms - b.low_ms) / 2;
    },
    refresh,
    start() {
      loop ??= startLoop({
        name: "store-clock",
        clock,
        intervalMs: READ_EVERY_MS,
        pass: () => refresh().then(() => false),
        onError: () => undefined,
      });
    },
    async stop() {
      await loop?.stop();
    },
  };
}

/** The clock of this store, whose steps are logged. */
export const clockOfStore = (
  clock: Clock,
  log: { warn(fields: Record<string, unknown>, sentence: string): void },
  store: { time(): Promise<Date | null> },
): StoreClock =>
  createStoreClock({
    clock,
    read: () => store.time(),
    onStep: (stepped_ms) =>
      log.warn(
        { event: "store.clock_stepped", stepped_ms },
        "the database's clock or this process's was set; permits follow the database's",
      ),
  });
