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
