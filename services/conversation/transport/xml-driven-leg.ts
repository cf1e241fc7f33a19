import type { Clock } from "../../../shared/clock.ts";
import type { XmlTurnReply } from "../../../shared/contracts/conversation.ts";
import { startTimer } from "../timer.ts";
import type { CarrierTempo } from "./carrier-tempo.ts";
import type { Floor, TextLeg, TextLegEvents } from "./port.ts";
import { lastHeard, totalSpeechMs, speechMs, type Utterance } from "../audio/speech-duration.ts";
import { utteranceBuffer } from "./utterances.ts";

/** What the customer did since the reply numbered `follows`; null: that is not known. */
export interface TurnInput {
  heard: string | null;
  digits: string | null;
  follows: number | null;
}

/** A text leg of a carrier that asks for a document at the answer and after each input. */
export interface XmlDrivenLeg extends TextLeg {
  /** The carrier asks what comes next. */
  turn(input: TurnInput): Promise<XmlTurnReply>;
  /** The carrier's side of the call is over. */
  gone(): void;
}

/** What the leg needs to know of its call. */
export interface XmlDrivenLegDeps {
  clock: Clock;
  call_id: string;
  language: string;
  voice: string | null;
  /** Of the call's carrier. */ tempo: CarrierTempo;
}

/** A carrier is answered within this long, thought through or not. */
export const REPLY_TIMEOUT_MS = 8000;
/** Bounds of the listening that is asked for, seconds: what carriers take. */
const MIN_LISTEN_SECONDS = 5;
const MAX_LISTEN_SECONDS = 60;
/** Speech that would have ended this soon counts as heard to its end. */
const NEARLY_OVER_MS = 500;
/** Words are sent to us about this long after the last of them was spoken. */
const END_OF_SPEECH_MS = 1000;
/** A carrier that asks nothing this long after it should have is gone. */
const OVERDUE_MS = 30_000;
const MS_PER_SECOND = 1000;
const END_KEY = "#";
const QUIET: TextLegEvents = {
  ready: () => undefined,
  prompt: () => undefined,
  digit: () => undefined,
  interrupt: () => undefined,
  speaking: () => undefined,
  customer: () => undefined,
  silence: () => undefined,
  fault: () => undefined,
  closed: () => undefined,
};

type Next = XmlTurnReply["next"];
interface Waiting {
  readonly reply: Promise<XmlTurnReply>;
  resolve(reply: XmlTurnReply): void;
  stopPatience(): void;
}
interface Delivered {
  readonly reply: XmlTurnReply;
  readonly at_ms: number;
  readonly said: readonly Utterance[];
}
interface Message {
  readonly text: string;
  readonly patience_seconds: number;
  taken(): void;
}

const secondsOf = (idle_ms: number): number =>
  Math.min(MAX_LISTEN_SECONDS, Math.max(MIN_LISTEN_SECONDS, Math.ceil(idle_ms / MS_PER_SECOND)));

/** One call led by documents: what is said is kept until the carrier asks, the carrier waits until there is something to do. */
class Turns implements XmlDrivenLeg {
  readonly #parts: XmlDrivenLegDeps;
  readonly #speech = utteranceBuffer();
  #events: TextLegEvents = QUIET;
  #number = 0;
  #waiting: Waiting | null = null;
  #last: Delivered | null = null;
  /** Set while it is the customer's turn. */
  #floor: Floor | null = null;
  /** How long the customer has been listened to in vain. */
  #silentMs = 0;
  #message: Message | null = null;
  #ending = false;
  #closed = false;
  #stopWatch: () => void = () => undefined;

  constructor(parts: XmlDrivenLegDeps) {
    this.#parts = parts;
  }

  listen(events: TextLegEvents): void {
    this.#events = events;
    events.ready(this.#parts.call_id);
    if (this.#closed) events.closed();
  }

  say(text: string, how: { last: boolean; interruptible: boolean }): void {
    if (!this.#ending) this.#speech.add(text, how);
  }

  giveFloor(floor: Floor): void {
    this.#floor = floor;
    // more may be said within the same step of the talk
    queueMicrotask(() => {
      if (this.#floor === floor) this.#settle();
    });
  }

  flush(): void {
    if (!this.#speech.empty()) this.#deliver({ kind: "again" });
  }

  leaveMessage(message: string, patience_seconds: number, taken: () => void): void {
    this.#message = { text: message, patience_seconds, taken };
    this.#speech.take();
    queueMicrotask(() => this.#settle()); // the beep may be known too: then the message is said at once
  }

  end(): void {
    this.#ending = true;
    this.#settle();
  }

  close(): void {
    this.gone();
  }

  gone(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#stopWatch();
    if (this.#waiting) this.#deliver({ kind: "nothing" });
    this.#events.closed();
  }

  turn(input: TurnInput): Promise<XmlTurnReply> {
    if (this.#waiting) return this.#waiting.reply;
    const last = this.#last;
    if (last && input.follows !== null && input.follows < this.#number) return Promise.resolve(last.reply);
    if (this.#closed) return Promise.resolve(this.#reply({ kind: "nothing" }, []));
    const waiting = this.#wait();
    this.#stopWatch();
    if (!this.#message && !this.#ending) this.#take(input, last);
    this.#settle();
    return waiting.reply;
  }

  /** A first turn has no events: its document is the opening. */
  #take({ heard, digits }: TurnInput, last: Delivered | null): void {
    const floor = this.#floor;
    const words = heard ?? "";
    const keys = digits ?? "";
    if (!last) return;
    if (words === "" && keys === "") {
      this.#silent(floor, last);
      return;
    }
    this.#floor = null;
    this.#silentMs = 0;
    const spoken = this.#spokenUntilNow(last, words);
    if (spoken === null) this.#events.speaking(false);
    else this.#events.interrupt(spoken);
    this.#floor = null; // either leaves it with the customer, whose words come now
    if (words !== "") this.#events.prompt(words, true);
    for (const key of floor?.keys_only === true && keys !== "" && !keys.endsWith(END_KEY) ? keys + END_KEY : keys)
      this.#events.digit(key);
  }

  /** The carrier came back without anything: our words were heard, and perhaps it was listened long enough. */
  #silent(floor: Floor | null, { reply, at_ms, said }: Delivered): void {
    this.#events.speaking(false);
    if (reply.next.kind !== "listen" || !floor) return;
    this.#parts.tempo.observe(
      this.#parts.clock.monotonicMs() - at_ms,
      totalSpeechMs(said) + reply.next.seconds * MS_PER_SECOND,
    );
    this.#silentMs = this.#speech.empty() ? this.#silentMs + reply.next.seconds * MS_PER_SECOND : 0;
    if (this.#silentMs < floor.idle_ms) return;
    this.#silentMs = 0;
    this.#floor = null;
    this.#events.silence();
  }

  /** What of our speech had been heard when the input began, where it must still have been sounding; null: all of it. */
  #spokenUntilNow({ at_ms, said }: Delivered, words: string): string | null {
    const elapsedMs = this.#parts.clock.monotonicMs() - at_ms;
    // an answer cannot come sooner than it can be spoken
    if (!this.#parts.tempo.isRealTime() || elapsedMs <= speechMs(words)) return null;
    const beganMs = elapsedMs - (words === "" ? 0 : speechMs(words) + END_OF_SPEECH_MS);
    return totalSpeechMs(said) - beganMs > NEARLY_OVER_MS ? lastHeard(said, Math.max(0, beganMs)) : null;
  }

  #wait(): Waiting {
    let resolve: (reply: XmlTurnReply) => void = () => undefined;
    const reply = new Promise<XmlTurnReply>((done) => {
      resolve = done;
    });
    const waiting: Waiting = {
      reply,
      resolve,
      stopPatience: startTimer(this.#parts.clock, REPLY_TIMEOUT_MS, () => {
        if (this.#waiting === waiting) this.#deliver({ kind: "again" });
      }),
    };
    this.#waiting = waiting;
    return waiting;
  }

  /** Answers the carrier that waits, where there is an answer. */
  #settle(): void {
    if (!this.#waiting) return;
    const floor = this.#floor;
    if (this.#ending) this.#deliver({ kind: "hang_up" });
    else if (this.#message)
      this.#deliver({ kind: "message", message: this.#message.text, patience_seconds: this.#message.patience_seconds });
    else if (floor)
      this.#deliver({ kind: "listen", seconds: secondsOf(floor.idle_ms - this.#silentMs), keys_only: floor.keys_only });
  }

  #deliver(next: Next): void {
    const waiting = this.#waiting;
    if (!waiting) return;
    this.#waiting = null;
    waiting.stopPatience();
    const said = next.kind === "message" || next.kind === "nothing" ? [] : this.#speech.take();
    this.#number++;
    const reply = this.#reply(next, said);
    this.#last = { reply, at_ms: this.#parts.clock.monotonicMs(), said };
    waiting.resolve(reply);
    if (said.length > 0) this.#silentMs = 0;
    if (next.kind === "message") {
      this.#ending = true; // the carrier does the rest: should it ask again, it has done it
      this.#message?.taken();
    }
    if (!this.#closed) this.#watch(reply);
  }

  #reply(next: Next, say: readonly Utterance[]): XmlTurnReply {
    const { language, voice } = this.#parts;
    return { turn: this.#number, say: [...say], next, language, voice };
  }

  /** Lets go of a carrier that never asks again. */
  #watch({ say, next }: XmlTurnReply): void {
    const patienceMs =
      next.kind === "listen"
        ? next.seconds * MS_PER_SECOND
        : next.kind === "message"
          ? next.patience_seconds * MS_PER_SECOND + speechMs(next.message)
          : 0;
    this.#stopWatch();
    this.#stopWatch = startTimer(this.#parts.clock, totalSpeechMs(say) + patienceMs + OVERDUE_MS, () => this.gone());
  }
}

/** Opens the leg at the answer of a call. */
export const xmlDrivenLeg = (parts: XmlDrivenLegDeps): XmlDrivenLeg => new Turns(parts);
