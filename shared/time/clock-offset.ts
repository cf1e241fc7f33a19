/** One reading of the store's clock: our monotonic time before and after the request, and what the store said in between, in whole ms. */
export interface StoreClockReading {
  asked_ms: number;
  answered_ms: number;
  store_ms: number;
}

/** Bounds of "a clock's time less our monotonic time", as they were at the monotonic instant `at_ms`. */
export interface OffsetBounds {
  low_ms: number;
  high_ms: number;
  at_ms: number;
}

/** Two clocks part by no more than this, as a share of the time that passes: twice what NTP slews by at most. */
export const DRIFT = 0.001;
/** The store says whole milliseconds. */
const RESOLUTION_MS = 1;
/** A clock that is this far from where it ought to be was set; less is followed. */
export const STEP_MS = 1000;
/** A step forward that lasts for so long is followed: by then nobody set it back. */
export const FOLLOW_AFTER_MS = 600_000;
/** A machine's own word for how long it slept is right to this. */
const SLEEP_TOLERANCE_MS = 2000;

/** The bounds at another instant: the clocks may have parted since, or part until then. */
export function boundsAt({ low_ms, high_ms, at_ms }: OffsetBounds, nowMs: number): OffsetBounds {
  const drift = Math.abs(nowMs - at_ms) * DRIFT;
  return { low_ms: low_ms - drift, high_ms: high_ms + drift, at_ms: nowMs };
}

/** What one reading says by itself. */
const boundsOf = ({ asked_ms, answered_ms, store_ms }: StoreClockReading): OffsetBounds =>
  boundsAt(
    { low_ms: store_ms - answered_ms, high_ms: store_ms + RESOLUTION_MS - asked_ms, at_ms: asked_ms },
    answered_ms,
  );

const middleOf = ({ low_ms, high_ms }: OffsetBounds): number => (low_ms + high_ms) / 2;
const movedBy = ({ low_ms, high_ms, at_ms }: OffsetBounds, ms: number): OffsetBounds => ({
  low_ms: low_ms + ms,
  high_ms: high_ms + ms,
  at_ms,
});

/**
 * What is known after a reading: what it says and what was known before must both hold. Where they can't, one of the clocks was set, and the
 * reading alone counts (`stepped_ms`: by how much at least).
 */
export function afterReading(
  before: OffsetBounds | null,
  reading: StoreClockReading,
): { bounds: OffsetBounds; stepped_ms: number } {
  const read = boundsOf(reading);
  if (!before) return { bounds: read, stepped_ms: 0 };
  const known = boundsAt(before, reading.answered_ms);
  const [low_ms, high_ms] = [Math.max(read.low_ms, known.low_ms), Math.min(read.high_ms, known.high_ms)];
  if (low_ms <= high_ms) return { bounds: { low_ms, high_ms, at_ms: reading.answered_ms }, stepped_ms: 0 };
  return {
    bounds: read,
    stepped_ms: read.low_ms > known.high_ms ? read.low_ms - known.high_ms : read.high_ms - known.low_ms,
  };
}

/** What a process knows of the deployment's time, in its own monotonic time. */
export interface KeptTime {
  /** The deployment's time less our monotonic time. */
  bounds: OffsetBounds;
  /** So far the store's clock is ahead of the deployment's time (behind: negative), ms: a step that is held off. 0: none is. */
  ahead_ms: number;
  /** Since when a step is held off. */
  since_ms: number | null;
  /** A reading that fits nothing that was known: the next one tells whether the store's clock was set. */
  doubt: StoreClockReading | null;
}

/** What a reading shows. `held`: the store's clock was set, and the deployment goes on by its own time; `right`: it is back; `followed`: its new time counts from now on, as it has lasted, or as this machine slept; by so many ms. */
export interface ClockNotice {
  kind: "held" | "right" | "followed";
  stepped_ms: number;
}

/** A beginning: the store's clock, less a step that others hold off for so long. */
export const firstTime = (reading: StoreClockReading, held: { ahead_ms: number; for_ms: number } | null): KeptTime => ({
  bounds: movedBy(boundsOf(reading), held ? -held.ahead_ms : 0),
  ahead_ms: held?.ahead_ms ?? 0,
  since_ms: held ? reading.answered_ms - held.for_ms : null,
  doubt: null,
});

/** The reading as it would be, had the store's clock not been set. */
const corrected = (reading: StoreClockReading, ahead_ms: number): StoreClockReading => ({
  ...reading,
  store_ms: reading.store_ms - ahead_ms,
});

/** Holds off the step that two readings show, or sees that the store's clock is right again. */
function afterStep(before: KeptTime, reading: StoreClockReading): { kept: KeptTime; notice: ClockNotice } {
  const [now, store] = [boundsAt(before.bounds, reading.answered_ms), boundsOf(reading)];
  const ahead_ms = Math.round(middleOf(store) - middleOf(now));
  const stepped_ms = ahead_ms - before.ahead_ms;
  if (Math.abs(ahead_ms) < STEP_MS)
    return {
      kept: { bounds: store, ahead_ms: 0, since_ms: null, doubt: null },
      notice: { kind: "right", stepped_ms },
    };
  return {
    kept: { bounds: now, ahead_ms, since_ms: reading.answered_ms, doubt: null },
    notice: { kind: "held", stepped_ms },
  };
}

/**
 * The deployment's time after a reading. It is the store's clock; where that is set, it goes on with our monotonic clock as if nothing had been: whatever is
 * planned stays where it is. A step forward that lasts is followed (a machine that was paused tells the truth); one back never is, while anybody lives who
 * remembers, for what is planned would come late by as much. `slept_ms`: how long this machine slept since the reading before, while its monotonic clock stood.
 */
export function keepTime(
  before: KeptTime,
  reading: StoreClockReading,
  slept_ms: number,
): { kept: KeptTime; notice: ClockNotice | null } {
  const { ahead_ms, since_ms, doubt } = before;
  const { bounds, stepped_ms } = afterReading(before.bounds, corrected(reading, ahead_ms));
  if (Math.abs(stepped_ms) < STEP_MS) {
    const lasts = ahead_ms > 0 && since_ms !== null && reading.answered_ms - since_ms >= FOLLOW_AFTER_MS;
    return lasts
      ? {
          kept: { bounds: movedBy(bounds, ahead_ms), ahead_ms: 0, since_ms: null, doubt: null },
          notice: { kind: "followed", stepped_ms: ahead_ms },
        }
      : { kept: { ...before, bounds, doubt: null }, notice: null };
  }
  if (slept_ms >= STEP_MS && Math.abs(stepped_ms - slept_ms) < SLEEP_TOLERANCE_MS)
    return { kept: { ...before, bounds, doubt: null }, notice: { kind: "followed", stepped_ms } };
  const sure = doubt !== null && Math.abs(afterReading(boundsOf(doubt), reading).stepped_ms) < STEP_MS;
  return sure ? afterStep(before, reading) : { kept: { ...before, doubt: reading }, notice: null };
}
