import type { Clock } from "../../../../shared/clock.ts";
import type { Metronome } from "../../media/metronome.ts";
import { pacedPlayout, type Playout } from "../../media/playout.ts";
import { FRAME_MS, type AudioFormat, type MediaLeg } from "../../media/port.ts";
import type { Recorder } from "../../media/recorder.ts";
import type { TalkModels } from "../../models/port.ts";
import { beepDetector } from "../../speech/beep.ts";
import { dtmfTones } from "../../speech/dtmf.ts";
import { codecFor } from "../../speech/g711.ts";
import type { BeepDetector, Hearing, TurnJudge } from "../../speech/port.ts";
import { isBackchannel } from "../../speech/turn-judge.ts";
import { energyVad } from "../../speech/vad.ts";
import { beepWait, type BeepWait } from "../beep-wait.ts";
import { keypad, type Keypad } from "../keypad.ts";
import type { SpeechEffect, TalkHost, Voice, VoiceEngine } from "../port.ts";
import { bargeIn, type BargeIn } from "./barge-in.ts";
import { listeningEar, type Ear } from "./ear.ts";
import { mouth, type Mouth } from "./mouth.ts";
import { oneThought, type Thinker } from "./thinker.ts";
import { turnClock, type TurnClock } from "./turn-clock.ts";

/** Longest wait for our own speech to end before the call goes on without it. */
export const MAX_QUIET_MS = 20_000;
/** The carrier gets this long to close the leg after we closed it. */
const CLOSE_MS = 2000;
/** The recording gets this long to be kept before the talk is settled without waiting for it. */
const RECORDING_MS = 2000;
/** A filler is said where nothing is to be heard this long after the caller's turn, and where a web request takes longer. */
const FILLER_AFTER_MS = 700;
const WEB_FILLER_AFTER_MS = 1000;
/** A carrier that sends nothing for this long sends silence. */
const DTX_MS = 100;
const MS_PER_SECOND = 1000;

/** What cascade talks are held with. `fillers`: short texts for pauses, one is said at most once a turn. `keys`: how keys are pressed where the leg has no message for it. */
export interface CascadeParts {
  clock: Clock;
  metronome: Metronome;
  models: TalkModels;
  judge: TurnJudge;
  fillers: readonly string[];
  /** The model is asked before it is certain that the caller has ended. */
  preemptive: boolean;
  keys: "sound" | "command";
  recorder?(rate: number): Recorder;
}

/** What exists once the leg's format is known. */
interface Works { readonly rate: number; readonly decode: (frame: Uint8Array) => Int16Array; readonly playout: Playout; readonly mouth: Mouth; readonly ear: Ear; readonly barge: BargeIn; readonly recorder: Recorder | null; readonly beeps: BeepDetector }

/** One talk over a leg of sound: listens, thinks and speaks, each as early as it can. */
class CascadeVoice implements Voice {
  readonly over: Promise<void>;
  readonly #o: CascadeParts;
  readonly #leg: MediaLeg;
  readonly #host: TalkHost;
  readonly #keypad: Keypad;
  readonly #thinker: Thinker;
  readonly #turns: TurnClock;
  readonly #gone = new AbortController();
  #works: Works | null = null;
  #leave: () => void = () => undefined;
  #beep: BeepWait | null = null;
  #ended = false;
  #quietSince: number;
  #lastFrame = 0;
  #speaking = false;
  /** A filler is due at this instant, if nothing is heard until then. */
  #fillerAt: number | null = null;
  #fillers = 0;

  constructor(leg: MediaLeg, host: TalkHost, o: CascadeParts) {
    this.#leg = leg;
    this.#host = host;
    this.#o = o;
    this.#quietSince = this.#now();
    this.#turns = turnClock();
    this.#keypad = keypad(o.clock, (digits) => this.#heard({ type: "dtmf", digits }));
    this.#thinker = oneThought({
      model: o.models.chat, host, now: () => this.#now(), tell: (event) => host.tell(event),
      outlet: ({ interruptible }) => { this.#fillerAt = null; return this.#works?.mouth.open({ interruptible }) ?? { push: () => undefined, end: () => undefined }; },
    });
    this.over = new Promise((resolve) => this.#gone.signal.addEventListener("abort", () => resolve(), { once: true }));
  }

  /** Begins to listen; what came before is delivered at once. */
  start(): void {
    this.#leg.listen({
      ready: (call_id, format) => this.#ready(call_id, format),
      audio: (frame) => this.#audio(frame),
      digit: (digit) => this.#digit(digit),
      mark: (name) => this.#works?.playout.marked(name),
      fault: () => this.#host.fault("MEDIA_REFUSED_FRAME"),
      closed: () => this.#closed(),
    });
  }

  perform(effect: SpeechEffect): void {
    if (this.#ended) return;
    switch (effect.type) {
      case "say": this.#works?.mouth.say(effect.text, { interruptible: effect.interruptible }); return;
      case "think": this.#thinker.think(effect); return;
      case "keys": this.#press(effect.digits); return;
      case "await_beep": this.#awaitBeep(); return;
      case "end": void this.#end(effect);
    }
  }

  said(): string { return this.#thinker.said(); }

  waits(): void { this.#fillerAt = this.#now() + WEB_FILLER_AFTER_MS; }

  async quiet(): Promise<void> {
    const until = this.#now() + MAX_QUIET_MS;
    while (!this.#gone.signal.aborted && this.#sounding() && this.#now() < until) await this.#o.clock.wait(FRAME_MS, this.#gone.signal);
  }

  cut(): void {
    this.#leg.close();
    this.#leg.close();
  }

  #now(): number { return this.#o.clock.monotonicMs(); }

  /** Something of ours is to be heard still, or is being thought of. */
  #sounding(): boolean { return this.#works !== null && (this.#works.playout.busy || this.#works.mouth.busy); }

  #ready(call_id: string | null, format: AudioFormat): void {
    if (this.#works) return;
    const { rate } = format;
    const codec = codecFor(format);
    const recorder = this.#o.recorder?.(rate) ?? null;
    const playout = pacedPlayout({ leg: this.#leg, clock: this.#o.clock, rate, encode: codec.encode, ...(recorder ? { played: (pcm: Int16Array, at: number) => recorder.played(pcm, at) } : {}) });
    const speaker = mouth({
      speech: this.#o.models.speech, playout, rate, failed: () => this.#mute(), asked: () => this.#turns.speechAsked(this.#now()), sounded: () => this.#turns.speechCame(this.#now()),
    });
    const ear = listeningEar({
      model: this.#o.models.transcription, vad: energyVad({ rate }), judge: this.#o.judge, rate, language: this.#host.manner.language, early: this.#o.preemptive, now: () => this.#now(),
      expectsShort: () => this.#host.gathersKeys(), events: this.#earEvents(),
    });
    const barge = bargeIn({ playout, now: () => this.#now(), cut: () => this.#interrupt(), ignores: (text) => isBackchannel(text, this.#host.manner.language) });
    this.#works = { rate, decode: codec.decode, playout, mouth: speaker, ear, barge, recorder, beeps: beepDetector(rate) };
    this.#lastFrame = this.#now();
    this.#leave = this.#o.metronome.join(() => this.#beat());
    this.#host.ready(call_id);
  }

  #earEvents(): Parameters<typeof listeningEar>[0]["events"] {
    return {
      words: (text) => this.#works?.barge.words(text),
      guess: (text) => { if (!this.#ended && this.#beep === null && this.#o.preemptive) this.#thinker.guess({ type: "heard", text }); },
      goesOn: () => this.#thinker.unguess(),
      turn: (text, timing) => this.#turn(text, timing),
      noise: () => { this.#thinker.unguess(); this.#works?.barge.nothing(); },
      deaf: (code) => { this.#host.fault(code); this.#works?.barge.nothing(); this.#host.tell({ type: "unheard", code }); },
    };
  }

  #audio(frame: Uint8Array): void {
    const works = this.#works;
    if (!works) return;
    const pcm = works.decode(frame);
    this.#lastFrame = this.#now();
    this.#hear(works, pcm);
  }

  #hear(works: Works, pcm: Int16Array): void {
    works.recorder?.heard(pcm, this.#now());
    if (this.#beep) {
      if (!this.#host.tells_beep && works.beeps.push(pcm)) { this.#beeped(); return; }
    }
    const hearing = works.ear.push(pcm);
    this.#watch(works, hearing);
  }

  #watch(works: Works, hearing: Hearing): void {
    if (hearing.speaking !== this.#speaking) {
      this.#speaking = hearing.speaking;
      this.#beep?.speaks(hearing.speaking);
    }
    if (!this.#ended && this.#beep === null) works.barge.hearing(hearing, works.mouth.busy);
  }

  #beat(): void {
    const works = this.#works;
    if (!works) return;
    const now = this.#now();
    if (now - this.#lastFrame > DTX_MS) {
      this.#lastFrame += FRAME_MS;
      this.#hear(works, new Int16Array((works.rate * FRAME_MS) / MS_PER_SECOND));
    }
    works.barge.tick();
    works.playout.beat();
    if (works.playout.soundingSince !== null) { this.#fillerAt = null; this.#turns.sounded(works.playout.soundingSince, this.#thinker.first_token_ms, this.#host); }
    if (this.#fillerAt !== null && now >= this.#fillerAt) this.#fill(works);
    this.#watchIdle(works, now);
  }

  #fill({ mouth: speaker }: Works): void {
    this.#fillerAt = null;
    const text = this.#o.fillers[this.#fillers++ % Math.max(1, this.#o.fillers.length)];
    if (text !== undefined && !this.#ended && this.#beep === null) speaker.say(text, { interruptible: true, aside: true });
  }

  /** The caller's silence counts from the end of our speech. */
  #watchIdle({ ear }: Works, now: number): void {
    if (this.#ended || this.#sounding() || this.#speaking || ear.attentive || this.#thinker.busy || !this.#host.listening()) { this.#quietSince = now; return; }
    if (now - this.#quietSince < this.#host.idle_ms) return;
    this.#quietSince = now;
    this.#works?.playout.settle();
    this.#host.tell({ type: "idle" });
  }

  #turn(text: string, timing: { eou_ms: number; stt_ms: number }): void {
    const works = this.#works;
    if (!works || this.#ended) return;
    if (this.#beep) return;
    if (works.barge.turn(text)) { this.#thinker.unguess(); return; }
    this.#turns.ended(this.#now() - timing.eou_ms, timing);
    this.#keypad.flush();
    this.#heard({ type: "heard", text });
  }

  /** The caller has said or keyed something; what they talked over is cut before. */
  #heard(event: { type: "heard"; text: string } | { type: "dtmf"; digits: string }): void {
    if (this.#ended) return;
    if (this.#sounding() && this.#works?.playout.interruptible) this.#interrupt();
    this.#works?.playout.settle();
    this.#fillerAt = this.#now() + FILLER_AFTER_MS;
    this.#host.tell(event);
    if (!this.#thinker.busy) this.#fillerAt = null;
  }

  #digit(digit: string): void {
    if (this.#ended || !this.#works) return;
    if (this.#sounding() && this.#works.playout.interruptible) this.#interrupt();
    this.#quietSince = this.#now();
    this.#keypad.press(digit, this.#host.gathersKeys());
  }

  /** The caller talks over us and means it: silence, and the talk is told what they heard. */
  #interrupt(): void {
    const works = this.#works;
    if (!works) return;
    const spoken = works.playout.flush();
    works.mouth.drop();
    this.#thinker.interrupt(() => this.#host.tell({ type: "interrupted", spoken }));
  }

  #press(digits: string): void {
    if (this.#leg.keys) this.#leg.keys(digits);
    else if (this.#o.keys === "command") this.#host.press(digits);
    else if (this.#works) this.#works.mouth.sound(dtmfTones(digits, this.#works.rate));
  }

  #awaitBeep(): void {
    this.#thinker.unguess();
    this.#thinker.drop();
    this.#keypad.stop();
    this.#works?.playout.flush();
    this.#works?.mouth.drop();
    this.#beep = beepWait(this.#o.clock, this.#host.tells_beep, () => this.#host.tell({ type: "beep" }));
    this.#beep.speaks(this.#speaking);
  }

  #beeped(): void {
    this.#beep?.stop();
    this.#host.tell({ type: "beep" });
  }

  /** Nothing can be said any more. */
  #mute(): void {
    this.#host.fault("SPEECH_FAILED");
    this.#host.tell({ type: "stopped", reason: "speech_failed" });
  }

  async #end(effect: Extract<SpeechEffect, { type: "end" }>): Promise<void> {
    this.#ended = true;
    this.#thinker.unguess();
    this.#thinker.drop();
    this.#keypad.stop();
    this.#beep?.stop();
    this.#works?.ear.forget();
    this.#works?.playout.resume();
    if (effect.goodbye !== null) this.#works?.mouth.say(effect.goodbye, { interruptible: false });
    if (!effect.at_once) await this.quiet();
    this.#leg.close();
    await this.#o.clock.wait(CLOSE_MS, this.#gone.signal);
    if (!this.#gone.signal.aborted) this.#leg.close();
  }

  #closed(): void {
    this.#leave();
    this.#thinker.unguess();
    this.#keypad.stop();
    this.#beep?.stop();
    this.#works?.ear.close();
    // what nobody heard was not said
    if (this.#sounding()) this.#interrupt();
    this.#thinker.drop();
    this.#host.tell({ type: "stopped", reason: "hung_up" });
    void this.#letGo();
  }

  async #letGo(): Promise<void> {
    const kept = new AbortController();
    await Promise.race([this.#works?.recorder?.end(), this.#o.clock.wait(this.#works?.recorder ? RECORDING_MS : 0, kept.signal)]);
    kept.abort();
    this.#gone.abort();
  }
}

/** The engine of our own voice: recognition, language model and synthesis, overlapped (voice.md 0, 2b). */
export const cascadeEngine = (o: CascadeParts): VoiceEngine<MediaLeg> => ({
  open(leg, host) {
    const voice = new CascadeVoice(leg, host, o);
    voice.start();
    return voice;
  },
});
