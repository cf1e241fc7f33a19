import { MS_PER_SECOND, type Clock } from "../../../shared/time/clock.ts";
import type { VoiceActivity } from "../audio/port.ts";
import type { Recorder } from "../recording/stereo-recorder.ts";
import type { AudioPlayout } from "../transport/audio-playout.ts";
import { FRAME_MS, type AudioFormat, type MediaLeg } from "../transport/port.ts";
import { dtmfCollector, type DtmfCollector } from "./dtmf-collector.ts";
import { LastTurn } from "./last-turn.ts";
import type { PipelineHost, SpeechEffect } from "./port.ts";
import { FillerTimer, IdleWatch } from "./silence-timers.ts";
import { latencyMeter } from "./turn-latency.ts";
import { VoicemailBeep } from "./voicemail-beep.ts";
import { voiceParts, type TurnEvents, type TurnTakingOptions, type VoiceParts } from "./voice-parts.ts";
import type { TurnTiming, VoiceProcessor } from "./voice-processor.ts";

/** No audio for this many ticks (half a second) counts as silence. A shorter gap is network delay: inserted silence would break its words. */
const DTX_TICKS = 25;
/** Turn-taking on an audio leg: whose turn it is, what a barge-in cuts, and what silence means. */
export class TurnTaking {
  /** Monotonic ms. */
  readonly #now: () => number;
  readonly #host: PipelineHost;
  readonly #parts: VoiceParts;
  readonly #playout: AudioPlayout;
  readonly #processor: VoiceProcessor;
  readonly #beep: VoicemailBeep;
  readonly #dtmf: DtmfCollector;
  readonly #latency = latencyMeter();
  readonly #filler: FillerTimer;
  readonly #idle: IdleWatch;
  readonly audible = (): boolean => this.#playout.audibleSince !== null;
  /** Records both sides; null: the call is not recorded. */
  readonly recorder: Recorder | null;
  #ended = false;
  readonly #last = new LastTurn();
  /** Ticks since the carrier's last frame. */
  #missed = 0;
  #speaking = false;
  /** Our first words are not over, and the caller has not had a turn since they began. */
  #opens = true;

  constructor(o: TurnTakingOptions, leg: MediaLeg, host: PipelineHost, format: AudioFormat, idleSinceMs: number) {
    const hooks = {
      events: this.#processorEvents(),
      interrupt: () => this.#interrupt(),
      opening: () => this.#opens && !host.opening(),
    };
    const parts = voiceParts(o, { leg, host, format }, hooks);
    this.#now = () => o.clock.monotonicMs();
    this.#host = host;
    this.#parts = parts;
    this.#playout = parts.playout;
    this.#processor = parts.processor;
    this.recorder = parts.recorder;
    this.#beep = new VoicemailBeep(o.clock, host.signals_beep, parts.rate, () => host.dispatch({ type: "beep" }));
    this.#dtmf = dtmfCollector(o.clock, (digits) => this.#callerInput({ type: "dtmf", digits }));
    this.#filler = new FillerTimer(o.fillers);
    this.#idle = new IdleWatch(idleSinceMs);
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

  markReturned(name: string): void {
    this.#playout.markReturned(name);
  }

  /** Nothing more of our speech will be heard; the dialogue learns what was. */
  cut(): void {
    if (this.sounding) this.#interrupt();
  }

  perform(effect: Exclude<SpeechEffect, { type: "end" }>): void {
    if (effect.type === "say") this.#processor.say(effect.text, effect);
    else if (effect.type === "think") this.#processor.generate(effect);
    else if (effect.type === "keys") this.#parts.sendDtmf(effect.digits);
    else this.#awaitBeep();
  }

  audio(frame: Uint8Array): void {
    this.#missed = 0;
    this.#callerAudio(this.#parts.decode(frame), frame);
  }

  digit(digit: string): void {
    if (this.#ended) return;
    if (this.sounding && this.#playout.interruptible) this.#interrupt();
    this.#idle.reset(this.#now());
    this.#dtmf.push(digit, this.#host.dtmfCollection());
  }

  /** A turn of words that were typed: whole, and meant. */
  typed(text: string): void {
    if (this.#beep.awaited) return;
    this.#dtmf.flush();
    this.#callerInput({ type: "heard", text });
  }

  /** To be called every FRAME_MS. */
  tick(): void {
    const now = this.#now();
    // ticks are counted, not time: after a standstill of our own its frames are here at once
    if (++this.#missed > DTX_TICKS)
      this.#callerAudio(new Int16Array((this.#parts.rate * FRAME_MS) / MS_PER_SECOND), null);
    this.#opens &&= this.sounding || this.#host.opening() || !this.#host.listening();
    this.#parts.bargeIn.tick();
    this.#processor.tick();
    this.#playout.tick();
    const { audibleSince } = this.#playout;
    if (audibleSince !== null) this.#latency.firstAudio(audibleSince, this.#processor.first_token_ms, this.#host);
    if (this.#filler.pending && (audibleSince !== null || this.#processor.spokenText() !== "")) this.#filler.cancel();
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

  /** They are gone: what they said last is recognised; "": nothing. */
  async lastTurn(clock: Clock): Promise<string> {
    this.cut();
    if (this.#ended || this.#beep.awaited) return "";
    this.#dtmf.flush();
    return this.#last.finish(clock, this.#processor, this.#host);
  }

  /** The leg is closed, and nothing more of them is to be judged. */
  close(): void {
    this.#dtmf.stop();
    this.#beep.stop();
    this.#processor.discardTurn();
    this.#processor.close();
  }

  #processorEvents(): TurnEvents {
    return {
      turnEnded: (text, timing) => this.#turnEnded(text, timing),
      sttFailed: (code) => {
        this.#host.recordError(code);
        if (!this.#ended && !this.#beep.awaited)
          this.#host.dispatch({ type: this.#last.takes("") ? "fault" : "stt_failed", code });
      },
      ttsFailed: (code) => {
        this.#host.recordError(code);
        this.#interrupt();
        this.#host.dispatch({ type: "stopped", reason: "speech_failed", detail: code });
      },
      answerHeld: (begins) => (begins ? this.#filler.cancel() : this.#filler.turnEnded(this.#now())),
      synthesisRequested: () => this.#latency.synthesisRequested(this.#now()),
      synthesisStarted: () => this.#latency.synthesisStarted(this.#now()),
    };
  }

  /** `frame` null: silence that the carrier did not send. It is not recorded: it would push out what was merely late. */
  #callerAudio(pcm: Int16Array, frame: Uint8Array | null): void {
    if (frame !== null) this.recorder?.heard(pcm, this.#now());
    const theirs = this.#parts.withoutEcho(pcm);
    if (!this.#beep.detect(pcm)) this.#voiceActivity(this.#processor.pushAudio(theirs, theirs === pcm ? frame : null));
  }

  #voiceActivity(activity: VoiceActivity): void {
    if (activity.speaking !== this.#speaking) this.#beep.speechChanged(activity.speaking);
    this.#speaking = activity.speaking;
    if (!this.#ended && !this.#beep.awaited) this.#parts.bargeIn.voiceActivity(activity, this.#processor.speaking);
  }

  #watchIdle(now: number): void {
    const { hasPendingWords, mayBeWords, generating } = this.#processor;
    const broken = this.#ended || this.sounding || hasPendingWords || generating || !this.#host.listening();
    if (!this.#idle.isIdle(now, this.#host.idle_ms, { broken, undecided: mayBeWords })) return;
    this.#parts.bargeIn.soundIsNoise();
    this.#processor.forgetTalker();
    this.#playout.commitHeard();
    this.#host.dispatch({ type: "idle" });
  }

  #turnEnded(text: string, timing: TurnTiming): void {
    if (this.#ended || this.#beep.awaited || this.#last.takes(text)) return;
    const verdict = this.#parts.bargeIn.turnEnded(text);
    if (verdict === "backchannel") {
      this.#processor.discardTurn();
      return;
    }
    this.#latency.turnEnded(this.#now() - timing.eou_ms, timing);
    this.#dtmf.flush();
    this.#callerInput({ type: "heard", text }, verdict !== "few");
  }

  /** Speech or DTMF of the caller; `cuts`: it ends the speech that it interrupts. */
  #callerInput(event: { type: "heard"; text: string } | { type: "dtmf"; digits: string }, cuts = true): void {
    if (this.#ended) return;
    if (cuts && this.sounding && this.#playout.interruptible) this.#interrupt();
    const over = this.sounding;
    if (!over) this.#playout.commitHeard();
    this.#opens &&= this.#host.opening();
    this.#filler.turnEnded(this.#now());
    this.#host.dispatch(over ? { ...event, over } : event);
    if (!this.#processor.generating) this.#filler.cancel();
  }

  /** Falls silent; the dialogue learns what the caller heard. */
  #interrupt(): void {
    this.#processor.interrupt((spoken) => this.#host.dispatch({ type: "interrupted", spoken }));
  }

  #awaitBeep(): void {
    this.#dtmf.stop();
    // speech that is cut here does not count as heard either
    this.cut();
    this.#processor.interrupt(() => undefined);
    this.#processor.discardTurn();
    this.#beep.await(this.#speaking);
  }
}
