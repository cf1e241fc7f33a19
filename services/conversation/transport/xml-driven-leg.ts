import { MS_PER_SECOND, type Clock } from "../../../shared/time/clock.ts";
import type { XmlTurnReply } from "../../../shared/contracts/conversation.ts";
import type { MediaEnd } from "../../../shared/hangup-source.ts";
import { startTimer } from "../../../shared/time/timer.ts";
import type { CarrierTempo } from "./carrier-tempo.ts";
import { NO_TEXT_EVENTS, type Floor, type TextLeg, type TextLegEvents } from "./port.ts";
import { lastHeard, totalSpeechMs, speechMs, type Utterance } from "../audio/speech-duration.ts";
import { utteranceBuffer } from "./utterance-buffer.ts";

/** What the customer did since the reply numbered `follows`; null: that number is unknown. */
export interface TurnInput {
  heard: string | null;
  digits: string | null;
  follows: number | null;
}

/** Dependencies of a leg and what it needs to know of its call. */
export interface XmlDrivenLegDeps {
  clock: Clock;
  call_id: string;
  language: string;
  voice: string | null;
  /** Of the call's carrier. */
  tempo: CarrierTempo;
  /** The first answer comes within this long: who answered waits for it, and the gateway ends a call whose first document does not come. */
  first_reply_ms: number;
  /** Makes the carrier ask for the document after this turn now. */
  summon(turn: number): void;
}

/** A carrier is answered within this long, whether or not the conversation has an answer. */
export const REPLY_TIMEOUT_MS = 8000;
/** Bounds of the listening time that carriers accept, seconds. */
const MIN_LISTEN_SECONDS = 5;
const MAX_LISTEN_SECONDS = 60;
/** Speech that would have ended this soon counts as heard to its end. */
const NEARLY_OVER_MS = 500;
/** Recognised words arrive about this long after the last of them was spoken. */
const END_OF_SPEECH_MS = 1000;
/** A carrier whose request is overdue by this long counts as disconnected. */
const OVERDUE_MS = 30_000;
const END_KEY = "#";

type Next = XmlTurnReply["next"];
interface PendingReply {
  readonly reply: Promise<XmlTurnReply>;
  resolve(reply: XmlTurnReply): void;
  stopTimer(): void;
}
interface DeliveredReply {
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

/** What was heard of our speech when the carrier's side ended so long after the last reply; null: all of it. `unsaid`: more was never handed over. */
function heardAtEnd(last: DeliveredReply | null, elapsedMs: number, unsaid: boolean): string | null {
  const said = last?.said ?? [];
  const message = last?.reply.next.kind === "message" ? speechMs(last.reply.next.message) : 0;
  if (!unsaid && totalSpeechMs(said) + message - elapsedMs <= NEARLY_OVER_MS) return null;
  // who hangs up hears nothing to its end, be it not to be interrupted
  const texts = said.map(({ text }) => ({ text, interruptible: true }));
  return message > 0 ? "" : lastHeard(texts, elapsedMs);
}

/**
 * A text leg of an XML-driven call: the carrier asks for a document at the answer and after each input. Speech is kept until it
 * asks, and its request stays open until there is a document to send.
 */
export class XmlDrivenLeg implements TextLeg {
  readonly #deps: XmlDrivenLegDeps;
  readonly #utterances = utteranceBuffer();
  #events: TextLegEvents = NO_TEXT_EVENTS;
  #number = 0;
  #pending: PendingReply | null = null;
  #last: DeliveredReply | null = null;
  /** Set while the customer has the floor. */
  #floor: Floor | null = null;
  /** How long the customer has been silent so far. */
  #silentMs = 0;
  #message: Message | null = null;
  #ending = false;
  #closed: MediaEnd | null = null;
  #stopOverdue: () => void = () => undefined;

  constructor(deps: XmlDrivenLegDeps) {
    this.#deps = deps;
  }

  listen(events: TextLegEvents): void {
    this.#events = events;
    events.ready(this.#deps.call_id);
    if (this.#closed) events.closed(this.#closed);
  }

  say(text: string, how: { last: boolean; interruptible: boolean }): void {
    if (!this.#ending) this.#utterances.add(text, how);
  }

  giveFloor(floor: Floor): void {
    this.#floor = floor;
    // the same step of the dialogue may say more
    queueMicrotask(() => {
      if (this.#floor === floor) this.#answer();
    });
  }

  flush(): void {
    if (!this.#utterances.empty()) this.#deliver({ kind: "again" });
  }

  leaveMessage(message: string, patience_seconds: number, taken: () => void): void {
    this.#message = { text: message, patience_seconds, taken };
    this.#utterances.take();
    queueMicrotask(() => this.#answer()); // the beep may have come too: then the message is said at once
  }

  end(): void {
    // the carrier listens, and would ask only when the customer has spoken or was silent for long
    if (!this.#ending && !this.#closed && !this.#pending && this.#last) this.#deps.summon(this.#number);
    this.#ending = true;
    this.#answer();
  }

  close(): void {
    this.callEnded();
  }

  /** The carrier's side of the call is over. */
  callEnded(how: MediaEnd = "closed"): void {
    if (this.#closed) return;
    this.#closed = how;
    this.#stopOverdue();
    const { tempo, clock } = this.#deps;
    const elapsedMs = this.#last && tempo.isRealTime() ? clock.monotonicMs() - this.#last.at_ms : Infinity;
    const heard = heardAtEnd(this.#last, elapsedMs, !this.#utterances.empty());
    if (this.#pending) this.#deliver({ kind: "nothing" });
    if (heard !== null) this.#events.interrupt(heard);
    this.#events.closed(how);
  }

  /** The carrier asks for the next document. */
  turn(input: TurnInput): Promise<XmlTurnReply> {
    if (this.#pending) return this.#pending.reply;
    const last = this.#last;
    if (last && input.follows !== null && input.follows < this.#number) return Promise.resolve(last.reply);
    if (this.#closed) return Promise.resolve(this.#reply({ kind: "nothing" }, []));
    const pending = this.#openReply();
    this.#stopOverdue();
    if (!this.#message && !this.#ending) this.#applyInput(input, last);
    this.#answer();
    return pending.reply;
  }

  /** Reports the input as events. The first turn has none: its document is the opening. */
  #applyInput({ heard, digits }: TurnInput, last: DeliveredReply | null): void {
    const floor = this.#floor;
    const words = heard ?? "";
    const keys = digits ?? "";
    if (!last) return;
    if (words === "" && keys === "") {
      this.#applySilence(floor, last);
      return;
    }
    this.#floor = null;
    this.#silentMs = 0;
    const spoken = this.#heardBeforeInput(last, words);
    if (spoken === null) this.#events.speaking(false);
    else this.#events.interrupt(spoken);
    this.#floor = null; // both events give the customer the floor; their words come now
    if (words !== "") this.#events.prompt(words, true);
    for (const key of floor?.keys_only === true && keys !== "" && !keys.endsWith(END_KEY) ? keys + END_KEY : keys)
      this.#events.digit(key);
  }

  /** The carrier asks without input: our speech was heard, and the idle time may be over. */
  #applySilence(floor: Floor | null, { reply, at_ms, said }: DeliveredReply): void {
    this.#events.speaking(false);
    if (reply.next.kind !== "listen" || !floor) return;
    this.#deps.tempo.observe(
      this.#deps.clock.monotonicMs() - at_ms,
      totalSpeechMs(said) + reply.next.seconds * MS_PER_SECOND,
    );
    this.#silentMs = this.#utterances.empty() ? this.#silentMs + reply.next.seconds * MS_PER_SECOND : 0;
    if (this.#silentMs < floor.idle_ms) return;
    this.#silentMs = 0;
    this.#floor = null;
    this.#events.silence();
  }

  /** What the customer had heard of our speech when the input began; null: all of it. */
  #heardBeforeInput({ at_ms, said }: DeliveredReply, words: string): string | null {
    const elapsedMs = this.#deps.clock.monotonicMs() - at_ms;
    // an answer takes at least as long as speaking it
    if (!this.#deps.tempo.isRealTime() || elapsedMs <= speechMs(words)) return null;
    const beganMs = elapsedMs - (words === "" ? 0 : speechMs(words) + END_OF_SPEECH_MS);
    return totalSpeechMs(said) - beganMs > NEARLY_OVER_MS ? lastHeard(said, Math.max(0, beganMs)) : null;
  }

  #openReply(): PendingReply {
    const { promise: reply, resolve } = Promise.withResolvers<XmlTurnReply>();
    const pending: PendingReply = {
      reply,
      resolve,
      stopTimer: startTimer(this.#deps.clock, this.#last ? REPLY_TIMEOUT_MS : this.#deps.first_reply_ms, () => {
        if (this.#pending === pending) this.#deliver({ kind: "again" });
      }),
    };
    this.#pending = pending;
    return pending;
  }

  /** Answers the pending request where there is an answer. */
  #answer(): void {
    if (!this.#pending) return;
    const floor = this.#floor;
    if (this.#ending) this.#deliver({ kind: "hang_up" });
    else if (this.#message)
      this.#deliver({ kind: "message", message: this.#message.text, patience_seconds: this.#message.patience_seconds });
    else if (floor)
      this.#deliver({ kind: "listen", seconds: secondsOf(floor.idle_ms - this.#silentMs), keys_only: floor.keys_only });
  }

  #deliver(next: Next): void {
    const pending = this.#pending;
    if (!pending) return;
    this.#pending = null;
    pending.stopTimer();
    const said = next.kind === "message" || next.kind === "nothing" ? [] : this.#utterances.take();
    this.#number++;
    const reply = this.#reply(next, said);
    this.#last = { reply, at_ms: this.#deps.clock.monotonicMs(), said };
    pending.resolve(reply);
    if (said.length > 0) this.#silentMs = 0;
    if (next.kind === "message") {
      this.#ending = true; // the carrier does the rest; asking again means that it has
      this.#message?.taken();
    }
    if (!this.#closed) this.#watchOverdue(reply);
  }

  #reply(next: Next, say: readonly Utterance[]): XmlTurnReply {
    const { language, voice } = this.#deps;
    return { turn: this.#number, say: [...say], next, language, voice };
  }

  /** Ends the call when the carrier does not ask again in time. */
  #watchOverdue({ say, next }: XmlTurnReply): void {
    const patienceMs =
      next.kind === "listen"
        ? next.seconds * MS_PER_SECOND
        : next.kind === "message"
          ? next.patience_seconds * MS_PER_SECOND + speechMs(next.message)
          : 0;
    this.#stopOverdue();
    this.#stopOverdue = startTimer(this.#deps.clock, totalSpeechMs(say) + patienceMs + OVERDUE_MS, () =>
      this.callEnded("broken"),
    );
  }
}
