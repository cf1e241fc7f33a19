/** Permits that leads on their way to the dialer will ask for, so that a pass does not count them as free. By rate window. */
export interface InFlightReservations {
  add(window: string, nowMs: number): void;
  /** A permit was asked for: one of those expected, whichever replica handed its lead over; over several replicas this evens out. */
  redeem(window: string): void;
  count(window: string, nowMs: number): number;
}

/** An order without a request by then ended earlier: by a pre-check, an abort or a crashed process. */
const EXPECTED_WITHIN_MS = 3000;

/** No reservations. Times are monotonic milliseconds. */
export function createInFlightReservations(): InFlightReservations {
  const windows = new Map<string, number[]>();
  const live = (window: string, nowMs: number): number[] => {
    const times = (windows.get(window) ?? []).filter((at) => at > nowMs - EXPECTED_WITHIN_MS);
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
  };
}
