import type { Clock } from "../../../../shared/time/clock.ts";
import type { DialogueEvent } from "../../dialogue/dialogue-state.ts";
import type { TextLeg } from "../../transport/port.ts";
import type { TokenSink } from "../llm-runner.ts";
import type { PipelineHost } from "../port.ts";
import { spokenTexts, type SpokenTexts } from "./spoken-texts.ts";

/** The carrier does not take what we sent. */
export const COMPLAINT = "RELAY_REFUSED_FRAME";

/** Our speech on a text leg: what goes to the carrier, and by its word what became of it. */
export class RelaySpeech {
  readonly #leg: TextLeg;
  readonly #host: Pick<PipelineHost, "dispatch" | "recordError">;
  readonly #texts: SpokenTexts;
  /** The carrier has complained, and given no sign of life since: what was heard by then; null: it has not. */
  #faulty: string | null = null;
  #complained = false;
  /** The carrier has cut our speech by itself. */
  #cut = false;

  constructor(leg: TextLeg, host: Pick<PipelineHost, "dispatch" | "recordError">, clock: Clock) {
    this.#leg = leg;
    this.#host = host;
    this.#texts = spokenTexts(clock);
  }

  /** Milliseconds until its end, or until the carrier must have begun it; 0 when it is over. */
  get restMs(): number {
    return Math.max(this.#texts.leftMs(), this.#texts.beginsMs());
  }
  get leftMs(): number {
    return this.#texts.leftMs();
  }
  /** The carrier has complained, and is silent since. */
  get isFaulty(): boolean {
    return this.#faulty !== null;
  }

  say(text: string, interruptible: boolean): void {
    this.#leg.say(text, { last: true, interruptible });
    this.#texts.sent(text, true);
  }

  /** An answer's tokens, closed so that the next utterance is not appended to them; one that the carrier has cut is closed already. */
  utterance(interruptible: boolean): TokenSink {
    let open = true;
    return {
      push: (token) => {
        this.#leg.say(token, { last: false, interruptible });
        this.#texts.sent(token, false);
      },
      end: () => {
        if (open && !this.#cut) {
          this.#leg.say("", { last: true, interruptible });
          this.#texts.sent("", true);
        }
        open = false;
      },
    };
  }

  /** The carrier reports that we are audible, or silent. */
  audible(now: boolean): void {
    this.#faulty = null;
    this.#texts.audible(now);
  }

  /** The carrier reports something of the customer. */
  alive(): void {
    this.#faulty = null;
  }

  /** They have spoken: all of ours before it was heard. */
  heardAll(): void {
    this.#texts.heardAll();
  }

  /** The carrier has cut our speech; `tell` does what follows. */
  cutByCarrier(tell: (tell: () => void) => void, then: () => void): void {
    this.#texts.stop();
    this.#cut = true;
    tell(() => {
      this.#cut = false;
      then();
    });
  }

  complains(): void {
    this.#faulty ??= this.#texts.heard();
    this.#host.recordError(COMPLAINT);
    if (!this.#complained) this.#host.dispatch({ type: "fault", code: COMPLAINT });
    this.#complained = true;
  }

  /** Nothing more of it will be heard; the dialogue learns what was. An XML-driven leg tells that by itself. */
  cutOff(): void {
    const over = this.#texts.leftMs() === 0 && !this.#texts.unspoken && this.#faulty === null;
    if (this.#leg.giveFloor || over) return;
    const spoken = this.#faulty ?? this.#texts.heard();
    this.#texts.stop();
    this.#host.dispatch({ type: "interrupted", spoken });
  }

  /** Our last words have had their time: the carrier has spoken them, or it says otherwise. */
  lastWords(): DialogueEvent {
    const failed = this.#texts.unspoken || this.#faulty !== null;
    this.cutOff();
    return failed ? { type: "stopped", reason: "speech_failed" } : { type: "played_out" };
  }
}
