import type { AudioPlayout } from "../transport/audio-playout.ts";
import type { VoiceActivity } from "../audio/port.ts";

/** Speech over ours of this length pauses our playout. */
export const BARGE_IN_MS = 300;
/**
 * After a barge-in without recognised words we wait this long, and as long again during transcription. Then our speech resumes, over
 * the sound if that goes on: only words cut it for good.
 */
const DECISION_MS = 2000;

/** At the end of our speech a backchannel may be the answer to it. */
const ANSWER_MS = 1000;

/** Classifies speech over ours: an interruption, a backchannel, or noise. */
export interface BargeIn {
  /** After each frame of the caller. `more`: speech of ours is being made that is not audio yet. */
  voiceActivity(activity: VoiceActivity, more: boolean): void;
  /** Words of the caller, so far. */
  partialTranscript(text: string): void;
  /** The caller's sound contained no speech. */
  noSpeech(): void;
  /** Their turn is over; true: it was a backchannel while we spoke, and is no turn. */
  turnEnded(text: string): boolean;
  /** The sound that goes on now has proved to be none: it does not pause our speech, its words still would. */
  soundIsNoise(): void;
  /** To be called regularly: time limits. */
  tick(): void;
}

/** Dependencies of the decision. `interrupt`: it was an interruption. `isBackchannel`: these words only show that the caller listens. */
export interface BargeInOptions {
  playout: AudioPlayout;
  now(): number;
  interrupt(): void;
  /** Their speech is still being transcribed. */ transcribing(): boolean;
  isBackchannel(text: string): boolean;
}

/** Starts without an interruption. */
export function bargeIn({ playout, now, interrupt, transcribing, isBackchannel }: BargeInOptions): BargeIn {
  /** Since when a barge-in pauses our speech; null: it does not. */
  let since: number | null = null;
  let speaking = false;
  /** The sound under way has been judged as noise. */
  let ignored = false;

  const resume = (): void => {
    since = null;
    playout.resume();
  };
  const interrupted = (): void => {
    since = null;
    interrupt();
  };

  return {
    voiceActivity(activity, more) {
      speaking = activity.speaking;
      ignored &&= speaking;
      if (since !== null || ignored || !activity.speaking || activity.speech_ms < BARGE_IN_MS || !playout.interruptible)
        return;
      if (!playout.busy && !more) return;
      since = now();
      playout.pause();
    },
    partialTranscript(text) {
      const over = since !== null || (ignored && playout.busy && playout.interruptible);
      if (over && !isBackchannel(text)) interrupted();
    },
    noSpeech() {
      ignored = speaking;
      if (since !== null) resume();
    },
    soundIsNoise() {
      ignored = speaking;
    },
    turnEnded(text) {
      ignored = speaking;
      if (since === null) return playout.audible && playout.leftMs > ANSWER_MS && isBackchannel(text);
      if (!isBackchannel(text)) {
        interrupted();
        return false;
      }
      resume();
      return true;
    },
    tick() {
      const waited = since === null ? 0 : now() - since;
      if (waited < DECISION_MS || (transcribing() && waited < 2 * DECISION_MS)) return;
      ignored = speaking;
      resume();
    },
  };
}
