import { MS_PER_SECOND } from "../../../../shared/time/clock.ts";
import { ModelError, type Transcription, type TranscriptionModel } from "../../providers/port.ts";
import type { VoiceActivity, Pcm } from "../../audio/port.ts";
import { preRoll } from "../../audio/pre-roll.ts";
import { energyVad, type Vad } from "../../audio/vad.ts";
import { MIN_WAIT_MS, turnWaitMs } from "../../audio/endpointing.ts";

/** Audio kept from before a voice sets in: the beginning of a word is softer than its middle. */
const PRE_ROLL_MS = 300;
/** Silence after which a turn is transcribed although the caller may go on, where that is allowed. */
const EARLY_TRANSCRIPTION_MS = 120;
/** A long turn is transcribed after this much speech, so that an interruption is recognised before it ends. */
const MID_SPEECH_TRANSCRIPTION_MS = 700;
/** Transcriptions of one turn before its end is certain: each costs a request. */
const MAX_EARLY_TRANSCRIPTIONS = 4;

/** Events of STT input. All milliseconds are of the caller's audio. */
export interface SttEvents {
  /** Words so far, while the caller still speaks or has just paused. */
  partialTranscript(text: string): void;
  /** The caller has paused after these words and may be done: `stale` once they go on. */
  probableTurn(text: string): void;
  /** The caller went on: the probable turn is void. */
  speechResumed(): void;
  /** The turn is over. */
  turnEnded(text: string, timing: { eou_ms: number; stt_ms: number }): void;
  /** There was sound, but no speech in it. */
  noSpeech(): void;
  /** The words can't be recognised: the STT model failed. */
  sttFailed(code: string): void;
}

/** How STT input works. `expectsShort`: the answer may be as short as a word. `early`: transcribe before the end of the turn is certain. */
export interface SttInputOptions {
  model: TranscriptionModel;
  rate: number;
  language: string;
  early: boolean;
  now(): number;
  events: SttEvents;
  expectsShort(): boolean;
}

interface Turn {
  readonly stream: Transcription;
  readonly abort: AbortController;
  /** Rises with every sound of the voice: a transcript requested before is of an older one. */
  version: number;
  transcriptions: number;
  transcribing: boolean;
  /** The version of the latest request. */
  transcribedVersion: number;
  text: string | null;
  wait_ms: number;
  stt_ms: number;
  failed: string | null;
  midTranscribed: boolean;
}

/** Recognises the caller's turns. */
export class SttInput {
  readonly #o: SttInputOptions;
  readonly #vad: Vad;
  readonly #preRoll: ReturnType<typeof preRoll>;
  #turn: Turn | null = null;

  constructor(o: SttInputOptions) {
    this.#o = o;
    this.#vad = energyVad({ rate: o.rate });
    this.#preRoll = preRoll((o.rate * PRE_ROLL_MS) / MS_PER_SECOND);
  }

  /** A turn is under way that is not reported yet. */
  get hasPendingSpeech(): boolean {
    return this.#turn !== null;
  }

  /** Audio of the caller; gives the voice activity after it. */
  push(pcm: Pcm): VoiceActivity {
    const activity = this.#vad.push(pcm);
    if (!this.#turn && activity.speaking) this.#begin();
    const turn = this.#turn;
    if (!turn) {
      this.#preRoll.push(pcm);
      return activity;
    }
    turn.stream.push(pcm);
    if (activity.silence_ms === 0) this.#speechContinues(turn, activity);
    else this.#silenceContinues(turn, activity);
    return activity;
  }

  /** Discards what was heard of the present turn. */
  discardTurn(): void {
    const turn = this.#turn;
    this.#turn = null;
    if (!turn) return;
    turn.abort.abort();
    turn.stream.close();
  }

  #begin(): void {
    const { model, rate, language, events } = this.#o;
    const stream = model.open({
      rate,
      language,
      onPartial: (text) => {
        if (text.trim() !== "") events.partialTranscript(text.trim());
      },
    });
    stream.push(this.#preRoll.take());
    this.#turn = {
      stream,
      abort: new AbortController(),
      version: 0,
      transcriptions: 0,
      transcribing: false,
      transcribedVersion: -1,
      text: null,
      wait_ms: MIN_WAIT_MS,
      stt_ms: 0,
      failed: null,
      midTranscribed: false,
    };
  }

  #speechContinues(turn: Turn, { speech_ms }: VoiceActivity): void {
    turn.version++;
    if (turn.text !== null) {
      turn.text = null;
      this.#o.events.speechResumed();
    }
    turn.failed = null;
    if (
      this.#o.model.streams === true ||
      speech_ms < MID_SPEECH_TRANSCRIPTION_MS ||
      turn.midTranscribed ||
      turn.transcribing
    )
      return;
    turn.midTranscribed = true;
    void this.#transcribe(turn, false);
  }

  #silenceContinues(turn: Turn, { silence_ms }: VoiceActivity): void {
    const early = this.#o.early && turn.transcriptions < MAX_EARLY_TRANSCRIPTIONS;
    if (
      turn.transcribedVersion !== turn.version &&
      !turn.transcribing &&
      silence_ms >= (early ? EARLY_TRANSCRIPTION_MS : MIN_WAIT_MS)
    )
      void this.#transcribe(turn, true);
    if (turn.failed !== null && silence_ms >= MIN_WAIT_MS) {
      const code = turn.failed;
      this.discardTurn();
      this.#o.events.sttFailed(code);
      return;
    }
    if (turn.text === null || silence_ms < Math.max(turn.wait_ms, MIN_WAIT_MS)) return;
    const { text, stt_ms } = turn;
    this.discardTurn();
    if (text === "") this.#o.events.noSpeech();
    else this.#o.events.turnEnded(text, { eou_ms: Math.round(silence_ms), stt_ms });
  }

  /** Asks for the words of all that was heard so far; an answer that is older than the caller's latest speech serves as a partial transcript only. */
  async #transcribe(turn: Turn, paused: boolean): Promise<void> {
    const { version } = turn;
    const asked = this.#o.now();
    turn.transcribing = true;
    turn.transcribedVersion = version;
    turn.transcriptions++;
    let text: string | null = null;
    try {
      text = (await turn.stream.text(turn.abort.signal)).trim();
    } catch (error) {
      if (turn.abort.signal.aborted) return;
      if (turn.version === version) turn.failed = error instanceof ModelError ? error.code : "MODEL_ERROR";
    } finally {
      turn.transcribing = false;
    }
    if (text === null || this.#turn !== turn) return;
    if (text !== "") this.#o.events.partialTranscript(text);
    if (!paused || turn.version !== version || this.#turn !== turn) return;
    turn.stt_ms = Math.round(this.#o.now() - asked);
    turn.text = text;
    turn.wait_ms = turnWaitMs({ text, language: this.#o.language, expects_short: this.#o.expectsShort() });
    if (text !== "") this.#o.events.probableTurn(text);
  }
}
