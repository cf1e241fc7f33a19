import type { Clock } from "../../../../shared/time/clock.ts";
import { speechMs } from "../../audio/speech-duration.ts";

/** Synthesis begins this much after the text was sent. */
const SYNTHESIS_MS = 250;
/** A carrier that is silent this long after our last text has spoken all of it. */
export const SETTLED_MS = 1000;

/** Keeps track of how long our speech will still be audible: by the carrier's reports where there are any, else by the text's length. */
export interface PlaybackEstimate {
  sent(text: string): void;
  /** The carrier reports that our speech became audible, or silent. */
  audible(now: boolean): void;
  /** Nothing of what was sent will be heard any more. */
  stop(): void;
  /** Milliseconds until the end of our speech; 0 when it is over. */
  leftMs(): number;
}

/** Starts with silence. */
export function playbackEstimate(clock: Clock): PlaybackEstimate {
  let until = 0;
  /** The end by the text's length alone: what counts again when the carrier says that it speaks after all. */
  let estimated = 0;
  let lastSent = 0;
  let sentSinceAudible = false;
  return {
    sent(text) {
      if (text === "") return;
      const now = clock.monotonicMs();
      const from = until > now ? until : now + SYNTHESIS_MS;
      until = from + speechMs(text);
      estimated = until;
      lastSent = now;
      sentSinceAudible = true;
    },
    audible(on) {
      const now = clock.monotonicMs();
      if (on) {
        sentSinceAudible = false;
        until = Math.max(until, estimated);
        return;
      }
      // text sent a moment ago may not have begun to sound: the silence may not be about it, so it must last a little
      until = sentSinceAudible && now - lastSent <= SETTLED_MS ? Math.min(until, now + SETTLED_MS) : now;
    },
    stop() {
      until = clock.monotonicMs();
      estimated = until;
    },
    leftMs: () => Math.max(0, until - clock.monotonicMs()),
  };
}
