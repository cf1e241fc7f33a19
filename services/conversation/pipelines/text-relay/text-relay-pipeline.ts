import type { Clock } from "../../../../shared/clock.ts";
import type { TextLeg } from "../../transport/port.ts";
import { ModelError, type ChatModel } from "../../providers/port.ts";
import { startTimer } from "../../timer.ts";
import type { SpeechEffect, PipelineHost, VoicePipeline, PipelineFactory } from "../port.ts";
import { speechMs } from "../../audio/speech-duration.ts";
import { beepWait, MAX_BEEP_SECONDS, type BeepWait } from "../beep-wait.ts";
import { dtmfCollector } from "../dtmf-collector.ts";
import { plainText } from "../plain-text.ts";
import { playbackEstimate } from "./playback-estimate.ts";

/** Longest wait for our own speech to end before the call goes on without it. */
export const MAX_PLAYOUT_WAIT_MS = 20_000;
/** The carrier gets this long to close the leg after we ended it; it may say the last words first. */
const CLOSE_MS = 5000;
/** The same where nothing that is still to be heard matters: a machine, a lost lease, a shutdown without time for a goodbye. */
const CLOSE_AT_ONCE_MS = 500;
/** A customer who began to speak is given this long to come to an end before silence is counted. */
const MAX_UTTERANCE_MS = 30_000;
/** How often the end of our speech is looked at while waiting for it. */
const QUIET_STEP_MS = 250;
/** A carrier that leaves a message by itself gets this much longer than wait and message take. */
const LEAVING_MARGIN_MS = 15_000;
const MS_PER_SECOND = 1000;

type Think = Extract<SpeechEffect, { type: "think" }>;
type End = Extract<SpeechEffect, { type: "end" }>;
interface Thought {
  readonly turn: number;
  readonly interruptible: boolean;
  readonly abort: AbortController;
  said: string;
}

/** One talk over a text leg. */
class TextRelayPipeline implements VoicePipeline {
  readonly closed: Promise<void>;
  readonly #leg: TextLeg;
  readonly #host: PipelineHost;
  readonly #model: ChatModel;
  readonly #clock: Clock;
  readonly #playout;
  readonly #keypad;
  readonly #gone = new AbortController();
  #thought: Thought | null = null;
  #stopIdle: () => void = () => undefined;
  #beep: BeepWait | null = null;
  #ended = false;

  constructor(leg: TextLeg, host: PipelineHost, model: ChatModel, clock: Clock) {
    this.#leg = leg;
    this.#host = host;
    this.#model = model;
    this.#clock = clock;
    this.#playout = playbackEstimate(clock);
    this.#keypad = dtmfCollector(clock, (digits) => this.#happened(() => host.dispatch({ type: "dtmf", digits })));
    this.closed = new Promise((resolve) =>
      this.#gone.signal.addEventListener("abort", () => resolve(), { once: true }),
    );
  }

  /** Begins to listen; what came before is delivered at once. */
  start(): void {
    this.#leg.listen({
      ready: (call_id) => this.#happened(() => this.#host.ready(call_id)),
      prompt: (text, final) => this.#prompted(text, final),
      digit: (digit) => this.#happened(() => this.#keypad.push(digit, this.#host.dtmfCollection())),
      interrupt: (spoken) => this.#interrupted(spoken),
      speaking: (now) => {
        this.#playout.audible(now);
        this.#watchIdle();
      },
      customer: (speaking) => {
        this.#beep?.speechChanged(speaking);
        this.#watchIdle(speaking ? MAX_UTTERANCE_MS : 0);
      },
      silence: () =>
        this.#happened(() => {
          if (this.#host.listening()) this.#host.dispatch({ type: "idle" });
        }),
      fault: () => this.#host.recordError("RELAY_REFUSED_FRAME"),
      closed: () => this.#closed(),
    });
  }

  perform(effect: SpeechEffect): void {
    if (this.#ended) return;
    if (effect.type === "say") this.#speak(effect.text, effect.interruptible);
    else if (effect.type === "think") void this.#think(effect);
    else if (effect.type === "keys") this.#press(effect.digits);
    else if (effect.type === "await_beep") this.#awaitBeep(effect.message);
    else void this.#end(effect);
    this.#watchIdle();
  }

  spokenText(): string {
    return this.#thought?.said ?? "";
  }

  async playedOut(): Promise<void> {
    this.#leg.flush?.();
    const until = this.#clock.monotonicMs() + MAX_PLAYOUT_WAIT_MS;
    while (!this.#gone.signal.aborted) {
      const left = Math.min(this.#playout.leftMs(), until - this.#clock.monotonicMs());
      if (left <= 0) return;
      await this.#clock.wait(Math.min(left, QUIET_STEP_MS), this.#gone.signal);
    }
  }

  closeLeg(): void {
    this.#leg.close();
    this.#leg.close(); // a close that the other side does not answer is a cut the second time
  }

  #happened(what: () => void): void {
    what();
    this.#watchIdle();
  }

  #speak(text: string, interruptible: boolean): void {
    this.#leg.say(text, { last: true, interruptible });
    this.#playout.sent(text);
  }

  #press(digits: string): void {
    if (this.#leg.sendDtmf) this.#leg.sendDtmf(digits);
    else this.#host.sendDtmf(digits);
  }

  /** Silence from here on, until the beep, or what counts as one; a leg that leaves messages by itself only tells when it has been told to. */
  #awaitBeep(message: string): void {
    this.#dropThought();
    this.#keypad.stop();
    const beep = (): void => this.#happened(() => this.#host.dispatch({ type: "beep" }));
    if (!this.#leg.leaveMessage) {
      this.#beep = beepWait(this.#clock, this.#host.signals_beep, beep);
      return;
    }
    this.#leg.leaveMessage(message, MAX_BEEP_SECONDS, () => {
      const stop = startTimer(
        this.#clock,
        MAX_BEEP_SECONDS * MS_PER_SECOND + speechMs(message) + LEAVING_MARGIN_MS,
        beep,
      );
      this.#beep = { speechChanged: () => undefined, stop };
      this.#host.dispatch({ type: "message_handed" });
    });
  }

  #prompted(text: string, final: boolean): void {
    this.#beep?.speechChanged(!final);
    this.#happened(() => {
      if (!final) return;
      this.#keypad.flush();
      this.#host.dispatch({ type: "heard", text });
    });
  }

  #interrupted(spoken: string): void {
    this.#playout.stop();
    // the thought's request is let go before the brain hears of it, what it has said is still told
    this.#thought?.abort.abort();
    this.#happened(() => this.#host.dispatch({ type: "interrupted", spoken }));
    if (this.#thought?.abort.signal.aborted) this.#thought = null;
  }

  #closed(): void {
    this.#dropThought();
    this.#keypad.stop();
    this.#beep?.stop();
    this.#stopIdle();
    this.#gone.abort();
    this.#host.dispatch({ type: "stopped", reason: "hung_up" });
  }

  /** Lets go of the running thought; an utterance that has begun is closed, so that the next one is not appended to it. */
  #dropThought(): void {
    const thought = this.#thought;
    this.#thought = null;
    if (!thought || thought.abort.signal.aborted) return;
    thought.abort.abort();
    if (thought.said !== "") this.#leg.say("", { last: true, interruptible: thought.interruptible });
  }

  async #think(effect: Think): Promise<void> {
    this.#dropThought();
    const { turn, interruptible } = effect;
    const thought: Thought = { turn, interruptible, abort: new AbortController(), said: "" };
    this.#thought = thought;
    const isCurrent = (): boolean => this.#thought === thought && !thought.abort.signal.aborted;
    try {
      const answer = await this.#model.answer(effect, {
        signal: thought.abort.signal,
        onText: (piece) => {
          const token = plainText(piece);
          if (!isCurrent() || token === "") return;
          thought.said += token;
          this.#leg.say(token, { last: false, interruptible });
          this.#playout.sent(token);
        },
      });
      if (!isCurrent()) return;
      this.#host.recordAnswer(answer);
      this.#closeUtterance(thought);
      this.#happened(() =>
        this.#host.dispatch({ type: "model_answered", turn, text: thought.said, calls: answer.calls }),
      );
    } catch (error) {
      if (!isCurrent()) return;
      const { said } = thought;
      this.#closeUtterance(thought);
      this.#happened(() =>
        this.#host.dispatch({
          type: "model_failed",
          turn,
          code: error instanceof ModelError ? error.code : "MODEL_ERROR",
          said,
        }),
      );
    }
  }

  #closeUtterance(thought: Thought): void {
    this.#thought = null;
    if (thought.said !== "") this.#leg.say("", { last: true, interruptible: thought.interruptible });
  }

  async #end(effect: End): Promise<void> {
    this.#ended = true;
    this.#dropThought();
    this.#keypad.stop();
    this.#beep?.stop();
    if (effect.goodbye !== null) this.#speak(effect.goodbye, false);
    // a leg that speaks in turns says its last words and ends by one document
    if (this.#leg.giveFloor && !effect.transferred) this.#leg.end();
    if (!effect.at_once) await this.playedOut();
    if (effect.transferred) this.#leg.close();
    else this.#leg.end();
    await this.#clock.wait(effect.at_once ? CLOSE_AT_ONCE_MS : CLOSE_MS, this.#gone.signal);
    if (!this.#gone.signal.aborted) this.#leg.close();
  }

  /** Starts to count the customer's silence anew, from the end of our speech; a leg that speaks in turns is given the floor and counts by itself. */
  #watchIdle(speakingMs = 0): void {
    this.#stopIdle();
    if (this.#ended || this.#thought || this.#gone.signal.aborted || !this.#host.listening()) return;
    if (this.#leg.giveFloor) {
      this.#leg.giveFloor({ idle_ms: this.#host.idle_ms, keys_only: this.#host.dtmfCollection() !== null });
      return;
    }
    this.#stopIdle = startTimer(this.#clock, Math.max(this.#playout.leftMs(), speakingMs) + this.#host.idle_ms, () =>
      this.#happened(() => this.#host.dispatch({ type: "idle" })),
    );
  }
}

/** The engine for carriers that do recognition and synthesis themselves (ConversationRelay): it streams the model's tokens as they come. */
export const textRelayPipeline = (model: ChatModel, clock: Clock): PipelineFactory<TextLeg> => ({
  open(leg, host) {
    const voice = new TextRelayPipeline(leg, host, model, clock);
    voice.start();
    return voice;
  },
});
