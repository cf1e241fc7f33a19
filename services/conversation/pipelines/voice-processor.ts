import type { AudioPlayout } from "../transport/audio-playout.ts";
import type { AudioFormat } from "../transport/port.ts";
import type { VoiceActivity, Pcm } from "../audio/port.ts";
import type { SpeechEffect, PipelineHost } from "./port.ts";

/** How a turn came to its end, in ms: the length of its sound (null: not known), the silence (or the sound without new words) after it, and the time recognition took. `end`: by silence, or by a bound on its length. */
export interface TurnTiming {
  readonly eou_ms: number;
  readonly stt_ms: number;
  readonly sound_ms: number | null;
  readonly end: "silence" | "bound";
}

/** What a processor reports of the caller and of itself. */
export interface ProcessorEvents {
  /** Words so far, while the caller still speaks or has just paused. */
  partialTranscript(text: string): void;
  /** There was sound, but no speech in it. */
  noSpeech(): void;
  /** A turn is over, with its words. */
  turnEnded(text: string, timing: TurnTiming): void;
  /** The words of a turn can't be recognised. */
  sttFailed(code: string): void;
  /** Speech can't be synthesised any more. */
  ttsFailed(code: string): void;
  /** An answer waits for the caller's last words, or has done so. */
  answerHeld(begins: boolean): void;
  /** TTS got a text; its first audio has arrived. */
  synthesisRequested(): void;
  synthesisStarted(): void;
}

/** What a processor is made with, once the leg's format is known. */
export interface ProcessorContext {
  readonly host: PipelineHost;
  readonly playout: AudioPlayout;
  readonly format: AudioFormat;
  readonly events: ProcessorEvents;
  now(): number;
}

/** What listens, generates and speaks in a conversation over audio: STT, language model and TTS, or one realtime model. All it says goes through the playout. */
export interface VoiceProcessor {
  /** Sound of the caller, decoded and as it came (null: it did not come like this). */
  pushAudio(pcm: Pcm, frame: Uint8Array | null): VoiceActivity;
  /** Whoever spoke may have gone: a quieter voice is heard too from now on. */
  forgetTalker(): void;
  /** Speech was heard that is not reported as a turn yet. */
  readonly hasPendingSpeech: boolean;
  /** Words of theirs were recognised that are not reported as a turn yet. */
  readonly hasPendingWords: boolean;
  /** Sound was heard that may turn out to be words soon; bounded. */
  readonly mayBeWords: boolean;
  /** A generation is under way. */
  readonly generating: boolean;
  /** Speech of ours is being made that is not audio yet. */
  readonly speaking: boolean;
  /** `aside`: not part of the transcript. `voice`: another than the template's; processors that can. */
  say(text: string, how: { interruptible: boolean; aside?: boolean; voice?: string }): void;
  generate(effect: Extract<SpeechEffect, { type: "think" }>): void;
  /** Audio that is no speech (DTMF tones). */
  playAudio(pcm: Pcm): void;
  /** The part of the current generation that was handed to speech. */
  spokenText(): string;
  /** Of the last generation, from the question to its first word, ms. */
  readonly first_token_ms: number | null;
  /** Falls silent: flushes the playout, drops what is not spoken yet, cancels the generation. `tell` is called in between with what was heard, and may start the next generation. */
  interrupt(tell: (spoken: string) => void): void;
  /** They are gone: resolves once the turn under way is reported, has failed, or proved to be none. */
  finishTurn(): Promise<void>;
  /** Discards what was heard of the present turn. */
  discardTurn(): void;
  /** Cancels the generation under way; what it has given to speech is still said. */
  cancelGeneration(): void;
  /** To be called every 20 ms. */
  tick(): void;
  close(): void;
}
