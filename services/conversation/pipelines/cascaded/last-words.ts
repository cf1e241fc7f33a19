import type { DialogueEvent } from "../../dialogue/dialogue-state.ts";
import type { Finality } from "../../dialogue/flow.ts";
import type { VoiceActivity } from "../../audio/port.ts";

/**
 * What can't be undone waits for this much quiet of the caller: "Yes." may go on with "… but Friday would be better.", whose first
 * sound is soft. What happens at once waits longer: an answer that is generated takes as long until it is heard, and may be taken back until then.
 */
export const LAST_WORDS_MS = { after_words: 1000, at_once: 1200 } as const;

/** Dependencies. `finality`: how what an answer does can't be undone. `mayGoOn`: sound is heard that may be words. `held`: an answer begins (true) or ends its wait. */
export interface LastWordsOptions {
  now(): number;
  finality(event: DialogueEvent): Finality | null;
  mayGoOn(): boolean;
  dispatch(event: DialogueEvent): void;
  held(begins: boolean): void;
}

/** Holds back the model's answers that can't be undone until the caller has said their last words. */
export class LastWords {
  readonly #o: LastWordsOptions;
  #held: { event: DialogueEvent; text: string; sinceMs: number; wait_ms: number } | null = null;
  #quietMs = Infinity;

  constructor(o: LastWordsOptions) {
    this.#o = o;
  }

  /** An answer waits. */
  get holding(): boolean {
    return this.#held !== null;
  }
  /** What was handed to speech of the answer that waits. */
  get text(): string {
    return this.#held?.text ?? "";
  }

  voiceActivity({ quiet_ms }: VoiceActivity): void {
    this.#quietMs = quiet_ms;
  }

  /** An event of the language model: passed on now, or once the caller is silent. */
  dispatch(event: DialogueEvent): void {
    const finality = this.#o.finality(event);
    const wait_ms = finality === null ? 0 : LAST_WORDS_MS[finality];
    if (finality === null || !this.#mustWait(0, wait_ms)) {
      this.#o.dispatch(event);
      return;
    }
    this.#held = { event, text: event.type === "model_answered" ? event.text : "", sinceMs: this.#o.now(), wait_ms };
    this.#o.held(true);
  }

  /** To be called regularly. */
  tick(): void {
    const held = this.#held;
    if (held === null || this.#mustWait(this.#o.now() - held.sinceMs, held.wait_ms)) return;
    this.#held = null;
    this.#o.held(false);
    this.#o.dispatch(held.event);
  }

  /** The caller has gone on, or nothing is to be said any more: the answer is void. */
  drop(): void {
    this.#held = null;
  }

  /** Quiet counts; in noise that does not end, the time that the answer has waited. */
  #mustWait(waitedMs: number, wait_ms: number): boolean {
    return Math.max(this.#quietMs, waitedMs) < wait_ms || this.#o.mayGoOn();
  }
}
