import type { AudioPlayout } from "../transport/audio-playout.ts";
import type { VoiceActivity } from "../audio/port.ts";

/**
 * After a barge-in without recognised words we wait this long, and as long again during transcription. Then our speech resumes, over
 * the sound if that goes on: only words cut it for good.
 */
const DECISION_MS = 2000;

/** Sound over ours of this length makes our speech quieter, until it ends or has lasted long enough to pause it. */
const DUCK_AFTER_MS = 100;

/** At the end of our speech a backchannel may be the answer to it. */
const ANSWER_MS = 1000;

/** What words over our speech do: they cut it, they only show that the caller listens, or they are too few and are answered once it has ended. */
export type OverlapVerdict = "cuts" | "backchannel" | "few";

/** Classifies speech over ours: an interruption, a backchannel, or noise. */
export interface BargeIn {
  /** After each frame of the caller. `more`: speech of ours is being made that is not audio yet. */
  voiceActivity(activity: VoiceActivity, more: boolean): void;
  /** Words of the caller, so far. */
  partialTranscript(text: string): void;
  /** The caller's sound contained no speech. */
  noSpeech(): void;
  /** Their turn is over. A backchannel while we spoke is no turn. */
  turnEnded(text: string): OverlapVerdict;
  /** The sound that goes on now has proved to be none: it does not pause our speech, its words still would. */
  soundIsNoise(): void;
  /** To be called regularly: time limits. */
  tick(): void;
}

/** Dependencies of the decision. `after_ms`: speech over ours of this length pauses it; a shorter one ducks it. `interrupt`: it was an interruption. */
export interface BargeInOptions {
  playout: AudioPlayout;
  after_ms: number;
  now(): number;
  interrupt(): void;
  /** Their speech is still being transcribed. */ transcribing(): boolean;
  judge(text: string): OverlapVerdict;
}

/** Starts without an interruption. */
export function bargeIn({ playout, after_ms, now, interrupt, transcribing, judge }: BargeInOptions): BargeIn {
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
      if (since !== null) return;
      const over = !ignored && speaking && playout.interruptible && (playout.busy || more);
      playout.duck(over && activity.speech_ms >= DUCK_AFTER_MS);
      if (!over || activity.speech_ms < after_ms) return;
      since = now();
      playout.pause();
    },
    partialTranscript(text) {
      const over = since !== null || (ignored && playout.busy && playout.interruptible);
      if (over && judge(text) === "cuts") interrupted();
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
      const verdict = judge(text);
      if (since === null) return playout.audible && playout.leftMs > ANSWER_MS ? verdict : "cuts";
      if (verdict === "cuts") interrupted();
      else resume();
      return verdict;
    },
    tick() {
      const waited = since === null ? 0 : now() - since;
      if (waited < DECISION_MS || (transcribing() && waited < 2 * DECISION_MS)) return;
      ignored = speaking;
      resume();
    },
  };
}
