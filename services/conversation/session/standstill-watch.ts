import type { Clock } from "../../../shared/time/clock.ts";
import { startTimer } from "../../../shared/time/timer.ts";

const BEAT_MS = 500;
/** A beat that comes this much later than it should means that the process stood still. */
const STILL_MS = 1000;
/** What ends this soon after a standstill may have ended because of it. */
const AFTER_MS = 3000;

/** Knows whether this process stood still (stopped, starved) just now, while anybody wants to know. */
export interface StandstillWatch {
  /** Watches until the function that it returns is called, once. */
  begin(): () => void;
  stoodStill(): boolean;
}

/** A watch: a timer that beats while it is needed, and looks at the time since its last beat. */
export function standstillWatch(clock: Clock): StandstillWatch {
  let watchers = 0;
  let beatAt = 0;
  let stillUntil = -Infinity;
  let cancel = (): void => undefined;
  const isLate = (): boolean => watchers > 0 && clock.monotonicMs() - beatAt > BEAT_MS + STILL_MS;
  const beat = (): void => {
    if (isLate()) stillUntil = clock.monotonicMs() + AFTER_MS;
    beatAt = clock.monotonicMs();
    cancel = startTimer(clock, BEAT_MS, beat);
  };
  return {
    begin() {
      if (watchers === 0) beat();
      watchers += 1;
      return () => {
        watchers -= 1;
        if (watchers === 0) cancel();
      };
    },
    stoodStill: () => isLate() || clock.monotonicMs() < stillUntil,
  };
}
