import type { Listening } from "../../../../shared/contracts/records/listening-settings.ts";
import { turnWaitMs } from "../../audio/endpointing.ts";
import type { VoiceActivity } from "../../audio/port.ts";
import type { TurnTiming } from "../voice-processor.ts";

/** Longest wait for the words of a turn after its end. */
const WORDS_MS = 5000;
/** Longest delay of a turn that sounds unfinished while the caller goes on speaking; it starts anew with their words. */
const MAX_SPEAKING_HOLD_MS = 10_000;

/** Events of the caller's speech. */
export interface TurnEvents {
  partialTranscript(text: string): void;
  /** There was sound, but no speech in it. */
  noSpeech(): void;
  turnEnded(text: string, timing: TurnTiming): void;
  sttFailed(code: string): void;
  /** The item is void: the conversation goes on as if it had not been. */
  itemDiscarded(item_id: string): void;
}

interface Pending {
  readonly item_id: string;
  readonly at: number;
  text: string;
}
interface Known {
  readonly items: string[];
  text: string;
  wait_ms: number;
  silence_ms: number;
  committed_at: number;
  known_at: number;
}

/** How turns are put together. */
export interface CallerTurnsOptions {
  readonly language: string;
  readonly listening: Pick<Listening, "endpointing_ms" | "max_wait_ms">;
  now(): number;
  expectsShort(): boolean;
  readonly events: TurnEvents;
}

/**
 * The caller's turns. The server reports the end of the sound and, later, its words. An unfinished turn waits for its
 * continuation and is merged with it.
 */
export class CallerTurns {
  readonly #o: CallerTurnsOptions;
  /** Items that the server reported as turns and whose words are not known yet. */
  #pending: Pending[] = [];
  /** Words that are known and not reported yet. */
  #known: Known | null = null;
  /** Items of the turn that is being reported. */
  #telling: string[] = [];
  /** Set once no more will be heard. */
  #finished: (() => void) | null = null;
  /** The server has not reported the end of speech that went on at the end. */
  #awaitsCommit = false;
  #silence_ms = Infinity;
  #lastSilence_ms = 0;

  constructor(o: CallerTurnsOptions) {
    this.#o = o;
  }

  /** Speech was heard that is not reported as a turn yet. */
  get hasPendingSpeech(): boolean {
    return this.#pending.length > 0 || this.#known !== null;
  }

  /** Words are known that are not reported as a turn yet. */
  get hasPendingWords(): boolean {
    return this.#known !== null;
  }

  voiceActivity({ silence_ms }: VoiceActivity): void {
    this.#silence_ms = silence_ms;
    this.#release();
  }

  committed(item_id: string): void {
    this.#awaitsCommit = false;
    this.#pending.push({ item_id, at: this.#o.now(), text: "" });
    this.#lastSilence_ms = Number.isFinite(this.#silence_ms) ? this.#silence_ms : 0;
  }

  /** Words as they are recognised: whole ones only, for half of "okay" is no backchannel. */
  transcriptDelta(item_id: string, text: string): void {
    const turn = this.#pending.find((p) => p.item_id === item_id);
    if (!turn) return;
    turn.text += text;
    const whole = turn.text.replace(/\S+$/u, "").trim();
    if (whole !== "") this.#o.events.partialTranscript(this.#joined(whole));
  }

  transcript(item_id: string, words: string): void {
    const turn = this.#taken(item_id);
    const text = words.trim();
    if (!turn) return;
    if (text === "") {
      this.#o.events.itemDiscarded(item_id);
      if (!this.hasPendingSpeech) this.#o.events.noSpeech();
      this.#release();
      return;
    }
    const { language, listening, now, expectsShort, events } = this.#o;
    const all = this.#joined(text);
    const wait_ms = turnWaitMs({ text: all, language, expects_short: expectsShort(), ...listening });
    this.#known = {
      items: [...(this.#known?.items ?? []), item_id],
      text: all,
      wait_ms,
      silence_ms: this.#lastSilence_ms,
      committed_at: turn.at,
      known_at: now(),
    };
    events.partialTranscript(all);
    this.#release();
  }

  transcriptionFailed(item_id: string, code = "TRANSCRIPTION_FAILED"): void {
    if (!this.#taken(item_id)) return;
    // the model has heard what the conversation has not: the caller has to repeat it for both
    this.#o.events.itemDiscarded(item_id);
    if (this.#known === null) this.#o.events.sttFailed(code);
    this.#release();
  }

  /** To be called regularly: time limits. */
  tick(): void {
    const first = this.#pending[0];
    if (first && this.#o.now() - first.at >= WORDS_MS) this.transcriptionFailed(first.item_id, "TRANSCRIPTION_TIMEOUT");
    this.#release();
  }

  /** No more will be heard: resolves once what was heard is reported, or has failed. `speaks`: the server has not reported the end of their speech. */
  finish(speaks: boolean): Promise<void> {
    const finished = Promise.withResolvers<void>();
    this.#awaitsCommit = speaks;
    this.#finished = finished.resolve;
    this.#release();
    return finished.promise;
  }

  /** Discards what was heard and not reported, and the turn that is being reported. */
  discard(): void {
    const items = [...this.#telling, ...(this.#known?.items ?? []), ...this.#pending.map((p) => p.item_id)];
    this.#pending = [];
    this.#known = null;
    this.#telling = [];
    for (const id of items) this.#o.events.itemDiscarded(id);
  }

  #joined(text: string): string {
    return this.#known === null ? text : `${this.#known.text} ${text}`;
  }

  #taken(item_id: string): Pending | null {
    const turn = this.#pending.find((p) => p.item_id === item_id);
    this.#pending = this.#pending.filter((p) => p !== turn);
    return turn ?? null;
  }

  /** Reports the known words once the silence after them is long enough for their endpointing. */
  #release(): void {
    const known = this.#known;
    if (known === null && this.#pending.length === 0 && !this.#awaitsCommit) this.#finished?.();
    if (known === null || this.#pending.length > 0) return;
    const now = this.#o.now();
    const held = now - known.known_at;
    const speaks = this.#silence_ms === 0;
    if (
      this.#finished === null &&
      this.#silence_ms < known.wait_ms &&
      held < (speaks ? MAX_SPEAKING_HOLD_MS : this.#o.listening.max_wait_ms)
    )
      return;
    this.#known = null;
    this.#telling = known.items;
    this.#o.events.turnEnded(known.text, {
      eou_ms: Math.round(known.silence_ms + now - known.committed_at),
      stt_ms: Math.round(known.known_at - known.committed_at),
      sound_ms: null,
      end: "silence",
    });
    this.#telling = [];
    this.#finished?.();
  }
}
