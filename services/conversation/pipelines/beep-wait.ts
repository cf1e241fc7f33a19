import type { Clock } from "../../../shared/clock.ts";
import { startTimer } from "../timer.ts";

/** A machine whose greeting has not ended after this long is spoken to all the same. */
export const MAX_BEEP_SECONDS = 30;
/** Where the carrier tells no beep: silence this long after its last word means that the machine listens. */
const SILENCE_MS = 1200;
/** The same where the carrier does not even tell when the other side speaks. */
const UNTOLD_MS = 5000;
const MS_PER_SECOND = 1000;

/** The wait for a machine's greeting to end. */
export interface BeepWait {
  /** The machine began or ended to speak. */
  speechChanged(now: boolean): void;
  stop(): void;
}

/** Waits for the end of a greeting that no beep is told of, or for one that never comes; `over` is called once. */
export function beepWait(clock: Clock, tells_beep: boolean, over: () => void): BeepWait {
  let cancel = (): void => undefined;
  const done = (): void => {
    stop();
    over();
  };
  const after = (ms: number): void => {
    cancel();
    cancel = startTimer(clock, ms, done);
  };
  const stopLimit = startTimer(clock, MAX_BEEP_SECONDS * MS_PER_SECOND, done);
  const stop = (): void => {
    cancel();
    stopLimit();
  };
  if (!tells_beep) after(UNTOLD_MS);
  return {
    speechChanged(now) {
      if (tells_beep) return;
      if (now) cancel();
      else after(SILENCE_MS);
    },
    stop,
  };
}
