/** Audio as it is processed: linear 16 bit samples, mono. */
export type Pcm = Int16Array;

/** What a voice activity detector knows after a frame. Milliseconds count audio, not clock time. */
export interface VoiceActivity {
  /** Speech has begun and its silence is not yet long enough to end it. */
  readonly speaking: boolean;
  /** From the onset of the speech to its last sound, without the silence after it. 0 without speech. */
  readonly speech_ms: number;
  /** Silence since the last sound of speech, even while `speaking` is still true; 0 during a sound. Infinity before the first speech. */
  readonly silence_ms: number;
  /** Since the last sound above the noise, a voice or not: words begin and end too softly to be known as a voice. 0 during it, Infinity before the first. */
  readonly quiet_ms: number;
  /** The voice is as soft as others in a room. */
  readonly faint: boolean;
  /** Somebody as soft has been understood. */
  readonly familiar: boolean;
}

/** A turn that may be over. */
export interface EndpointingInput {
  readonly text: string;
  /** BCP 47. */
  readonly language: string;
  /** The node expects an answer as short as a word, a number or DTMF. */
  readonly expects_short: boolean;
  /** The wait of a finished turn and the longest one, ms; absent: the usual ones. */
  readonly endpointing_ms?: number;
  readonly max_wait_ms?: number;
}

/** Changes the rate of a stream of samples. It keeps state between pieces: pieces of any size give the same samples as one. */
export interface Resampler {
  push(pcm: Pcm): Pcm;
  /** Returns the last samples and resets the resampler. */
  end(): Pcm;
}

/** Tells how likely sound of a call is a voice. */
export interface VoiceModel {
  /** Begins with a call; each window is answered in their order, now or later: by a probability from 0 to 1, or null where it could not be judged. */
  open(answer: (probability: number | null) => void): VoiceJudge;
}

/** A voice model's ear on one call. */
export interface VoiceJudge {
  /** It answers: false while it is starting, and once it can't be had. */
  readonly ready: boolean;
  /** A window of 256 samples at 8 kHz, which is read before this returns. */
  ask(window: Pcm): void;
  /** The next window does not follow the one before. */
  forget(): void;
}
