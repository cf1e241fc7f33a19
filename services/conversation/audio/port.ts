/** Sound as it is worked on: linear 16 bit samples, mono. */
export type Pcm = Int16Array;

/** What a voice detector knows after a frame. Milliseconds are those of the sound, not of the clock. */
export interface VoiceActivity {
  /** Somebody speaks: begun and not yet silent for long enough to count. */
  readonly speaking: boolean;
  /** From the onset of the voice to its last sound: the silence behind it makes it no longer. 0 while nobody speaks. */
  readonly speech_ms: number;
  /** Silence since the last sound of a voice, also while `speaking` still holds; 0 in the midst of a sound. Infinity before the first voice. */
  readonly silence_ms: number;
  /** Loudness of the frame in dBFS. */
  readonly level_db: number;
}

/** Tells voice from silence, frame by frame (any length from 5 to 100 ms). */
export interface Vad {
  push(pcm: Pcm): VoiceActivity;
  reset(): void;
}

/** What a turn looks like when it may be over. */
export interface EndpointingInput {
  readonly text: string;
  /** BCP 47. */
  readonly language: string;
  /** The node waits for an answer as short as a word, a number or keys. */
  readonly expects_short: boolean;
}

/** How long silence must last after these words until the turn counts as over, ms. Replaceable: rules by default. */
export interface Endpointing {
  waitMs(turn: EndpointingInput): number;
}

/** Cuts a growing text into what is synthesised in one go. Nothing is lost: all parts together are the text that was pushed, blanks between them aside. */
export interface Chunker {
  /** Takes a piece; gives the parts that are complete now, in order. */
  push(piece: string): string[];
  /** The text is complete: what is left, if anything. */
  end(): string[];
}

/** Changes the rate of a stream of samples; keeps its state between pieces, so that pieces of any size give the same samples as one. */
export interface Resampler {
  push(pcm: Pcm): Pcm;
  /** The last samples, once; the resampler begins anew after it. */
  end(): Pcm;
}

/** Finds a tone that lasts: the beep of an answering machine (400 to 2000 Hz, at least 120 ms, nothing else in it). */
export interface BeepDetector {
  /** True once a beep has just ended. */
  push(pcm: Pcm): boolean;
}
