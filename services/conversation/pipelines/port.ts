import type { Listening } from "../../../shared/contracts/records/listening-settings.ts";
import type { Effect, DialogueEvent } from "../dialogue/dialogue-state.ts";
import type { Finality } from "../dialogue/flow.ts";
import type { DtmfCollection } from "../dialogue/flow.ts";
import type { ModelAnswer } from "../providers/port.ts";

/** The effects of the dialogue that a pipeline carries out; the session does the others. */
export type SpeechEffect = Extract<Effect, { type: "say" | "think" | "keys" | "await_beep" | "end" }>;
/** A request to the language model. */
export type GenerateEffect = Extract<SpeechEffect, { type: "think" }>;

/** One turn's times in milliseconds, null where a part did not happen. */
export interface TurnLatency {
  /** How the turn ended: by silence, or by a bound on its length. */
  readonly end: "silence" | "bound";
  /** Silence until the turn counted as over; of a turn that a bound ended, sound without new words. */
  readonly eou_ms: number | null;
  readonly stt_ms: number | null;
  readonly first_token_ms: number | null;
  readonly first_audio_ms: number | null;
  /** From the end of the caller's speech to our first sound. */
  readonly voice_to_voice_ms: number | null;
}

/** The conversation as its pipeline sees it. */
export interface PipelineHost {
  /** The carrier is there; `call_id` is its own name of the call. */
  ready(call_id: string | null): void;
  /** Passes an event to the dialogue. Its effects come back through `perform`. */
  dispatch(event: DialogueEvent): void;
  /** How what this event leads to can't be undone: an outcome, the end of the call, a transfer. Null: it can. */
  finality(event: DialogueEvent): Finality | null;
  /** True while the conversation waits for the customer. */
  listening(): boolean;
  /** How DTMF is collected to one entry now; null: each digit counts by itself. */
  dtmfCollection(): DtmfCollection | null;
  /** Has the carrier send DTMF where the leg can't. */
  sendDtmf(digits: string): void;
  /** Whether the carrier reports the beep after a voicemail greeting. */
  readonly signals_beep: boolean;
  /** Silence of the customer, after our speech, that counts as idle now. */
  readonly idle_ms: number;
  /** The conversation waits for the callee's first words, before any of ours. */
  opening(): boolean;
  /** The effects this event would have now; nothing happens. For preemptive generation. */
  preview(event: DialogueEvent): readonly Effect[];
  /** Language and voice, for recognition and synthesis, and how the template listens. */
  readonly speechSettings: { readonly language: string; readonly voice: string | null; readonly listening: Listening };
  /** The latencies of a turn, for the log. */
  recordLatency(turn: TurnLatency): void;
  /** A model's answer with its figures, for the log. */
  recordAnswer(answer: ModelAnswer): void;
  /** An error of the pipeline's own; a code only. */
  recordError(code: string): void;
}

/** What they said last is recognised within this time once they are gone, and judged within as long again. */
export const LAST_TURN_MS = 5000;

/** Longest wait for our own speech to end before the call goes on without it. */
export const MAX_PLAYOUT_WAIT_MS = 20_000;
/** The same for the last words of a call, whose own limits are shorter as a rule. */
export const MAX_LAST_WORDS_MS = 180_000;

/** A conversation's running pipeline. */
export interface VoicePipeline {
  perform(effect: SpeechEffect): void;
  /** What of the running generation has been handed to speech. */
  spokenText(): string;
  /** The conversation waits for a web request: the pipeline may say a filler. */
  externalWaitStarted?(): void;
  /** Ends our speech now and reports what was heard of it; pipelines that can. */
  interrupt?(): void;
  /** What our speech does: it is heard, it is being made, or there is none; pipelines that know. */
  sound?(): "silent" | "waiting" | "audible";
  /** Resolves when our speech has been heard to its end, as far as is known; bounded. */
  playedOut(): Promise<void>;
  /** The call is over at the carrier: reports what was heard of our speech, and that they are gone with what they said last. */
  lineEnded(): void;
  /** Closes the leg now, even in the middle of speech. */
  closeLeg(): void;
  /** Resolves when the leg is closed and all resources are released. */
  readonly closed: Promise<unknown>;
}

/** Makes pipelines: they listen and speak on a leg, the dialogue decides. They differ in who does recognition and synthesis. */
export type PipelineFactory<Leg> = (leg: Leg, host: PipelineHost) => VoicePipeline;
