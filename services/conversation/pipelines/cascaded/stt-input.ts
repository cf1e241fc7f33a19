import { MS_PER_SECOND } from "../../../../shared/time/clock.ts";
import type { Listening } from "../../../../shared/contracts/records/listening-settings.ts";
import { ModelError, type Transcription, type TranscriptionModel } from "../../providers/port.ts";
import type { VoiceActivity, VoiceModel, Pcm } from "../../audio/port.ts";
import { preRoll } from "../../audio/pre-roll.ts";
import { energyVad, type Vad } from "../../audio/vad.ts";
import { turnWaitMs } from "../../audio/endpointing.ts";
import { Bystander, type OurSpeech } from "../listening/bystander.ts";
import { TurnBounds } from "./turn-bounds.ts";
import type { ProcessorEvents } from "../voice-processor.ts";

/** Audio kept from before a voice sets in: the beginning of a word is softer than its middle, and in noise a voice is noticed up to half a second late. */
const PRE_ROLL_MS = 600;
/** Silence after which a turn is transcribed although the caller may go on, where that is allowed. */
const EARLY_TRANSCRIPTION_MS = 120;
/** A long turn is transcribed after this much speech, so that an interruption is recognised before it ends. */
const MID_SPEECH_TRANSCRIPTION_MS = 700;
/** Transcriptions of one turn before its end is certain: each costs a request. */
const MAX_EARLY_TRANSCRIPTIONS = 4;
/** A question that fails after so long has hung: the last sound is not asked for anew. */
const HUNG_MS = 5000;

/** Events of STT input. All milliseconds are of the caller's audio. */
export interface SttEvents extends Pick<ProcessorEvents, "partialTranscript" | "turnEnded" | "noSpeech" | "sttFailed"> {
  /** The caller has paused after these words and may be done: `stale` once they go on. */
  probableTurn(text: string): void;
  /** The caller went on: the probable turn is void. */
  speechResumed(): void;
}

/** How STT input works. `expectsShort`: the answer may be as short as a word. `early`: transcribe before the end of the turn is certain. */
export interface SttInputOptions {
  model: TranscriptionModel;
  /** Tells voices from noises; absent: their pitch does. */
  voices?: VoiceModel | undefined;
  rate: number;
  language: string;
  listening: Pick<Listening, "endpointing_ms" | "max_wait_ms" | "sensitivity">;
  early: boolean;
  now(): number;
  events: SttEvents;
  expectsShort(): boolean;
  ours(): OurSpeech;
}

interface Turn {
  readonly stream: Transcription;
  readonly abort: AbortController;
  readonly bounds: TurnBounds;
  /** Rises with every sound of the voice: a transcript requested before is of an older one. */
  version: number;
  transcriptions: number;
  transcribing: boolean;
  /** The version of the latest request after a pause: words asked for in mid-speech end no turn, be it their last sound. */
  transcribedVersion: number;
  /** The latest transcript, also of words that go on. */
  latest: string;
  /** The error of the latest request; null: it was answered. */
  lost: string | null;
  text: string | null;
  wait_ms: number;
  stt_ms: number;
  failed: string | null;
  midTranscribed: boolean;
  /** It may have been a voice of the room. */
  doubted: boolean;
}

const newTurn = (stream: Transcription, bounds: TurnBounds, wait_ms: number): Turn => ({
  stream,
  abort: new AbortController(),
  bounds,
  version: 0,
  transcriptions: 0,
  transcribing: false,
  transcribedVersion: -1,
  latest: "",
  lost: null,
  text: null,
  wait_ms,
  stt_ms: 0,
  failed: null,
  midTranscribed: false,
  doubted: false,
});

/** Recognises the caller's turns. */
export class SttInput {
  readonly #o: SttInputOptions;
  readonly #vad: Vad;
  readonly #preRoll: ReturnType<typeof preRoll>;
  readonly #bystander = new Bystander();
  #turn: Turn | null = null;
  /** The sound of the turn before has not paused since. */
  #continues = false;

  constructor(o: SttInputOptions) {
    this.#o = o;
    this.#vad = energyVad({ rate: o.rate, sensitivity: o.listening.sensitivity, model: o.voices });
    this.#preRoll = preRoll((o.rate * PRE_ROLL_MS) / MS_PER_SECOND);
  }

  /** A turn is under way that is not reported yet. */
  get hasPendingSpeech(): boolean {
    return this.#turn !== null;
  }

  /** Words of the caller were recognised in the turn under way. */
  get hasPendingWords(): boolean {
    return !this.#bystander.faint && (this.#turn?.bounds.hasWords ?? false);
  }

  /** Sound was heard that may turn out to be words soon, or words that may be the caller's. */
  get mayBeWords(): boolean {
    if (this.#turn === null || this.#bystander.certain) return false;
    return this.#turn.bounds.fresh || this.#turn.bounds.hasWords || this.#turn.transcribing;
  }

  /** Audio of the caller; gives the voice activity after it. */
  push(pcm: Pcm): VoiceActivity {
    const activity = this.#vad.push(pcm);
    const ms = (pcm.length * MS_PER_SECOND) / this.#o.rate;
    this.#tellApart(activity, ms);
    if (!activity.speaking) this.#continues = false;
    if (!this.#turn && activity.speaking) this.#begin();
    const turn = this.#turn;
    const { certain } = this.#bystander;
    if (!turn || certain) this.#preRoll.push(pcm);
    if (!turn) return activity;
    turn.stream.push(pcm);
    turn.bounds.advance(ms);
    turn.doubted ||= this.#bystander.doubted;
    if (activity.silence_ms === 0) this.#speechContinues(turn, activity);
    else this.#silenceContinues(turn, activity);
    // what we speak over is no barge-in
    return certain ? { ...activity, speech_ms: 0 } : activity;
  }

  /** Whoever spoke may have gone. */
  forgetTalker(): void {
    this.#vad.forgetTalker();
  }

  /** No more will be heard: the turn under way is over, and its words are asked for where they are not known. */
  async finishTurn(): Promise<void> {
    const turn = this.#turn;
    if (turn === null || this.#bystander.doubted || this.#bystander.certain) return;
    if (turn.text === null) await this.#transcribe(turn, true);
    if (this.#turn !== turn) return;
    const { lost, latest, stt_ms } = turn;
    this.discardTurn();
    if (lost !== null) this.#o.events.sttFailed(lost);
    else if (latest !== "")
      this.#o.events.turnEnded(latest, { eou_ms: 0, stt_ms, sound_ms: turn.bounds.sound_ms, end: "bound" });
  }

  /** Discards what was heard of the present turn. */
  discardTurn(): void {
    const turn = this.#turn;
    this.#turn = null;
    if (!turn) return;
    turn.abort.abort();
    turn.stream.close();
  }

  /** The voice of a room or a caller's: it does not pause our speech once it is known, and who comes nearer begins a turn of their own. */
  #tellApart(activity: VoiceActivity, ms: number): void {
    const before = this.#bystander.certain;
    this.#bystander.advance(activity, ms, this.#o.ours());
    const { certain } = this.#bystander;
    if (certain && !before) this.#o.events.noSpeech();
    if (before && !certain && !activity.faint) this.discardTurn();
  }

  #begin(): void {
    const { model, rate, language, events, listening } = this.#o;
    const bounds = new TurnBounds(this.#continues);
    const stream = model.open({
      rate,
      language,
      onPartial: (text) => {
        // words of a turn that is over are believed no more
        if (text.trim() === "" || this.#turn?.stream !== stream) return;
        bounds.transcribed(text);
        if (!this.#bystander.doubted) events.partialTranscript(text.trim());
      },
    });
    stream.push(this.#preRoll.take());
    this.#turn = newTurn(stream, bounds, listening.endpointing_ms);
  }

  #speechContinues(turn: Turn, { speech_ms }: VoiceActivity): void {
    turn.version++;
    if (turn.text !== null) {
      turn.text = null;
      this.#o.events.speechResumed();
    }
    turn.failed = null;
    if (turn.transcribing) return;
    if (turn.bounds.reached !== null || (this.#bystander.doubted && turn.bounds.outlasts)) {
      void this.#endByBound(turn);
      return;
    }
    // the words of a stream are known as they are said: asking for them in mid-word would split it
    if (this.#o.model.streams === true) return;
    if ((speech_ms < MID_SPEECH_TRANSCRIPTION_MS || turn.midTranscribed) && !turn.bounds.probeDue) return;
    turn.midTranscribed = true;
    void this.#transcribe(turn, false);
  }

  #silenceContinues(turn: Turn, { silence_ms }: VoiceActivity): void {
    const { endpointing_ms } = this.#o.listening;
    if (turn.failed !== null && silence_ms >= endpointing_ms) {
      const code = turn.failed;
      this.discardTurn();
      this.#o.events.sttFailed(code);
      return;
    }
    const early = this.#o.early && turn.transcriptions < MAX_EARLY_TRANSCRIPTIONS;
    if (
      turn.transcribedVersion !== turn.version &&
      !turn.transcribing &&
      silence_ms >= (early ? EARLY_TRANSCRIPTION_MS : endpointing_ms)
    )
      void this.#transcribe(turn, true);
    const wait_ms = turn.bounds.long ? endpointing_ms : turn.wait_ms;
    if (turn.text === null || silence_ms < wait_ms || this.#bystander.doubted) return;
    const { text, stt_ms, doubted } = turn;
    const sound_ms = turn.bounds.sound_ms - silence_ms;
    this.discardTurn();
    this.#vad.judged(text !== "" && !doubted);
    if (text === "") this.#o.events.noSpeech();
    else this.#o.events.turnEnded(text, { eou_ms: Math.round(silence_ms), stt_ms, sound_ms, end: "silence" });
  }

  /** Sound that does not pause has reached a bound: the turn is over, and the sound that follows is another. */
  async #endByBound(turn: Turn): Promise<void> {
    const { hasWords, stale_ms, sound_ms } = turn.bounds;
    if (this.#o.model.streams === true && hasWords) await this.#transcribe(turn, false);
    if (this.#turn !== turn) return;
    const { stt_ms, lost } = turn;
    // what does not pause for us is no answer
    const latest = this.#bystander.doubted ? "" : turn.latest;
    this.#continues = true;
    this.discardTurn();
    this.#vad.judged(latest !== "");
    if (latest !== "")
      this.#o.events.turnEnded(latest, { eou_ms: Math.round(stale_ms), stt_ms, sound_ms, end: "bound" });
    else if (lost !== null) this.#o.events.sttFailed(lost);
    else this.#o.events.noSpeech();
  }

  /** Asks for the words of all that was heard so far; an answer that is older than the caller's latest speech serves as a partial transcript only. */
  async #transcribe(turn: Turn, paused: boolean): Promise<void> {
    const { version } = turn;
    const asked = this.#o.now();
    turn.transcribing = true;
    turn.failed = null;
    if (paused) {
      turn.transcribedVersion = version;
      turn.transcriptions++;
    }
    const covered = turn.bounds.asked();
    let text: string | null = null;
    try {
      text = (await turn.stream.text(turn.abort.signal)).trim();
    } catch (error) {
      if (turn.abort.signal.aborted) return;
      turn.lost = error instanceof ModelError ? error.code : "MODEL_ERROR";
      if (turn.version === version || this.#o.now() - asked >= HUNG_MS) turn.failed = turn.lost;
    } finally {
      turn.transcribing = false;
    }
    if (text === null || this.#turn !== turn) return;
    turn.lost = null;
    turn.latest = text;
    turn.stt_ms = Math.round(this.#o.now() - asked);
    turn.bounds.transcribed(text, covered);
    if (text !== "" && !this.#bystander.doubted) this.#o.events.partialTranscript(text);
    if (!paused || turn.version !== version || this.#turn !== turn) return;
    turn.text = text;
    const { language, listening, expectsShort } = this.#o;
    turn.wait_ms = turnWaitMs({ text, language, expects_short: expectsShort(), ...listening });
    if (text !== "" && !this.#bystander.doubted) this.#o.events.probableTurn(text);
  }
}
