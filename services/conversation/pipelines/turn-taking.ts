import { MS_PER_SECOND, type Clock } from "../../../shared/time/clock.ts";
import { dtmfTones } from "../audio/dtmf-tones.ts";
import { isBackchannel } from "../audio/endpointing.ts";
import { codecFor } from "../audio/g711.ts";
import type { VoiceActivity } from "../audio/port.ts";
import type { Recorder } from "../recording/stereo-recorder.ts";
import { AudioPlayout } from "../transport/audio-playout.ts";
import { FRAME_MS, type AudioFormat, type MediaLeg } from "../transport/port.ts";
import { bargeIn, type BargeIn, type BargeInOptions } from "./barge-in.ts";
import { dtmfCollector, type DtmfCollector } from "./dtmf-collector.ts";
import type { PipelineHost, SpeechEffect } from "./port.ts";
import { FillerTimer, IdleWatch } from "./silence-timers.ts";
import { latencyMeter } from "./turn-latency.ts";
import { VoicemailBeep } from "./voicemail-beep.ts";
import type { ProcessorContext, ProcessorEvents, TurnTiming, VoiceProcessor } from "./voice-processor.ts";

/** No audio for this many ticks (half a second) counts as silence. A shorter gap is network delay: inserted silence would break its words. */
const DTX_TICKS = 25;
/** After our question a backchannel is its answer, even while we still speak. */
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
  { speechSettings: { language } }: PipelineHost,
  playout: AudioPlayout,
  processor: VoiceProcessor,
  how: Pick<BargeInOptions, "now" | "interrupt">,
): BargeIn =>
  bargeIn({
    ...how,
    playout,
    transcribing: () => processor.hasPendingSpeech,
    isBackchannel: (text) => isBackchannel(text, language) && !ASKS.test(playout.spoken),
  });

/** Sends DTMF by a message of the leg, by the carrier's command, or as tones. */
const dtmfSender =
  (mode: TurnTakingOptions["dtmf"], leg: MediaLeg, host: PipelineHost, playTones: (digits: string) => void) =>
  (digits: string): void => {
    if (leg.sendDtmf) leg.sendDtmf(digits);
    else if (mode === "command") host.sendDtmf(digits);
    else playTones(digits);
  };

/** Turn-taking on an audio leg: whose turn it is, what a barge-in cuts, and what silence means. */
export class TurnTaking {
  /** Monotonic ms. */
  readonly #now: () => number;
  readonly #sendDtmf: (digits: string) => void;
  readonly #host: PipelineHost;
  readonly #rate: number;
  readonly #decode: (frame: Uint8Array) => Int16Array;
  readonly #playout: AudioPlayout;
  readonly #processor: VoiceProcessor;
  readonly #bargeIn: BargeIn;
  readonly #beep: VoicemailBeep;
  readonly #dtmf: DtmfCollector;
  readonly #latency = latencyMeter();
  readonly #filler: FillerTimer;
  readonly #idle: IdleWatch;
  /** Records both sides; null: the call is not recorded. */
  readonly recorder: Recorder | null;
  #ended = false;
  /** Ticks since the carrier's last frame. */
  #missed = 0;
  #speaking = false;

  constructor(o: TurnTakingOptions, leg: MediaLeg, host: PipelineHost, format: AudioFormat, idleSinceMs: number) {
    const { rate } = format;
    const codec = codecFor(format.codec);
    const now = (): number => o.clock.monotonicMs();
    const recorder = o.recorder?.(rate) ?? null;
    const played = recorder ? { played: (pcm: Int16Array, at: number) => recorder.played(pcm, at) } : {};
    this.#now = now;
    this.#host = host;
    this.#rate = rate;
    this.#decode = codec.decode;
    this.recorder = recorder;
    this.#playout = new AudioPlayout({ leg, clock: o.clock, rate, encode: codec.encode, ...played });
    this.#processor = o.processor({ host, playout: this.#playout, format, events: this.#processorEvents(), now });
    this.#bargeIn = bargeInOn(host, this.#playout, this.#processor, { now, interrupt: () => this.#interrupt() });
    this.#sendDtmf = dtmfSender(o.dtmf, leg, host, (digits) => this.#processor.playAudio(dtmfTones(digits, rate)));
    this.#beep = new VoicemailBeep(o.clock, host.signals_beep, rate, () => host.dispatch({ type: "beep" }));
    this.#dtmf = dtmfCollector(o.clock, (digits) => this.#callerInput({ type: "dtmf", digits }));
    this.#filler = new FillerTimer(o.fillers);
    this.#idle = new IdleWatch(host.idle_ms, idleSinceMs);
  }

  /** Our speech is audible still, or is being made. */
  get sounding(): boolean {
    return this.#playout.busy || this.#processor.speaking;
  }

  spokenText(): string {
    return this.#processor.spokenText();
  }

  externalWaitStarted(): void {
    this.#filler.webRequested(this.#now());
  }

  interrupt(): void {
    if (!this.#ended && this.sounding) this.#interrupt();
  }

  perform(effect: Exclude<SpeechEffect, { type: "end" }>): void {
    if (effect.type === "say") this.#processor.say(effect.text, { interruptible: effect.interruptible });
    else if (effect.type === "think") this.#processor.generate(effect);
    else if (effect.type === "keys") this.#sendDtmf(effect.digits);
    else this.#awaitBeep();
  }

  /** Audio of the caller. */
  audio(frame: Uint8Array): void {
    this.#missed = 0;
    this.#callerAudio(this.#decode(frame), frame);
  }

  digit(digit: string): void {
    if (this.#ended) return;
    if (this.sounding && this.#playout.interruptible) this.#interrupt();
    this.#idle.reset(this.#now());
    this.#dtmf.push(digit, this.#host.dtmfCollection());
  }

  markReturned(name: string): void {
    this.#playout.markReturned(name);
  }

  /** To be called every FRAME_MS. */
  tick(): void {
    const now = this.#now();
    // ticks are counted, not time: after a standstill of our own its frames are here at once
    if (++this.#missed > DTX_TICKS) this.#callerAudio(new Int16Array((this.#rate * FRAME_MS) / MS_PER_SECOND), null);
    this.#bargeIn.tick();
    this.#processor.tick();
    this.#playout.tick();
    const { audibleSince } = this.#playout;
    if (audibleSince !== null) this.#latency.firstAudio(audibleSince, this.#processor.first_token_ms, this.#host);
    if (audibleSince !== null || this.#processor.spokenText() !== "") this.#filler.cancel();
    const filler = this.#filler.due(now);
    if (filler !== null && !this.#ended && !this.#beep.awaited)
      this.#processor.say(filler, { interruptible: true, aside: true });
    this.#watchIdle(now);
  }

  /** The conversation has ended: input is ignored, only the goodbye is spoken. */
  end(goodbye: string | null): void {
    this.#ended = true;
    this.#dtmf.stop();
    this.#beep.stop();
    this.#processor.cancelGeneration();
    this.#processor.discardTurn();
    this.#playout.resume();
    if (goodbye !== null) this.#processor.say(goodbye, { interruptible: false });
  }

  /** The leg is closed. */
  close(): void {
    this.#dtmf.stop();
    this.#beep.stop();
    this.#processor.discardTurn();
    // speech that the caller did not hear does not count
    if (this.sounding) this.#interrupt();
    this.#processor.close();
  }

  #processorEvents(): ProcessorEvents {
    return {
      partialTranscript: (text) => this.#bargeIn.partialTranscript(text),
      noSpeech: () => this.#bargeIn.noSpeech(),
      turnEnded: (text, timing) => this.#turnEnded(text, timing),
      sttFailed: (code) => {
        this.#host.recordError(code);
        this.#bargeIn.noSpeech();
        if (!this.#ended && !this.#beep.awaited) this.#host.dispatch({ type: "stt_failed", code });
      },
      ttsFailed: (code) => {
        this.#host.recordError(code);
        this.#host.dispatch({ type: "stopped", reason: "speech_failed" });
      },
      synthesisRequested: () => this.#latency.synthesisRequested(this.#now()),
      synthesisStarted: () => this.#latency.synthesisStarted(this.#now()),
    };
  }

  /** `frame` null: silence that the carrier did not send. It is not recorded: it would push out what was merely late. */
  #callerAudio(pcm: Int16Array, frame: Uint8Array | null): void {
    if (frame !== null) this.recorder?.heard(pcm, this.#now());
    if (!this.#beep.detect(pcm)) this.#voiceActivity(this.#processor.pushAudio(pcm, frame));
  }

  #voiceActivity(activity: VoiceActivity): void {
    if (activity.speaking !== this.#speaking) {
      this.#speaking = activity.speaking;
      this.#beep.speechChanged(activity.speaking);
    }
    if (!this.#ended && !this.#beep.awaited) this.#bargeIn.voiceActivity(activity, this.#processor.speaking);
  }

  #watchIdle(now: number): void {
    const { hasPendingWords, mayBeWords, generating } = this.#processor;
    const broken = this.#ended || this.sounding || hasPendingWords || generating || !this.#host.listening();
    if (!this.#idle.isIdle(now, { broken, undecided: mayBeWords })) return;
    this.#bargeIn.soundIsNoise();
    this.#processor.forgetTalker();
    this.#playout.commitHeard();
    this.#host.dispatch({ type: "idle" });
  }

  #turnEnded(text: string, timing: TurnTiming): void {
    if (this.#ended || this.#beep.awaited) return;
    if (this.#bargeIn.turnEnded(text)) {
      this.#processor.discardTurn();
      return;
    }
    this.#latency.turnEnded(this.#now() - timing.eou_ms, timing);
    this.#dtmf.flush();
    this.#callerInput({ type: "heard", text });
  }

  /** Speech or DTMF of the caller cuts the speech that it interrupts. */
  #callerInput(event: { type: "heard"; text: string } | { type: "dtmf"; digits: string }): void {
    if (this.#ended) return;
    if (this.sounding && this.#playout.interruptible) this.#interrupt();
    this.#playout.commitHeard();
    this.#filler.turnEnded(this.#now());
    this.#host.dispatch(event);
    if (!this.#processor.generating) this.#filler.cancel();
  }

  /** Falls silent; the dialogue learns what the caller heard. */
  #interrupt(): void {
    this.#processor.interrupt((spoken) => this.#host.dispatch({ type: "interrupted", spoken }));
  }

  #awaitBeep(): void {
    this.#dtmf.stop();
    // speech that is cut here does not count as heard either
    if (this.sounding) this.#interrupt();
    else this.#processor.interrupt(() => undefined);
    this.#processor.discardTurn();
    this.#beep.await(this.#speaking);
  }
}
