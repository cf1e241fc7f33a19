import type { VoiceModel } from "../../audio/port.ts";
import type { CascadeModels } from "../../providers/port.ts";
import { LlmRunner, type TokenSink } from "../llm-runner.ts";
import type { ProcessorContext, VoiceProcessor } from "../voice-processor.ts";
import { LastWords } from "./last-words.ts";
import { SttInput } from "./stt-input.ts";
import { TtsOutput } from "./tts-output.ts";

/** What cascaded processors are made with. */
export interface CascadedProcessorOptions {
  models: CascadeModels;
  voices?: VoiceModel | undefined;
  /** The language model is asked before it is certain that the caller's turn is over. */
  preemptive: boolean;
}

/** Takes what nobody is to hear. */
const NO_SINK: TokenSink = { push: () => undefined, end: () => undefined };

const openTts = (
  { speech, speechIn }: Pick<CascadeModels, "speech" | "speechIn">,
  { playout, format, events }: ProcessorContext,
): TtsOutput =>
  new TtsOutput({
    speech,
    speechIn,
    playout,
    rate: format.rate,
    failed: () => events.ttsFailed("SPEECH_FAILED"),
    requested: events.synthesisRequested,
    started: events.synthesisStarted,
  });

const openStt = (
  { models, voices, preemptive }: CascadedProcessorOptions,
  { host, playout, format: { rate }, events, now }: ProcessorContext,
  llm: LlmRunner,
  gone: AbortSignal,
): SttInput =>
  new SttInput({
    model: models.transcription,
    voices,
    rate,
    language: host.speechSettings.language,
    listening: host.speechSettings.listening,
    early: preemptive,
    now,
    expectsShort: () => host.dtmfCollection() !== null,
    ours: () => (!playout.busy ? "silent" : playout.paused ? "paused" : "audible"),
    events: {
      partialTranscript: events.partialTranscript,
      probableTurn: (text) => {
        if (preemptive && !gone.aborted) llm.startPreemptive({ type: "heard", text });
      },
      speechResumed: () => llm.cancelPreemptive(),
      turnEnded: events.turnEnded,
      noSpeech: () => {
        llm.cancelPreemptive();
        events.noSpeech();
      },
      sttFailed: events.sttFailed,
    },
  });

const openLastWords = ({ host, events, now }: ProcessorContext, stt: SttInput): LastWords =>
  new LastWords({
    now,
    finality: (event) => host.finality(event),
    mayGoOn: () => stt.hasPendingWords || stt.mayBeWords,
    dispatch: (event) => host.dispatch(event),
    held: events.answerHeld,
  });

/** The parts, each told of the others' doings. */
function openParts(o: CascadedProcessorOptions, context: ProcessorContext) {
  const gone = new AbortController();
  const { host, now } = context;
  const tts = openTts(o.models, context);
  const llm = new LlmRunner({
    model: o.models.chat,
    host,
    now,
    // what is judged once they are gone waits for no more words of theirs
    dispatch: (event) => (gone.signal.aborted ? host.dispatch(event) : lastWords.dispatch(event)),
    openSink: ({ interruptible, unheard }) => (unheard ? NO_SINK : tts.open({ interruptible })),
  });
  const stt = openStt(o, context, llm, gone.signal);
  const lastWords = openLastWords(context, stt);
  return {
    tts,
    llm,
    stt,
    lastWords,
    cancelGeneration() {
      lastWords.drop();
      llm.cancelPreemptive();
      llm.cancel();
    },
    discardTurn() {
      llm.cancelPreemptive();
      stt.discardTurn();
    },
    finishTurn() {
      gone.abort();
      llm.cancelPreemptive();
      return stt.finishTurn();
    },
  };
}

/** STT, language model and TTS, overlapped. */
export function cascadedProcessor(o: CascadedProcessorOptions, context: ProcessorContext): VoiceProcessor {
  const { tts, llm, stt, lastWords, cancelGeneration, discardTurn, finishTurn } = openParts(o, context);

  return {
    pushAudio(pcm) {
      const activity = stt.push(pcm);
      lastWords.voiceActivity(activity);
      return activity;
    },
    forgetTalker: () => stt.forgetTalker(),
    get hasPendingSpeech() {
      return stt.hasPendingSpeech;
    },
    get hasPendingWords() {
      return stt.hasPendingWords;
    },
    get mayBeWords() {
      return stt.mayBeWords;
    },
    get generating() {
      return llm.busy || lastWords.holding;
    },
    get speaking() {
      // what was said of an answer that waits may still be cut, with the answer
      return tts.busy || lastWords.text !== "";
    },
    say: (text, how) => tts.say(text, how),
    generate(effect) {
      lastWords.drop();
      llm.generate(effect);
    },
    playAudio: (pcm) => tts.playAudio(pcm),
    spokenText: () => llm.spokenText() || lastWords.text,
    get first_token_ms() {
      return llm.first_token_ms;
    },
    interrupt(report) {
      const { spoken } = context.playout.flush();
      tts.drop();
      llm.interrupt(() => report(spoken));
      lastWords.drop();
    },
    finishTurn,
    discardTurn,
    cancelGeneration,
    tick: () => lastWords.tick(),
    close() {
      cancelGeneration();
      discardTurn();
      tts.drop();
    },
  };
}
