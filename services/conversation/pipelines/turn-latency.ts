import type { TalkHost } from "./port.ts";

/** Measures one turn after the other, from the end of the caller's speech to our first sound. */
export interface TurnClock {
  /** The caller's speech ended at this instant. */
  ended(at_ms: number, timing: { eou_ms: number; stt_ms: number }): void;
  speechAsked(at_ms: number): void;
  speechCame(at_ms: number): void;
  /** Our sound is on its way since this instant; told once a turn. */
  sounded(since_ms: number, first_token_ms: number | null, host: Pick<TalkHost, "timed">): void;
}

/** Nothing to measure yet. */
export function turnClock(): TurnClock {
  let turn: { at: number; eou_ms: number; stt_ms: number } | null = null;
  let asked: number | null = null;
  let came: number | null = null;
  return {
    ended(at, timing) {
      turn = { at, ...timing };
      asked = null;
      came = null;
    },
    speechAsked(at) {
      asked ??= at;
    },
    speechCame(at) {
      came ??= at;
    },
    sounded(since, first_token_ms, host) {
      if (!turn || since < turn.at) return;
      const { at, eou_ms, stt_ms } = turn;
      turn = null;
      host.timed({
        eou_ms,
        stt_ms,
        first_token_ms,
        first_audio_ms: asked === null || came === null ? null : Math.round(came - asked),
        voice_to_voice_ms: Math.round(since - at),
      });
    },
  };
}
