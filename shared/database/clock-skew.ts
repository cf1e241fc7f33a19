/** One reading of the database's clock: our time before and after the request, and the database's answer; ms since 1970. */
export interface ClockReading {
  asked_ms: number;
  answered_ms: number;
  store_ms: number;
}

/** Beyond this difference leases and due times are unreliable. */
export const MAX_SKEW_MS = 2000;

/** How far the database's clock is ahead of ours (behind: negative), and by how much this may be wrong: the answer was made somewhere on its way. */
export function skewOf({ asked_ms, answered_ms, store_ms }: ClockReading): { skew_ms: number; uncertain_ms: number } {
  const way = Math.max(answered_ms - asked_ms, 0);
  return { skew_ms: Math.round(store_ms - (asked_ms + way / 2)), uncertain_ms: Math.ceil(way / 2) };
}

/** What is wrong between the clocks, as a sentence for the operator; null: nothing that these readings prove. The reading with the shortest way counts. */
export function skewFault(readings: readonly ClockReading[]): string | null {
  const best = readings.map(skewOf).sort((a, b) => a.uncertain_ms - b.uncertain_ms)[0];
  if (!best || Math.abs(best.skew_ms) - best.uncertain_ms <= MAX_SKEW_MS) return null;
  const seconds = (Math.abs(best.skew_ms) / 1000).toFixed(1);
  return (
    `The database's clock is ${seconds} s ${best.skew_ms > 0 ? "ahead of" : "behind"} this machine's; at most ${MAX_SKEW_MS / 1000} s are allowed, since leases and due times are judged by both. ` +
    "Set the clock right on the machine that is wrong (NTP: timedatectl set-ntp true, or chronyc makestep) and start again."
  );
}
