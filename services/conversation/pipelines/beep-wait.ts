import { MS_PER_SECOND, type Clock } from "../../../shared/time/clock.ts";
import { startTimer } from "../../../shared/time/timer.ts";

/** The message is left after this long even if the greeting has not ended. */
export const MAX_BEEP_SECONDS = 30;
/** Where the carrier reports no beep: silence this long after the greeting's last word counts as one. */
const SILENCE_MS = 1200;
/** The same where the carrier does not report speech either. */
const UNTOLD_MS = 5000;

/** The wait for a voicemail greeting to end. */
export interface BeepWait {
  /** The greeting began or ended to speak. */
  speechChanged(now: boolean): void;
  stop(): void;
}

/** Waits for the end of a greeting without a reported beep, or for a beep that never comes; `over` is called once. */
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
