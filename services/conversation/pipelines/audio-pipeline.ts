import type { Clock } from "../../../shared/clock.ts";
import type { FrameClock } from "../transport/frame-clock.ts";
import { audioPlayout, type AudioPlayout } from "../transport/audio-playout.ts";
import { FRAME_MS, type AudioFormat, type MediaLeg } from "../transport/port.ts";
import type { Recorder } from "../recording/stereo-recorder.ts";
import { beepDetector } from "../audio/beep-detector.ts";
import { dtmfTones } from "../audio/dtmf-tones.ts";
import { codecFor } from "../audio/g711.ts";
import type { BeepDetector, VoiceActivity } from "../audio/port.ts";
import { isBackchannel } from "../audio/endpointing.ts";
import { beepWait, type BeepWait } from "./beep-wait.ts";
import { dtmfCollector, type DtmfCollector } from "./dtmf-collector.ts";
import type { SpeechEffect, PipelineHost, VoicePipeline, PipelineFactory } from "./port.ts";
import { bargeIn, type BargeIn } from "./barge-in.ts";
import type { VoiceProcessor, ProcessorEvents, ProcessorContext } from "./voice-processor.ts";
import { latencyMeter, type LatencyMeter } from "./turn-latency.ts";

/** Longest wait for our own speech to end before the call goes on without it. */
export const MAX_PLAYOUT_WAIT_MS = 20_000;
/** The carrier gets this long to close the leg after we closed it. */
const CLOSE_MS = 2000;
/** The recording gets this long to be kept before the talk is settled without waiting for it. */
const RECORDING_MS = 2000;
/** A filler is said where nothing is to be heard this long after the caller's turn, and where a web request takes longer. */
const FILLER_AFTER_MS = 700;
const WEB_FILLER_AFTER_MS = 1000;
/** A carrier that sends nothing for so many beats (half a second) sends silence. Fewer are a late network, whose sound still comes: silence put into it would break its words. */
const DTX_BEATS = 25;
const MS_PER_SECOND = 1000;
/** After a question of ours a sound of assent is its answer, even while we still speak. */
const ASKS = /[?？؟]/u;

/** What talks over sound are held with. `fillers`: short texts for pauses, one at most is said in a turn. `keys`: how keys are pressed where the leg has no message for it. */
export interface AudioPipelineOptions {
  clock: Clock;
  metronome: FrameClock;
  processor(ground: ProcessorContext): VoiceProcessor;
  fillers: readonly string[];
  dtmf: "sound" | "command";
  recorder?(rate: number): Recorder;
}

/** What exists once the leg's format is known. */
interface AudioParts {
  readonly rate: number;
  readonly decode: (frame: Uint8Array) => Int16Array;
  readonly playout: AudioPlayout;
  readonly processor: VoiceProcessor;
  readonly bargeIn: BargeIn;
  readonly recorder: Recorder | null;
  readonly beeps: BeepDetector;
}

/** One talk over a leg of sound: who speaks when, what is cut, what silence means. The mind does the rest. */
class AudioPipeline implements VoicePipeline {
  readonly closed: Promise<void>;
  readonly #o: AudioPipelineOptions;
  readonly #leg: MediaLeg;
  readonly #host: PipelineHost;
  readonly #keypad: DtmfCollector;
  readonly #turns: LatencyMeter = latencyMeter();
  readonly #gone = new AbortController();
  #works: AudioParts | null = null;
  #leave: () => void = () => undefined;
  #beep: BeepWait | null = null;
  #ended = false;
  #quietSince: number;
  /** Beats since the carrier's last frame. */
  #missed = 0;
  #speaking = false;
  /** A filler is due at this instant, if nothing is heard until then. */
  #fillerAt: number | null = null;
  #fillers = 0;

  constructor(leg: MediaLeg, host: PipelineHost, o: AudioPipelineOptions) {
    this.#leg = leg;
    this.#host = host;
    this.#o = o;
    this.#quietSince = this.#now();
    this.#keypad = dtmfCollector(o.clock, (digits) => this.#heard({ type: "dtmf", digits }));
    this.closed = new Promise((resolve) =>
      this.#gone.signal.addEventListener("abort", () => resolve(), { once: true }),
    );
  }

  /** Begins to listen; what came before is delivered at once. */
  start(): void {
    this.#leg.listen({
      ready: (call_id, format) => this.#ready(call_id, format),
      audio: (frame) => {
        if (this.#works) {
          this.#missed = 0;
          this.#hear(this.#works, this.#works.decode(frame), frame);
        }
      },
      digit: (digit) => this.#digit(digit),
      mark: (name) => this.#works?.playout.markReturned(name),
      fault: () => this.#host.recordError("MEDIA_REFUSED_FRAME"),
      closed: () => this.#closed(),
    });
  }

  perform(effect: SpeechEffect): void {
    if (this.#ended) return;
    switch (effect.type) {
      case "say":
        this.#works?.processor.say(effect.text, { interruptible: effect.interruptible });
        return;
      case "think":
        this.#works?.processor.generate(effect);
        return;
      case "keys":
        this.#press(effect.digits);
        return;
      case "await_beep":
        this.#awaitBeep();
        return;
      case "end":
        void this.#end(effect);
    }
  }

  spokenText(): string {
    return this.#works?.processor.spokenText() ?? "";
  }

  externalWaitStarted(): void {
    this.#fillerAt = this.#now() + WEB_FILLER_AFTER_MS;
  }

  interrupt(): void {
    if (!this.#ended && this.#sounding()) this.#interrupt();
  }

  async playedOut(): Promise<void> {
    const until = this.#now() + MAX_PLAYOUT_WAIT_MS;
    while (!this.#gone.signal.aborted && this.#sounding() && this.#now() < until)
      await this.#o.clock.wait(FRAME_MS, this.#gone.signal);
  }

  closeLeg(): void {
    this.#leg.close();
    this.#leg.close();
  }

  #now(): number {
    return this.#o.clock.monotonicMs();
  }

  /** Something of ours is to be heard still, or is being thought of. */
  #sounding(): boolean {
    return this.#works !== null && (this.#works.playout.busy || this.#works.processor.speaking);
  }

  #ready(call_id: string | null, format: AudioFormat): void {
    if (this.#works) return;
    const { rate } = format;
    const { clock } = this.#o;
    const codec = codecFor(format);
    const recorder = this.#o.recorder?.(rate) ?? null;
    const playout = audioPlayout({
      leg: this.#leg,
      clock,
      rate,
      encode: codec.encode,
      ...(recorder ? { played: (pcm: Int16Array, at: number) => recorder.played(pcm, at) } : {}),
    });
    const mind = this.#o.processor({
      host: this.#host,
      playout,
      format,
      events: this.#mindEvents(),
      now: () => this.#now(),
    });
    const barge = bargeIn({
      playout,
      now: () => this.#now(),
      interrupt: () => this.#interrupt(),
      transcribing: () => mind.hasPendingSpeech,
      isBackchannel: (text) => isBackchannel(text, this.#host.speechSettings.language) && !ASKS.test(playout.spoken),
    });
    this.#works = {
      rate,
      decode: codec.decode,
      playout,
      processor: mind,
      bargeIn: barge,
      recorder,
      beeps: beepDetector(rate),
    };
    this.#leave = this.#o.metronome.subscribe(() => this.#beat());
    this.#host.ready(call_id);
  }

  #mindEvents(): ProcessorEvents {
    return {
      partialTranscript: (text) => this.#works?.bargeIn.partialTranscript(text),
      noSpeech: () => this.#works?.bargeIn.noSpeech(),
      turnEnded: (text, timing) => this.#turn(text, timing),
      sttFailed: (code) => {
        this.#host.recordError(code);
        this.#works?.bargeIn.noSpeech();
        if (!this.#ended && !this.#beep) this.#host.dispatch({ type: "unheard", code });
      },
      ttsFailed: (code) => {
        this.#host.recordError(code);
        this.#host.dispatch({ type: "stopped", reason: "speech_failed" });
      },
      synthesisRequested: () => this.#turns.synthesisRequested(this.#now()),
      synthesisStarted: () => this.#turns.synthesisStarted(this.#now()),
    };
  }

  #hear(works: AudioParts, pcm: Int16Array, frame: Uint8Array | null): void {
    // silence that nobody sent would push out of the recording what was merely late
    if (frame !== null) works.recorder?.heard(pcm, this.#now());
    if (this.#beep && !this.#host.signals_beep && works.beeps.push(pcm)) {
      this.#beeped();
      return;
    }
    this.#watch(works, works.processor.pushAudio(pcm, frame));
  }

  #watch(works: AudioParts, hearing: VoiceActivity): void {
    if (hearing.speaking !== this.#speaking) {
      this.#speaking = hearing.speaking;
      this.#beep?.speechChanged(hearing.speaking);
    }
    if (!this.#ended && this.#beep === null) works.bargeIn.voiceActivity(hearing, works.processor.speaking);
  }

  #beat(): void {
    const works = this.#works;
    if (!works) return;
    const now = this.#now();
    // beats are counted, not time: after a stand-still of our own its frames are here at once
    if (++this.#missed > DTX_BEATS) this.#hear(works, new Int16Array((works.rate * FRAME_MS) / MS_PER_SECOND), null);
    works.bargeIn.tick();
    works.processor.tick();
    works.playout.tick();
    if (works.playout.audibleSince !== null) {
      this.#fillerAt = null;
      this.#turns.firstAudio(works.playout.audibleSince, works.processor.first_token_ms, this.#host);
    }
    if (works.processor.spokenText() !== "") this.#fillerAt = null;
    if (this.#fillerAt !== null && now >= this.#fillerAt) this.#fill(works);
    this.#watchIdle(works, now);
  }

  #fill({ processor: mind }: AudioParts): void {
    this.#fillerAt = null;
    const text = this.#o.fillers[this.#fillers++ % Math.max(1, this.#o.fillers.length)];
    if (text !== undefined && !this.#ended && this.#beep === null) mind.say(text, { interruptible: true, aside: true });
  }

  /** The caller's silence counts from the end of our speech. */
  #watchIdle({ processor: mind }: AudioParts, now: number): void {
    if (
      this.#ended ||
      this.#sounding() ||
      this.#speaking ||
      mind.hasPendingSpeech ||
      mind.generating ||
      !this.#host.listening()
    ) {
      this.#quietSince = now;
      return;
    }
    if (now - this.#quietSince < this.#host.idle_ms) return;
    this.#quietSince = now;
    this.#works?.playout.commitHeard();
    this.#host.dispatch({ type: "idle" });
  }

  #turn(text: string, timing: { eou_ms: number; stt_ms: number }): void {
    const works = this.#works;
    if (!works || this.#ended || this.#beep) return;
    if (works.bargeIn.turnEnded(text)) {
      works.processor.discardTurn();
      return;
    }
    this.#turns.turnEnded(this.#now() - timing.eou_ms, timing);
    this.#keypad.flush();
    this.#heard({ type: "heard", text });
  }

  /** The caller has said or keyed something; what they talked over is cut before. */
  #heard(event: { type: "heard"; text: string } | { type: "dtmf"; digits: string }): void {
    if (this.#ended) return;
    if (this.#sounding() && this.#works?.playout.interruptible) this.#interrupt();
    this.#works?.playout.commitHeard();
    this.#fillerAt = this.#now() + FILLER_AFTER_MS;
    this.#host.dispatch(event);
    if (!this.#works?.processor.generating) this.#fillerAt = null;
  }

  #digit(digit: string): void {
    if (this.#ended || !this.#works) return;
    if (this.#sounding() && this.#works.playout.interruptible) this.#interrupt();
    this.#quietSince = this.#now();
    this.#keypad.push(digit, this.#host.dtmfCollection());
  }

  /** The caller talks over us and means it: silence, and the talk is told what they heard. */
  #interrupt(): void {
    this.#works?.processor.interrupt((spoken) => this.#host.dispatch({ type: "interrupted", spoken }));
  }

  #press(digits: string): void {
    if (this.#leg.sendDtmf) this.#leg.sendDtmf(digits);
    else if (this.#o.dtmf === "command") this.#host.sendDtmf(digits);
    else if (this.#works) this.#works.processor.playAudio(dtmfTones(digits, this.#works.rate));
  }

  #awaitBeep(): void {
    this.#keypad.stop();
    // what is cut here was not said either
    if (this.#sounding()) this.#interrupt();
    else this.#works?.processor.interrupt(() => undefined);
    this.#works?.processor.discardTurn();
    this.#beep = beepWait(this.#o.clock, this.#host.signals_beep, () => this.#host.dispatch({ type: "beep" }));
    this.#beep.speechChanged(this.#speaking);
  }

  #beeped(): void {
    this.#beep?.stop();
    this.#host.dispatch({ type: "beep" });
  }

  async #end(effect: Extract<SpeechEffect, { type: "end" }>): Promise<void> {
    this.#ended = true;
    this.#keypad.stop();
    this.#beep?.stop();
    this.#works?.processor.cancelGeneration();
    this.#works?.processor.discardTurn();
    this.#works?.playout.resume();
    if (effect.goodbye !== null) this.#works?.processor.say(effect.goodbye, { interruptible: false });
    if (!effect.at_once) await this.playedOut();
    this.#leg.close();
    await this.#o.clock.wait(CLOSE_MS, this.#gone.signal);
    if (!this.#gone.signal.aborted) this.#leg.close();
  }

  #closed(): void {
    this.#leave();
    this.#keypad.stop();
    this.#beep?.stop();
    this.#works?.processor.discardTurn();
    // what nobody heard was not said
    if (this.#sounding()) this.#interrupt();
    this.#works?.processor.close();
    this.#host.dispatch({ type: "stopped", reason: "hung_up" });
    void this.#letGo();
  }

  async #letGo(): Promise<void> {
    const kept = new AbortController();
    await Promise.race([
      this.#works?.recorder?.end(),
      this.#o.clock.wait(this.#works?.recorder ? RECORDING_MS : 0, kept.signal),
    ]);
    kept.abort();
    this.#gone.abort();
  }
}

/** An engine for legs that carry sound; what it thinks with is the mind's matter. */
export const audioPipeline = (o: AudioPipelineOptions): PipelineFactory<MediaLeg> => ({
  open(leg, host) {
    const voice = new AudioPipeline(leg, host, o);
    voice.start();
    return voice;
  },
});
