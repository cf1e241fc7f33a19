import type { Effect, DialogueEvent } from "../dialogue/dialogue-state.ts";
import type { DtmfCollection } from "../dialogue/flow.ts";
import type { ModelAnswer } from "../providers/port.ts";

/** The effects of the brain that an engine carries out; the session does the others. */
export type SpeechEffect = Extract<Effect, { type: "say" | "think" | "keys" | "await_beep" | "end" }>;
/** A request to the language model. */
export type GenerateEffect = Extract<SpeechEffect, { type: "think" }>;

/** One turn's times in milliseconds, null where a part did not happen. */
export interface TurnLatency {
  /** Silence until the turn counted as over. */
  readonly eou_ms: number | null;
  readonly stt_ms: number | null;
  readonly first_token_ms: number | null;
  readonly first_audio_ms: number | null;
  /** From the end of the caller's speech to our first sound. */
  readonly voice_to_voice_ms: number | null;
}

/** The talk as an engine sees it. */
export interface PipelineHost {
  /** The carrier is there; `call_id` is its own name of the call. */
  ready(call_id: string | null): void;
  /** Something happened. What it leads to comes back through `perform`. */
  dispatch(event: DialogueEvent): void;
  /** True while the talk waits for the customer. */
  listening(): boolean;
  /** How keys are gathered to one entry now; null: each counts by itself. */
  dtmfCollection(): DtmfCollection | null;
  /** Presses keys where the leg can't. */
  sendDtmf(digits: string): void;
  /** Whether the carrier tells when a machine's greeting is over. */
  readonly signals_beep: boolean;
  /** Silence of the customer, after our speech, that counts as idle. */
  readonly idle_ms: number;
  /** What the talk would do if this happened now; nothing happens. For thoughts begun before it is certain that the caller has ended. */
  preview(event: DialogueEvent): readonly Effect[];
  /** What the talk is about, for recognition and voice. */
  readonly speechSettings: { readonly language: string; readonly voice: string | null };
  /** How long the parts of a turn took, for the log. */
  recordLatency(turn: TurnLatency): void;
  /** A thought's cost, for the log. */
  recordAnswer(answer: ModelAnswer): void;
  /** Something of the engine's own went wrong; a code only. */
  recordError(code: string): void;
}

/** A running engine. */
export interface VoicePipeline {
  perform(effect: SpeechEffect): void;
  /** What of the running thought has been handed to speech. */
  spokenText(): string;
  /** The talk waits for something outside (a web request): the engine may say so. */
  externalWaitStarted?(): void;
  /** Ends what is being said now, and tells what was heard of it; engines that can. */
  interrupt?(): void;
  /** Resolves when our speech has been heard to its end, as far as can be told; bounded. */
  playedOut(): Promise<void>;
  /** Closes the leg now, whatever is being said on it. */
  closeLeg(): void;
  /** Resolves when the leg is closed and everything is let go. */
  readonly closed: Promise<void>;
}

/** A way of talking: it listens and speaks on a leg, the brain decides. Engines differ in who does recognition and synthesis. */
export interface PipelineFactory<Leg> {
  open(leg: Leg, host: PipelineHost): VoicePipeline;
}
