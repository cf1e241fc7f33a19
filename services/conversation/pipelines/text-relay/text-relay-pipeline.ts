import { once } from "node:events";
import type { MediaEnd } from "../../../../shared/hangup-source.ts";
import { MS_PER_SECOND, type Clock } from "../../../../shared/time/clock.ts";
import { speechMs } from "../../audio/speech-duration.ts";
import type { ChatModel } from "../../providers/port.ts";
import { LastJudgement } from "../last-turn.ts";
import { startTimer } from "../../../../shared/time/timer.ts";
import type { TextLeg } from "../../transport/port.ts";
import { beepWait, MAX_BEEP_SECONDS, type BeepWait } from "../beep-wait.ts";
import { dtmfCollector, type DtmfCollector } from "../dtmf-collector.ts";
import { LlmRunner } from "../llm-runner.ts";
import {
  MAX_LAST_WORDS_MS,
  MAX_PLAYOUT_WAIT_MS,
  type PipelineFactory,
  type PipelineHost,
  type SpeechEffect,
  type VoicePipeline,
} from "../port.ts";
import { COMPLAINT, RelaySpeech } from "./relay-speech.ts";

/** The carrier gets this long to close the leg after we ended it; it may speak the last words first. */
const CLOSE_MS = 5000;
/** The same where nothing that is still to be heard matters: voicemail, a lost lease, a shutdown without time for a goodbye. */
const CLOSE_AT_ONCE_MS = 500;
/** A caller who began to speak gets this long to finish before silence counts. */
const MAX_UTTERANCE_MS = 30_000;
/** How often the end of our speech is checked while it is waited for. */
const PLAYOUT_CHECK_MS = 250;
/** A carrier that leaves a message by itself gets this much longer than wait and message take. */
const MESSAGE_MARGIN_MS = 15_000;

/** One conversation over a text leg. */
class TextRelayPipeline implements VoicePipeline {
  readonly closed: Promise<unknown>;
  readonly #leg: TextLeg;
  readonly #host: PipelineHost;
  readonly #clock: Clock;
  readonly #speech: RelaySpeech;
  readonly #dtmf: DtmfCollector;
  readonly #llm: LlmRunner;
  readonly #gone = new AbortController();
  #stopIdle: () => void = () => undefined;
  #beepWait: BeepWait | null = null;
  #ended = false;
  /** Words of theirs that the carrier has not called final. */
  #unfinished = "";
  #closedByNow = false;
  #departed = false;
  readonly #judgement: LastJudgement;

  constructor(leg: TextLeg, host: PipelineHost, model: ChatModel, clock: Clock) {
    this.#leg = leg;
    this.#host = host;
    this.#clock = clock;
    this.#judgement = new LastJudgement(clock, host);
    this.#speech = new RelaySpeech(leg, host, clock);
    this.#dtmf = dtmfCollector(clock, (digits) => this.#then(() => host.dispatch({ type: "dtmf", digits })));
    this.#llm = new LlmRunner({
      model,
      host,
      now: () => clock.monotonicMs(),
      openSink: ({ interruptible }) => this.#speech.utterance(interruptible),
      dispatch: (event) => this.#then(() => host.dispatch(event)),
    });
    this.closed = once(this.#gone.signal, "abort");
    leg.listen({
      ready: (call_id) => this.#then(() => this.#host.ready(call_id)),
      prompt: (text, final) => this.#prompted(text, final),
      digit: (digit) => {
        this.#speech.alive();
        this.#then(() => this.#dtmf.push(digit, this.#host.dtmfCollection()));
      },
      interrupt: (spoken) => this.#interrupted(spoken),
      speaking: (now) => this.#then(() => this.#speech.audible(now)),
      customer: (speaking) => {
        this.#speech.alive();
        this.#beepWait?.speechChanged(speaking);
        this.#watchIdle(speaking ? MAX_UTTERANCE_MS : 0);
      },
      silence: () =>
        this.#then(() => {
          if (this.#host.listening()) this.#host.dispatch({ type: "idle" });
        }),
      fault: () => this.#speech.complains(),
      closed: (how) => this.#closed(how),
    });
  }

  perform(effect: SpeechEffect): void {
    if (this.#ended) return;
    if (effect.type === "think" && effect.unheard) this.#judgement.begin();
    if (effect.type === "say") this.#speech.say(effect.text, effect.interruptible);
    else if (effect.type === "think") this.#llm.generate(effect);
    else if (effect.type === "keys") this.#sendDtmf(effect.digits);
    else if (effect.type === "await_beep") this.#awaitBeep(effect.message);
    else void this.#end(effect);
    this.#watchIdle();
  }

  spokenText(): string {
    return this.#llm.spokenText();
  }

  playedOut(): Promise<void> {
    return this.#playedOut(MAX_PLAYOUT_WAIT_MS);
  }

  lineEnded(): void {
    this.#depart("carrier_ended");
  }

  async #playedOut(most_ms: number): Promise<void> {
    this.#leg.flush?.();
    const untilMs = this.#clock.monotonicMs() + most_ms;
    while (!this.#gone.signal.aborted) {
      const leftMs = Math.min(this.#speech.restMs, untilMs - this.#clock.monotonicMs());
      if (leftMs <= 0) return;
      await this.#clock.wait(Math.min(leftMs, PLAYOUT_CHECK_MS), this.#gone.signal);
    }
  }

  closeLeg(): void {
    this.#leg.close();
    this.#leg.close(); // a close that the other side does not answer is a cut the second time
  }

  /** Does something after which the caller's silence is measured anew. */
  #then(act: () => void): void {
    act();
    this.#watchIdle();
  }

  #sendDtmf(digits: string): void {
    if (this.#leg.sendDtmf) this.#leg.sendDtmf(digits);
    else this.#host.sendDtmf(digits);
  }

  /** Silence from here on, until the beep, or what counts as one; a leg that leaves messages by itself only reports when it has begun to. */
  #awaitBeep(message: string): void {
    this.#llm.cancel();
    this.#dtmf.stop();
    const beep = (): void => this.#then(() => this.#host.dispatch({ type: "beep" }));
    if (!this.#leg.leaveMessage) {
      this.#beepWait = beepWait(this.#clock, this.#host.signals_beep, beep);
      return;
    }
    this.#leg.leaveMessage(message, MAX_BEEP_SECONDS, () => {
      const limit_ms = MAX_BEEP_SECONDS * MS_PER_SECOND + speechMs(message) + MESSAGE_MARGIN_MS;
      this.#beepWait = { speechChanged: () => undefined, stop: startTimer(this.#clock, limit_ms, beep) };
      this.#host.dispatch({ type: "message_handed" });
    });
  }

  #prompted(text: string, final: boolean): void {
    this.#beepWait?.speechChanged(!final);
    this.#speech.alive();
    this.#unfinished = final ? "" : text;
    this.#then(() => {
      if (!final) return;
      this.#speech.heardAll();
      this.#dtmf.flush();
      this.#host.dispatch({ type: "heard", text });
    });
  }

  #interrupted(spoken: string): void {
    this.#speech.cutByCarrier(
      (then) => this.#llm.interrupt(then),
      () => this.#then(() => this.#host.dispatch({ type: "interrupted", spoken })),
    );
  }

  #closed(how: MediaEnd = "closed"): void {
    const { isFaulty } = this.#speech;
    this.#speech.cutOff();
    this.#closedByNow = true;
    this.#stopIdle();
    if (isFaulty) this.#host.dispatch({ type: "stopped", reason: "media_failed", detail: COMPLAINT });
    if (this.#leg.giveFloor && this.#ended) this.#host.dispatch({ type: "played_out" });
    this.#depart(how === "broken" ? "line_lost" : "hung_up");
    void this.#judgement.over().then(() => this.#gone.abort());
  }

  /** They are gone, with what they said last. */
  #depart(reason: "carrier_ended" | "line_lost" | "hung_up"): void {
    const words = this.#unfinished;
    this.#unfinished = "";
    if (!this.#departed) {
      this.#departed = true;
      this.#speech.cutOff();
      this.#llm.cancel();
      if (!this.#ended) this.#dtmf.flush();
      this.#dtmf.stop();
      this.#beepWait?.stop();
    }
    this.#host.dispatch({ type: "stopped", reason, ...(words === "" ? {} : { words }) });
  }

  async #end({ goodbye, at_once, transferred }: Extract<SpeechEffect, { type: "end" }>): Promise<void> {
    this.#ended = true;
    this.#judgement.end();
    this.#llm.cancel();
    this.#dtmf.stop();
    this.#beepWait?.stop();
    if (goodbye !== null) this.#speech.say(goodbye, false);
    // an XML-driven leg speaks its last words and ends by one document
    if (this.#leg.giveFloor && !transferred) this.#leg.end();
    if (!at_once) await this.#playedOut(MAX_LAST_WORDS_MS);
    if (!at_once && !this.#gone.signal.aborted) this.#host.dispatch(this.#speech.lastWords());
    if (transferred) this.#leg.close();
    else this.#leg.end();
    await this.#clock.wait(at_once ? CLOSE_AT_ONCE_MS : CLOSE_MS, this.#gone.signal);
    if (!this.#gone.signal.aborted) this.#leg.close();
  }

  /** Measures the caller's silence anew, from the end of our speech; a leg that is given the floor measures it by itself. */
  #watchIdle(speaking_ms = 0): void {
    this.#stopIdle();
    if (this.#ended || this.#llm.busy || this.#closedByNow || !this.#host.listening()) return;
    const { idle_ms } = this.#host;
    if (this.#leg.giveFloor) this.#leg.giveFloor({ idle_ms, keys_only: this.#host.dtmfCollection() !== null });
    else
      this.#stopIdle = startTimer(this.#clock, Math.max(this.#speech.leftMs, speaking_ms) + idle_ms, () =>
        this.#then(() => this.#host.dispatch({ type: "idle" })),
      );
  }
}

/** Pipelines for carriers that do recognition and synthesis themselves (ConversationRelay): the model's tokens are streamed as they come. */
export const textRelayPipeline =
  (model: ChatModel, clock: Clock): PipelineFactory<TextLeg> =>
  (leg, host) =>
    new TextRelayPipeline(leg, host, model, clock);
