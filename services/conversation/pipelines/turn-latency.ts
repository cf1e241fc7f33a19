import type { PipelineHost } from "./port.ts";
import type { TurnTiming } from "./voice-processor.ts";

/** Measures the latencies of one turn after the other, from the end of the caller's speech to our first audio. */
export interface LatencyMeter {
  /** The caller's speech ended at this instant. */
  turnEnded(at_ms: number, timing: TurnTiming): void;
  synthesisRequested(at_ms: number): void;
  synthesisStarted(at_ms: number): void;
  /** Our audio is on its way since this instant; recorded once a turn. */
  firstAudio(since_ms: number, first_token_ms: number | null, host: Pick<PipelineHost, "recordLatency">): void;
}

/** Nothing to measure yet. */
export function latencyMeter(): LatencyMeter {
  let turn: (TurnTiming & { at: number }) | null = null;
  let asked: number | null = null;
  let came: number | null = null;
  return {
    turnEnded(at, timing) {
      turn = { at, ...timing };
      asked = null;
      came = null;
    },
    synthesisRequested(at) {
      asked ??= at;
    },
    synthesisStarted(at) {
      came ??= at;
    },
    firstAudio(since, first_token_ms, host) {
      if (!turn || since < turn.at) return;
      const { at, eou_ms, stt_ms, end } = turn;
      turn = null;
      host.recordLatency({
        end,
        eou_ms,
        stt_ms,
        first_token_ms,
        first_audio_ms: asked === null || came === null ? null : Math.round(came - asked),
        voice_to_voice_ms: Math.round(since - at),
      });
    },
  };
}
