import type { Clock } from "../../../shared/time/clock.ts";
import type { Speech, VoiceListener } from "../exchange/agent-voice.ts";
import { createAgentListener, AUDIBLE_PEAK, type AgentListener } from "./agent-listener.ts";
import { decodeSound, peakOf, type SoundFormat } from "./audio-format.ts";
import { createPersonAudio, type Utterance } from "./person-audio.ts";
import { createPlayout, type Playout, type PlayoutFacts } from "./playout.ts";
import { keepTicking } from "./frame-clock.ts";

/** The carrier's stream, as the line needs it. */
export interface AudioPort {
  readonly toAgent: SoundFormat;
  readonly fromAgent: SoundFormat;
  /** The person's next frame, base64. */
  frame(payload: string): void;
  digit(digit: string): void;
  /** All before these marks has been played. */
  reached(marks: readonly string[]): void;
}

/** What the stream does with the line. */
export interface AudioStream {
  /** Sound of the agent; false when too much is waiting, and it is thrown away. */
  push(bytes: Uint8Array): boolean;
  mark(name: string): void;
  /** Throws away what waits. `barge_ms`: since the person began to speak, null when they have not lately. */
  clear(): { marks: string[]; lost_ms: number; barge_ms: number | null };
  facts(): AudioFacts;
  /** The stream is over. */
  leave(): void;
}

/** What a bench wants to know of a stream. */
export interface AudioFacts extends PlayoutFacts {
  frames_to_agent: number;
  voiced_ms: number;
}

/** From the end of the person's words to the agent's answer; `ms` to its first frame, `sound_ms` to the first that can be heard. */
export interface TurnFacts {
  end_of_speech_at: string;
  first_agent_frame_at: string;
  ms: number;
  sound_ms: number;
}

/** Receives what happens on a leg with audio. */
export interface AudioListener {
  voice: VoiceListener;
  turn(facts: TurnFacts): void;
  /** Every frame of either side that is no silence. `follows`: that side sounded in the frame before too. */
  frame(who: "agent" | "person", pcm: Int16Array, rate: number, follows: boolean): void;
}

/** The sound of one call, both ways, in real time. */
export interface AudioLeg {
  attach(port: AudioPort): AudioStream;
  attached(): boolean;
  /** The person makes a sound; resolves with whether it came to its end. */
  utter(what: Utterance, share?: number): Promise<boolean>;
  digit(digit: string): void;
  current(): Speech | null;
  spoken(): string;
}

/** Who began to speak longer ago was not the reason for a clear, ms. */
const BARGE_WITHIN_MS = 3_000;
/** An agent whose last frame came this shortly before the person's end is talking over them: no turn is measured, ms. */
const AGENT_SPEAKING_MS = 100;
/** Before the first stream is there the person holds their tongue, but not longer than this, ms. */
const STREAM_COMES_WITHIN_MS = 1_000;
const TELEPHONE: SoundFormat = { codec: "pcmu", rate: 8_000 };

const tenths = (ms: number): number => Math.round(ms * 10) / 10;

interface Attached {
  port: AudioPort;
  playout: Playout;
  listener: AgentListener;
  framesToAgent: number;
  lastCame: number;
}
interface Turn {
  endedAt: number;
  endedDate: Date;
  first: { at: number; date: Date } | null;
}

/** Opens the sound of a call; the signal is the call's end. */
export const openAudioLeg = (listener: AudioListener, over: AbortSignal, clock: Clock): AudioLeg =>
  new CallAudio(listener, over, clock);

class CallAudio implements AudioLeg {
  readonly #listener: AudioListener;
  readonly #clock: Clock;
  readonly #person = createPersonAudio();
  #attached: Attached | null = null;
  #turn: Turn | null = null;
  /** Who sounded in the last frame. */
  readonly #sounded = { agent: false, person: false };
  /** Until then the person waits for the stream to come. */
  #waitsUntil: number;

  constructor(listener: AudioListener, over: AbortSignal, clock: Clock) {
    this.#listener = listener;
    this.#clock = clock;
    this.#waitsUntil = clock.monotonicMs() + STREAM_COMES_WITHIN_MS;
    const stop = keepTicking(this, clock);
    const end = (): void => {
      stop();
      this.#leave(this.#attached);
      this.#person.stop();
    };
    if (over.aborted) end();
    else over.addEventListener("abort", end, { once: true });
  }

  attached(): boolean {
    return this.#attached !== null;
  }

  attach(port: AudioPort): AudioStream {
    this.#leave(this.#attached);
    this.#waitsUntil = 0;
    const one: Attached = {
      port,
      playout: createPlayout(port.fromAgent),
      listener: createAgentListener(port.fromAgent, this.#listener.voice),
      framesToAgent: 0,
      lastCame: Number.NEGATIVE_INFINITY,
    };
    this.#attached = one;
    return {
      push: (bytes) => this.#push(one, bytes),
      mark: (name) => one.playout.mark(name),
      clear: () => this.#clear(one),
      facts: () => ({
        ...one.playout.facts(),
        frames_to_agent: one.framesToAgent,
        voiced_ms: one.listener.voiced_ms(),
      }),
      leave: () => this.#leave(one),
    };
  }

  async utter(what: Utterance, share?: number): Promise<boolean> {
    const whole = await this.#person.utter(what, share);
    if (whole && "words" in what) this.#personEnds();
    return whole;
  }

  digit(digit: string): void {
    this.#attached?.port.digit(digit);
  }
  current(): Speech | null {
    return this.#attached?.listener.current() ?? null;
  }
  spoken(): string {
    return this.#attached?.listener.spoken() ?? "";
  }

  /** One frame each way. */
  tick(): void {
    const now = this.#clock.monotonicMs();
    const one = this.#attached;
    if (!one && now < this.#waitsUntil) return;
    const out = this.#person.next(one?.port.toAgent ?? TELEPHONE, now);
    if (!one) return;
    one.framesToAgent += 1;
    one.port.frame(out.payload);
    this.#sounds("person", out.sounding ? out.pcm : null, one.port.toAgent.rate);
    const { frame, reached } = one.playout.next(now);
    const pcm = frame ? decodeSound(one.port.fromAgent, frame) : null;
    this.#sounds("agent", pcm, one.port.fromAgent.rate);
    one.listener.push(pcm, now);
    if (reached.length > 0) one.port.reached(reached);
  }

  #sounds(who: "agent" | "person", pcm: Int16Array | null, rate: number): void {
    if (pcm) this.#listener.frame(who, pcm, rate, this.#sounded[who]);
    this.#sounded[who] = pcm !== null;
  }

  #push(one: Attached, bytes: Uint8Array): boolean {
    const now = this.#clock.monotonicMs();
    one.lastCame = now;
    if (this.#turn) this.#answered(this.#turn, one, bytes, now);
    return one.playout.push(bytes, now);
  }

  #clear({ playout, listener }: Attached): { marks: string[]; lost_ms: number; barge_ms: number | null } {
    const now = this.#clock.monotonicMs();
    const onset = this.#person.onset();
    const { marks, lost_ms } = playout.clear();
    if (lost_ms > 0) listener.cut(now);
    return { marks, lost_ms, barge_ms: onset !== null && now - onset < BARGE_WITHIN_MS ? tenths(now - onset) : null };
  }

  #personEnds(): void {
    const now = this.#clock.monotonicMs();
    const one = this.#attached;
    const agentSpeaking = !one || one.playout.waiting_ms() > 0 || now - one.lastCame < AGENT_SPEAKING_MS;
    this.#turn = agentSpeaking ? null : { endedAt: now, endedDate: this.#clock.now(), first: null };
  }

  #answered(turn: Turn, { port }: Attached, bytes: Uint8Array, now: number): void {
    turn.first ??= { at: now, date: this.#clock.now() };
    if (peakOf(decodeSound(port.fromAgent, bytes)) < AUDIBLE_PEAK) return;
    this.#turn = null;
    this.#listener.turn({
      end_of_speech_at: turn.endedDate.toISOString(),
      first_agent_frame_at: turn.first.date.toISOString(),
      ms: tenths(turn.first.at - turn.endedAt),
      sound_ms: tenths(now - turn.endedAt),
    });
  }

  #leave(one: Attached | null): void {
    if (one === null || one !== this.#attached) return;
    this.#attached = null;
    this.#turn = null;
    one.listener.close();
  }
}
