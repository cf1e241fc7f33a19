import type { CascadeModels } from "../../providers/port.ts";
import type { Endpointing } from "../../audio/port.ts";
import { energyVad } from "../../audio/vad.ts";
import type { VoiceProcessor, ProcessorContext } from "../voice-processor.ts";
import { sttInput } from "./stt-input.ts";
import { ttsOutput } from "./tts-output.ts";
import { llmRunner } from "./llm-runner.ts";

/** What the mind of a cascade is made of. */
export interface CascadedProcessorOptions {
  models: CascadeModels;
  judge: Endpointing;
  /** The model is asked before it is certain that the caller has ended. */
  preemptive: boolean;
}

/** Three models in a row, overlapped: one listens, one thinks, one speaks (voice.md 0, 2b). */
export function cascadedProcessor(
  { models, judge, preemptive }: CascadedProcessorOptions,
  { host, playout, format, events, now }: ProcessorContext,
): VoiceProcessor {
  const { rate } = format;
  const speaker = ttsOutput({
    speech: models.speech,
    playout,
    rate,
    failed: () => events.ttsFailed("SPEECH_FAILED"),
    requested: events.synthesisRequested,
    started: events.synthesisStarted,
  });
  const thinker = llmRunner({
    model: models.chat,
    host,
    now,
    dispatch: (event) => host.dispatch(event),
    openSink: ({ interruptible }) => speaker.open({ interruptible }),
  });
  const ear = sttInput({
    model: models.transcription,
    vad: energyVad({ rate }),
    judge,
    rate,
    language: host.speechSettings.language,
    early: preemptive,
    now,
    expectsShort: () => host.dtmfCollection() !== null,
    events: {
      partialTranscript: events.partialTranscript,
      probableTurn: (text) => {
        if (preemptive) thinker.startPreemptive({ type: "heard", text });
      },
      speechResumed: () => thinker.cancelPreemptive(),
      turnEnded: events.turnEnded,
      noSpeech: () => {
        thinker.cancelPreemptive();
        events.noSpeech();
      },
      sttFailed: events.sttFailed,
    },
  });

  return {
    pushAudio: (pcm) => ear.push(pcm),
    get hasPendingSpeech() {
      return ear.hasPendingSpeech;
    },
    get generating() {
      return thinker.busy;
    },
    get speaking() {
      return speaker.busy;
    },
    say: (text, how) => speaker.say(text, how),
    generate: (effect) => thinker.generate(effect),
    playAudio: (pcm) => speaker.playAudio(pcm),
    spokenText: () => thinker.spokenText(),
    get first_token_ms() {
      return thinker.first_token_ms;
    },
    interrupt(tell) {
      const { spoken } = playout.flush();
      speaker.drop();
      thinker.interrupt(() => tell(spoken));
    },
    discardTurn() {
      thinker.cancelPreemptive();
      ear.discardTurn();
    },
    cancelGeneration() {
      thinker.cancelPreemptive();
      thinker.cancel();
    },
    tick: () => undefined,
    close() {
      thinker.cancelPreemptive();
      thinker.cancel();
      ear.discardTurn();
      speaker.drop();
    },
  };
}
