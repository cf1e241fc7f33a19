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
import { keypad, type Keypad } from "./dtmf-collector.ts";
import type { SpeechEffect, TalkHost, Voice, VoiceEngine } from "./port.ts";
import { bargeIn, type BargeIn } from "./barge-in.ts";
import type { Mind, MindEvents, MindGround } from "./voice-processor.ts";
import { turnClock, type TurnClock } from "./turn-latency.ts";

/** Longest wait for our own speech to end before the call goes on without it. */
export const MAX_QUIET_MS = 20_000;
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
export interface SoundParts {
  clock: Clock;
  metronome: FrameClock;
  mind(ground: MindGround): Mind;
  fillers: readonly string[];
  keys: "sound" | "command";
  recorder?(rate: number): Recorder;
}

/** What exists once the leg's format is known. */
interface Works {
  readonly rate: number;
  readonly decode: (frame: Uint8Array) => Int16Array;
  readonly playout: AudioPlayout;
  readonly mind: Mind;
  readonly barge: BargeIn;
  readonly recorder: Recorder | null;
  readonly beeps: BeepDetector;
}

/** One talk over a leg of sound: who speaks when, what is cut, what silence means. The mind does the rest. */
class SoundVoice implements Voice {
  readonly over: Promise<void>;
  readonly #o: SoundParts;
  readonly #leg: MediaLeg;
  readonly #host: TalkHost;
  readonly #keypad: Keypad;
  readonly #turns: TurnClock = turnClock();
  readonly #gone = new AbortController();
  #works: Works | null = null;
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

  constructor(leg: MediaLeg, host: TalkHost, o: SoundParts) {
    this.#leg = leg;
    this.#host = host;
    this.#o = o;
    this.#quietSince = this.#now();
    this.#keypad = keypad(o.clock, (digits) => this.#heard({ type: "dtmf", digits }));
    this.over = new Promise((resolve) => this.#gone.signal.addEventListener("abort", () => resolve(), { once: true }));
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
      fault: () => this.#host.fault("MEDIA_REFUSED_FRAME"),
      closed: () => this.#closed(),
    });
  }

  perform(effect: SpeechEffect): void {
    if (this.#ended) return;
    switch (effect.type) {
      case "say":
        this.#works?.mind.say(effect.text, { interruptible: effect.interruptible });
        return;
      case "think":
        this.#works?.mind.think(effect);
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

  said(): string {
    return this.#works?.mind.said() ?? "";
  }

  waits(): void {
    this.#fillerAt = this.#now() + WEB_FILLER_AFTER_MS;
  }

  hush(): void {
    if (!this.#ended && this.#sounding()) this.#interrupt();
  }

  async quiet(): Promise<void> {
    const until = this.#now() + MAX_QUIET_MS;
    while (!this.#gone.signal.aborted && this.#sounding() && this.#now() < until)
      await this.#o.clock.wait(FRAME_MS, this.#gone.signal);
  }

  cut(): void {
    this.#leg.close();
    this.#leg.close();
  }

  #now(): number {
    return this.#o.clock.monotonicMs();
  }

  /** Something of ours is to be heard still, or is being thought of. */
  #sounding(): boolean {
    return this.#works !== null && (this.#works.playout.busy || this.#works.mind.speaking);
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
    const mind = this.#o.mind({
      host: this.#host,
      playout,
      format,
      events: this.#mindEvents(),
      now: () => this.#now(),
    });
    const barge = bargeIn({
      playout,
      now: () => this.#now(),
      cut: () => this.#interrupt(),
      undecided: () => mind.attentive,
      ignores: (text) => isBackchannel(text, this.#host.manner.language) && !ASKS.test(playout.spoken),
    });
    this.#works = { rate, decode: codec.decode, playout, mind, barge, recorder, beeps: beepDetector(rate) };
    this.#leave = this.#o.metronome.subscribe(() => this.#beat());
    this.#host.ready(call_id);
  }

  #mindEvents(): MindEvents {
    return {
      words: (text) => this.#works?.barge.words(text),
      nothing: () => this.#works?.barge.nothing(),
      turn: (text, timing) => this.#turn(text, timing),
      deaf: (code) => {
        this.#host.fault(code);
        this.#works?.barge.nothing();
        if (!this.#ended && !this.#beep) this.#host.tell({ type: "unheard", code });
      },
      mute: (code) => {
        this.#host.fault(code);
        this.#host.tell({ type: "stopped", reason: "speech_failed" });
      },
      speechAsked: () => this.#turns.speechAsked(this.#now()),
      speechCame: () => this.#turns.speechCame(this.#now()),
    };
  }

  #hear(works: Works, pcm: Int16Array, frame: Uint8Array | null): void {
    // silence that nobody sent would push out of the recording what was merely late
    if (frame !== null) works.recorder?.heard(pcm, this.#now());
    if (this.#beep && !this.#host.tells_beep && works.beeps.push(pcm)) {
      this.#beeped();
      return;
    }
    this.#watch(works, works.mind.hear(pcm, frame));
  }

  #watch(works: Works, hearing: VoiceActivity): void {
    if (hearing.speaking !== this.#speaking) {
      this.#speaking = hearing.speaking;
      this.#beep?.speaks(hearing.speaking);
    }
    if (!this.#ended && this.#beep === null) works.barge.hearing(hearing, works.mind.speaking);
  }

  #beat(): void {
    const works = this.#works;
    if (!works) return;
    const now = this.#now();
    // beats are counted, not time: after a stand-still of our own its frames are here at once
    if (++this.#missed > DTX_BEATS) this.#hear(works, new Int16Array((works.rate * FRAME_MS) / MS_PER_SECOND), null);
    works.barge.tick();
    works.mind.tick();
    works.playout.tick();
    if (works.playout.audibleSince !== null) {
      this.#fillerAt = null;
      this.#turns.sounded(works.playout.audibleSince, works.mind.first_token_ms, this.#host);
    }
    if (works.mind.said() !== "") this.#fillerAt = null;
    if (this.#fillerAt !== null && now >= this.#fillerAt) this.#fill(works);
    this.#watchIdle(works, now);
  }

  #fill({ mind }: Works): void {
    this.#fillerAt = null;
    const text = this.#o.fillers[this.#fillers++ % Math.max(1, this.#o.fillers.length)];
    if (text !== undefined && !this.#ended && this.#beep === null) mind.say(text, { interruptible: true, aside: true });
  }

  /** The caller's silence counts from the end of our speech. */
  #watchIdle({ mind }: Works, now: number): void {
    if (
      this.#ended ||
      this.#sounding() ||
      this.#speaking ||
      mind.attentive ||
      mind.thinking ||
      !this.#host.listening()
    ) {
      this.#quietSince = now;
      return;
    }
    if (now - this.#quietSince < this.#host.idle_ms) return;
    this.#quietSince = now;
    this.#works?.playout.commitHeard();
    this.#host.tell({ type: "idle" });
  }

  #turn(text: string, timing: { eou_ms: number; stt_ms: number }): void {
    const works = this.#works;
    if (!works || this.#ended || this.#beep) return;
    if (works.barge.turn(text)) {
      works.mind.forget();
      return;
    }
    this.#turns.ended(this.#now() - timing.eou_ms, timing);
    this.#keypad.flush();
    this.#heard({ type: "heard", text });
  }

  /** The caller has said or keyed something; what they talked over is cut before. */
  #heard(event: { type: "heard"; text: string } | { type: "dtmf"; digits: string }): void {
    if (this.#ended) return;
    if (this.#sounding() && this.#works?.playout.interruptible) this.#interrupt();
    this.#works?.playout.commitHeard();
    this.#fillerAt = this.#now() + FILLER_AFTER_MS;
    this.#host.tell(event);
    if (!this.#works?.mind.thinking) this.#fillerAt = null;
  }

  #digit(digit: string): void {
    if (this.#ended || !this.#works) return;
    if (this.#sounding() && this.#works.playout.interruptible) this.#interrupt();
    this.#quietSince = this.#now();
    this.#keypad.press(digit, this.#host.collection());
  }

  /** The caller talks over us and means it: silence, and the talk is told what they heard. */
  #interrupt(): void {
    this.#works?.mind.interrupt((spoken) => this.#host.tell({ type: "interrupted", spoken }));
  }

  #press(digits: string): void {
    if (this.#leg.sendDtmf) this.#leg.sendDtmf(digits);
    else if (this.#o.keys === "command") this.#host.press(digits);
    else if (this.#works) this.#works.mind.sound(dtmfTones(digits, this.#works.rate));
  }

  #awaitBeep(): void {
    this.#keypad.stop();
    // what is cut here was not said either
    if (this.#sounding()) this.#interrupt();
    else this.#works?.mind.interrupt(() => undefined);
    this.#works?.mind.forget();
    this.#beep = beepWait(this.#o.clock, this.#host.tells_beep, () => this.#host.tell({ type: "beep" }));
    this.#beep.speaks(this.#speaking);
  }

  #beeped(): void {
    this.#beep?.stop();
    this.#host.tell({ type: "beep" });
  }

  async #end(effect: Extract<SpeechEffect, { type: "end" }>): Promise<void> {
    this.#ended = true;
    this.#keypad.stop();
    this.#beep?.stop();
    this.#works?.mind.dropThought();
    this.#works?.mind.forget();
    this.#works?.playout.resume();
    if (effect.goodbye !== null) this.#works?.mind.say(effect.goodbye, { interruptible: false });
    if (!effect.at_once) await this.quiet();
    this.#leg.close();
    await this.#o.clock.wait(CLOSE_MS, this.#gone.signal);
    if (!this.#gone.signal.aborted) this.#leg.close();
  }

  #closed(): void {
    this.#leave();
    this.#keypad.stop();
    this.#beep?.stop();
    this.#works?.mind.forget();
    // what nobody heard was not said
    if (this.#sounding()) this.#interrupt();
    this.#works?.mind.close();
    this.#host.tell({ type: "stopped", reason: "hung_up" });
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
export const soundEngine = (o: SoundParts): VoiceEngine<MediaLeg> => ({
  open(leg, host) {
    const voice = new SoundVoice(leg, host, o);
    voice.start();
    return voice;
  },
});
