import { PERMIT_AHEAD_MS } from "../admission/gates.ts";

/** Permits that leads on their way to the dialer will ask for, so that a pass does not count them as free; and how long that way is. By rate window. */
export interface InFlightReservations {
  add(window: string, nowMs: number): void;
  /** A permit was asked for: one of those expected, whichever replica handed its lead over; over several replicas this evens out. */
  redeem(window: string): void;
  count(window: string, nowMs: number): number;
  /** A pass took so long from its beginning until it handed leads over, ms. */
  passTook(ms: number): void;
  /** A lead's permit was asked for, for an instant so long after the dialer took its order, ms. */
  askedAfter(ms: number): void;
  /** Permits that become free within this long count as free, ms: their calls are on their way no sooner. */
  aheadMs(): number;
}

/** An order without a request by then ended earlier: by a pre-check, an abort or a crashed process. */
const EXPECTED_WITHIN_MS = 3000;
const EXPECTED_AT_LEAST_MS = 500;
/** The longest way that is looked ahead for. */
const LONGEST_AHEAD_MS = 5000;
/** Weight of the newest measurement in the mean. */
const NEWEST = 0.2;

const mean = (before: number | null, ms: number): number => (before === null ? ms : before + (ms - before) * NEWEST);

/** No reservations. Times are monotonic milliseconds. */
export function createInFlightReservations(): InFlightReservations {
  const windows = new Map<string, number[]>();
  let passMs: number | null = null;
  let askedMs: number | null = null;
  const wayMs = (): number => Math.min(LONGEST_AHEAD_MS, (passMs ?? 0) + (askedMs ?? 0));
  const expectedMs = (): number =>
    askedMs === null ? EXPECTED_WITHIN_MS : Math.min(EXPECTED_WITHIN_MS, EXPECTED_AT_LEAST_MS + 2 * wayMs());
  const live = (window: string, nowMs: number): number[] => {
    const times = (windows.get(window) ?? []).filter((at) => at > nowMs - expectedMs());
    if (times.length > 0) windows.set(window, times);
    else windows.delete(window);
    return times;
  };
  return {
    add(window, nowMs) {
      windows.set(window, [...live(window, nowMs), nowMs]);
    },
    redeem(window) {
      windows.get(window)?.shift();
    },
    count: (window, nowMs) => live(window, nowMs).length,
    passTook(ms) {
      passMs = mean(passMs, ms);
    },
    askedAfter(ms) {
      askedMs = mean(askedMs, ms);
    },
    aheadMs: () => PERMIT_AHEAD_MS + wayMs(),
  };
}
