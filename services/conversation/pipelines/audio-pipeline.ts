import { once } from "node:events";
import type { MediaEnd } from "../../../shared/hangup-source.ts";
import { within } from "../../../shared/time/deadline.ts";
import { LastJudgement } from "./last-turn.ts";
import type { FrameClock } from "../transport/frame-clock.ts";
import { FRAME_MS, type AudioFormat, type MediaLeg } from "../transport/port.ts";
import {
  MAX_LAST_WORDS_MS,
  MAX_PLAYOUT_WAIT_MS,
  type PipelineFactory,
  type PipelineHost,
  type SpeechEffect,
  type VoicePipeline,
} from "./port.ts";
import { TurnTaking } from "./turn-taking.ts";
import type { TurnTakingOptions } from "./voice-parts.ts";

/** The carrier gets this long to close the leg after we closed it. */
const CLOSE_MS = 2000;
/** The settlement waits this long for the recording to be kept. */
const RECORDING_MS = 2000;

/** What pipelines for audio legs are made with. */
export interface AudioPipelineOptions extends TurnTakingOptions {
  frameClock: FrameClock;
}

/** The life of a conversation's audio leg: its start, its end, and what is waited for at both. */
class AudioPipeline implements VoicePipeline {
  readonly closed: Promise<unknown>;
  readonly #o: AudioPipelineOptions;
  readonly #leg: MediaLeg;
  readonly #host: PipelineHost;
  readonly #openedMs: number;
  readonly #gone = new AbortController();
  /** Null until the leg's format is known. */
  #turns: TurnTaking | null = null;
  #unsubscribe: () => void = () => undefined;
  #ended = false;
  #closesLeg = false;
  #lastTurn: Promise<string> | null = null;
  readonly #judgement: LastJudgement;

  constructor(leg: MediaLeg, host: PipelineHost, o: AudioPipelineOptions) {
    this.#judgement = new LastJudgement(o.clock, host);
    this.#leg = leg;
    this.#host = host;
    this.#o = o;
    this.#openedMs = o.clock.monotonicMs();
    this.closed = once(this.#gone.signal, "abort");
    leg.listen({
      ready: (call_id, format) => this.#ready(call_id, format),
      audio: (frame) => this.#turns?.audio(frame),
      digit: (digit) => this.#turns?.digit(digit),
      typed: (text) => this.#turns?.typed(text),
      mark: (name) => this.#turns?.markReturned(name),
      fault: () => this.#host.recordError("MEDIA_REFUSED_FRAME"),
      refused: (detail) => this.#refused(detail),
      closed: (how) => this.#closed(how),
    });
  }

  perform(effect: SpeechEffect): void {
    if (this.#ended) return;
    if (effect.type === "think" && effect.unheard) this.#judgement.begin();
    if (effect.type === "end") void this.#end(effect);
    else this.#turns?.perform(effect);
  }

  spokenText(): string {
    return this.#turns?.spokenText() ?? "";
  }

  externalWaitStarted(): void {
    this.#turns?.externalWaitStarted();
  }

  interrupt(): void {
    if (!this.#ended) this.#turns?.cut();
  }

  sound(): "silent" | "waiting" | "audible" {
    if (this.#turns?.audible() === true) return "audible";
    return this.#turns?.sounding === true ? "waiting" : "silent";
  }

  playedOut(): Promise<void> {
    return this.#playedOut(MAX_PLAYOUT_WAIT_MS);
  }

  lineEnded(): void {
    void this.#depart("carrier_ended");
  }

  closeLeg(): void {
    this.#turns?.cut();
    this.#closes();
    this.#leg.close();
    this.#leg.close(); // a close that the other side does not answer is a cut the second time
  }

  /** We can't go on with this stream. */
  #refused(detail: string): void {
    this.#host.recordError(detail);
    this.#host.dispatch({ type: "stopped", reason: "media_failed", detail });
  }

  #ready(call_id: string | null, format: AudioFormat): void {
    if (this.#turns) return;
    const turns = new TurnTaking(this.#o, this.#leg, this.#host, format, this.#openedMs);
    this.#turns = turns;
    this.#unsubscribe = this.#o.frameClock.subscribe(() => turns.tick());
    this.#host.ready(call_id);
  }

  async #end({ goodbye, at_once }: Extract<SpeechEffect, { type: "end" }>): Promise<void> {
    this.#ended = true;
    this.#judgement.end();
    this.#turns?.end(goodbye);
    if (!at_once) await this.#playedOut(MAX_LAST_WORDS_MS);
    this.#turns?.cut();
    this.#closes();
    this.#leg.close();
    await this.#o.clock.wait(CLOSE_MS, this.#gone.signal);
    if (!this.#gone.signal.aborted) this.#leg.close();
  }

  async #playedOut(most_ms: number): Promise<void> {
    const { clock } = this.#o;
    const untilMs = clock.monotonicMs() + most_ms;
    while (!this.#gone.signal.aborted && this.#turns?.sounding && clock.monotonicMs() < untilMs)
      await clock.wait(FRAME_MS, this.#gone.signal);
  }

  /** The end of the leg is ours from here on; what was cut of our speech is told. */
  #closes(): void {
    if (this.#closesLeg) return;
    this.#closesLeg = true;
    this.#host.dispatch({ type: "played_out" });
  }

  #closed(how: MediaEnd = "closed"): void {
    this.#closesLeg = true;
    this.#unsubscribe();
    void this.#release(how === "broken" ? "line_lost" : "hung_up");
  }

  async #release(reason: "line_lost" | "hung_up"): Promise<void> {
    const recorded = this.#keepRecording();
    await this.#depart(reason);
    await this.#judgement.over();
    this.#turns?.close();
    await recorded;
    this.#gone.abort();
  }

  /** They are gone: what they said last is recognised first, then the conversation is told of both. */
  async #depart(reason: "carrier_ended" | "line_lost" | "hung_up"): Promise<void> {
    this.#lastTurn ??= this.#turns?.lastTurn(this.#o.clock) ?? null;
    const words = this.#lastTurn === null ? "" : await this.#lastTurn;
    this.#host.dispatch({ type: "stopped", reason, ...(words === "" ? {} : { words }) });
  }

  async #keepRecording(): Promise<void> {
    const recorder = this.#turns?.recorder;
    if (recorder) await within(this.#o.clock, RECORDING_MS, recorder.end());
  }
}

/** Pipelines for legs that carry audio; the processor listens, generates and speaks. */
export const audioPipeline =
  (o: AudioPipelineOptions): PipelineFactory<MediaLeg> =>
  (leg, host) =>
    new AudioPipeline(leg, host, o);
