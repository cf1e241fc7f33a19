import type { Clock } from "../../../shared/time/clock.ts";
import { dtmfTones } from "../audio/dtmf-tones.ts";
import { EchoGuard } from "../audio/detection/echo-guard.ts";
import { codecFor } from "../audio/g711.ts";
import type { Recorder } from "../recording/stereo-recorder.ts";
import { AudioPlayout } from "../transport/audio-playout.ts";
import type { AudioFormat, MediaLeg } from "../transport/port.ts";
import { bargeIn, type BargeIn, type BargeInOptions } from "./barge-in.ts";
import { callerWords, wordCount, type CallerWords } from "./listening/caller-words.ts";
import { isEchoOf } from "./listening/echo-words.ts";
import { heardEvents } from "./listening/heard-events.ts";
import type { PipelineHost } from "./port.ts";
import type { ProcessorContext, ProcessorEvents, VoiceProcessor } from "./voice-processor.ts";

/** After our question anything is its answer, even while we still speak. */
const ASKS = /[?？؟]/u;

/** How turns are taken. `fillers`: short texts for pauses. `dtmf`: how DTMF is sent where the leg has no message for it. */
export interface TurnTakingOptions {
  clock: Clock;
  processor(context: ProcessorContext): VoiceProcessor;
  fillers: readonly string[];
  dtmf: "tones" | "command";
  recorder?(rate: number): Recorder;
}

const bargeInOn = (
  { speechSettings: { listening } }: PipelineHost,
  words: CallerWords,
  playout: AudioPlayout,
  processor: VoiceProcessor,
  how: Pick<BargeInOptions, "now" | "interrupt">,
): BargeIn =>
  bargeIn({
    ...how,
    playout,
    after_ms: listening.interrupt_after_ms,
    transcribing: () => processor.hasPendingSpeech,
    judge: (text) => {
      if (ASKS.test(playout.spoken)) return "cuts";
      if (words.isBackchannel(text) || words.isDoubtful(text)) return "backchannel";
      return wordCount(text) < listening.interrupt_after_words ? "few" : "cuts";
    },
  });

/** Words of ours come back within this time; what they take up later is theirs. */
const ECHO_WINDOW_MS = 8000;
const ECHO_DELAY_MS = 600;

/** Whether words that ended at this instant are our own, which the line returned. */
function isOurs(playout: AudioPlayout, ended_ms: number, text: string, partial: boolean): boolean {
  const ours = playout.heardSince(ended_ms - ECHO_WINDOW_MS);
  // while we pause, whoever repeats our words is either the line or does not want to speak
  return (playout.paused || ended_ms - ours.last_ms <= ECHO_DELAY_MS) && isEchoOf(text, ours.text, partial);
}

/** Sends DTMF by a message of the leg, by the carrier's command, or as tones. */
const dtmfSender =
  (mode: TurnTakingOptions["dtmf"], leg: MediaLeg, host: PipelineHost, playTones: (digits: string) => void) =>
  (digits: string): void => {
    if (leg.sendDtmf) leg.sendDtmf(digits);
    else if (mode === "command") host.sendDtmf(digits);
    else playTones(digits);
  };

/** What turn-taking is made of on one leg. `recorder` records both sides; null: the call is not recorded. */
export interface VoiceParts {
  readonly rate: number;
  readonly playout: AudioPlayout;
  readonly processor: VoiceProcessor;
  readonly bargeIn: BargeIn;
  readonly recorder: Recorder | null;
  decode(frame: Uint8Array): Int16Array;
  /** Sound of the caller without what of ours comes back in it: the same samples where none does. */
  withoutEcho(pcm: Int16Array): Int16Array;
  sendDtmf(digits: string): void;
}

/** What a processor reports, but for what the barge-in alone is told. */
export type TurnEvents = Omit<ProcessorEvents, "partialTranscript" | "noSpeech">;

/** Makes the parts, once the leg's format is known. `interrupt`: our speech is to be cut. `opening`: our first words are not over. */
export function voiceParts(
  o: TurnTakingOptions,
  { leg, host, format }: { leg: MediaLeg; host: PipelineHost; format: AudioFormat },
  { events, interrupt, opening }: { events: TurnEvents; interrupt(): void; opening(): boolean },
): VoiceParts {
  const { rate } = format;
  const { encode, decode } = codecFor(format.codec);
  const now = (): number => o.clock.monotonicMs();
  const recorder = o.recorder?.(rate) ?? null;
  const echo = new EchoGuard(rate);
  const played = (pcm: Int16Array, at: number): void => {
    echo.played(pcm, at);
    recorder?.played(pcm, at);
  };
  const playout = new AudioPlayout({ leg, clock: o.clock, rate, encode, played });
  const { language, listening } = host.speechSettings;
  const words = callerWords(language, listening);
  const heard = heardEvents({
    words,
    events: {
      ...events,
      partialTranscript: (text) => barge.partialTranscript(text),
      noSpeech: () => barge.noSpeech(),
      sttFailed(code) {
        barge.noSpeech();
        events.sttFailed(code);
      },
    },
    opening: () => opening() && !ASKS.test(playout.spoken),
    isEcho: (text, ended_ms, partial) => isOurs(playout, now() - ended_ms, text, partial),
    discardTurn: () => processor.discardTurn(),
  });
  const processor = o.processor({ host, playout, format, events: heard, now });
  const barge = bargeInOn(host, words, playout, processor, { now, interrupt });
  return {
    rate,
    playout,
    processor,
    recorder,
    decode,
    withoutEcho: (pcm) => echo.heard(pcm, now()),
    bargeIn: barge,
    sendDtmf: dtmfSender(o.dtmf, leg, host, (digits) => processor.playAudio(dtmfTones(digits, rate))),
  };
}
