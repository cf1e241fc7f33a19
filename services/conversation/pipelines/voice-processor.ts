import type { AudioPlayout } from "../transport/audio-playout.ts";
import type { AudioFormat } from "../transport/port.ts";
import type { VoiceActivity, Pcm } from "../audio/port.ts";
import type { SpeechEffect, PipelineHost } from "./port.ts";

/** What is heard of the caller, as it becomes known. */
export interface ProcessorEvents {
  /** Words so far, while the caller still speaks or has just paused. */
  partialTranscript(text: string): void;
  /** There was sound, but no words in it. */
  noSpeech(): void;
  /** A turn is over: its words, the silence after it, and how long recognition took, ms. */
  turnEnded(text: string, timing: { eou_ms: number; stt_ms: number }): void;
  /** What was said can't be known. */
  sttFailed(code: string): void;
  /** Nothing can be said any more. */
  ttsFailed(code: string): void;
  /** A part was given to the model that speaks; its first sound has come. */
  synthesisRequested(): void;
  synthesisStarted(): void;
}

/** What a mind is made with, once the leg's format is known. */
export interface ProcessorContext {
  readonly host: PipelineHost;
  readonly playout: AudioPlayout;
  readonly format: AudioFormat;
  readonly events: ProcessorEvents;
  now(): number;
}

/** What listens, thinks and speaks in a talk over sound; engines differ in it. All it says goes through the playout. */
export interface VoiceProcessor {
  /** Sound of the caller, decoded and as it came (null: the carrier sent none). */
  pushAudio(pcm: Pcm, frame: Uint8Array | null): VoiceActivity;
  /** Something was heard that is not told yet. */
  readonly hasPendingSpeech: boolean;
  /** A thought is under way. */
  readonly generating: boolean;
  /** Something of ours is to come that is not sound yet. */
  readonly speaking: boolean;
  /** `aside`: no words of the talk. */
  say(text: string, how: { interruptible: boolean; aside?: boolean }): void;
  generate(effect: Extract<SpeechEffect, { type: "think" }>): void;
  /** Sound that is no speech (keys). */
  playAudio(pcm: Pcm): void;
  /** What of the thought under way was given to speech. */
  spokenText(): string;
  /** Of the last thought, from the question to its first word, ms. */
  readonly first_token_ms: number | null;
  /** Silence: the playout is flushed, what is not spoken yet is dropped, the thought let go. `tell` is called in between with what was heard, and may lead to the next thought. */
  interrupt(tell: (spoken: string) => void): void;
  /** What was heard of the present turn is void. */
  discardTurn(): void;
  /** The thought under way is let go; what it has given to speech is still said. */
  cancelGeneration(): void;
  /** Looks at the clock; every 20 ms. */
  tick(): void;
  close(): void;
}
