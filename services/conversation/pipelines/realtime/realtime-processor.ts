import type { VoiceActivity, Pcm, Endpointing, Vad } from "../../audio/port.ts";
import { ruleBasedEndpointing } from "../../audio/endpointing.ts";
import { energyVad } from "../../audio/vad.ts";
import type { SpeechEffect } from "../port.ts";
import type { VoiceProcessor, ProcessorContext } from "../voice-processor.ts";
import { ResponseQueue, newResponse, type ModelResponse, type ResponseEnd } from "./response-queue.ts";
import { serverErrorKind, realtimeErrorCode } from "../../providers/realtime/server-errors.ts";
import {
  appendAudio,
  deleteItem,
  truncateItem,
  type RealtimeEvent,
} from "../../providers/realtime/realtime-dialect.ts";
import {
  realtimeConnection,
  type RealtimeAddress,
  type RealtimeConnection,
} from "../../providers/realtime/realtime-connection.ts";
import { ResponseAudio } from "./response-audio.ts";
import { SessionSync } from "./session-sync.ts";
import { CallerTurns } from "./caller-turns.ts";
import { wireAudio, type WireAudio } from "./wire-audio.ts";

type Think = Extract<SpeechEffect, { type: "think" }>;

/** A fixed text is asked for once more, where nothing came of it. */
const SAY_TRIES = 2;
/** Complaints of the server that are passed on: each once, and so many at most. */
const MAX_FAULTS = 20;
/** Stands for what the caller has said while that is not known. */
const UNKNOWN_WORDS = "…";
/** A frame of silence that wakes the detector. */
const FRAMES_PER_SECOND = 50;

/** What a realtime mind is made with. `preemptive`: the answer is begun before it is known what was said. `judge`: what sounds unfinished is waited for. */
export interface RealtimeProcessorOptions {
  address: RealtimeAddress;
  transcription_model: string;
  preemptive: boolean;
  judge?: Endpointing;
  connect?: typeof realtimeConnection;
}

class RealtimeProcessor implements VoiceProcessor {
  readonly #o: RealtimeProcessorOptions;
  readonly #g: ProcessorContext;
  readonly #link: RealtimeConnection;
  readonly #vad: Vad;
  readonly #wire: WireAudio;
  readonly #session: SessionSync;
  readonly #turns: CallerTurns;
  readonly #answers: ResponseQueue;
  readonly #items: ResponseAudio;
  #hearing: VoiceActivity;
  /** The thought under way, and whose it is. */
  #thought: { answer: ModelResponse; effect: Think } | null = null;
  /** An answer that was begun before it was known what was said. */
  #guess: ModelResponse | null = null;
  readonly #says = new Map<ModelResponse, { interruptible: boolean }>();
  readonly #faults = new Set<string>();
  #first: number | null = null;
  #deadened = false;

  constructor(o: RealtimeProcessorOptions, g: ProcessorContext) {
    this.#o = o;
    this.#g = g;
    this.#wire = wireAudio(g.format);
    this.#vad = energyVad({ rate: g.format.rate });
    this.#hearing = this.#vad.push(new Int16Array(g.format.rate / FRAMES_PER_SECOND));
    this.#link = (o.connect ?? realtimeConnection)(o.address, {
      event: (event) => {
        if (!this.#deadened) this.#happened(event);
      },
      lost: () => this.#mute("REALTIME_LOST"),
    });
    const send = (event: object): void => this.#link.send(event);
    const { language, voice } = g.host.speechSettings;
    this.#session = new SessionSync({
      dialect: o.address.dialect,
      wish: {
        voice: voice ?? o.address.voice,
        audio_format: this.#wire.name,
        language,
        transcription_model: o.transcription_model,
      },
      send,
    });
    this.#items = new ResponseAudio({
      playout: g.playout,
      bytesPerMs: this.#wire.bytesPerMs,
      decoder: () => this.#wire.decoder(),
    });
    this.#answers = new ResponseQueue(
      { dialect: o.address.dialect, send, now: () => g.now() },
      {
        audio: (answer, id, audio) => this.#audio(answer, id, audio),
        text: (answer, id, text) => {
          this.#sounded(answer);
          this.#items.text(answer, id, text, this.#interruptible(answer));
        },
        ended: (answer, ending) => this.#over(answer, ending),
        preemptiveFailed: (answer) => {
          if (this.#guess === answer) this.#guess = null;
        },
      },
    );
    this.#turns = new CallerTurns({
      judge: o.judge ?? ruleBasedEndpointing(),
      language,
      now: () => g.now(),
      expectsShort: () => g.host.dtmfCollection() !== null,
      events: {
        partialTranscript: (text) => g.events.partialTranscript(text),
        noSpeech: () => {
          this.#unguess();
          g.events.noSpeech();
        },
        turnEnded: (text, timing) => this.#turn(text, timing),
        sttFailed: (code) => {
          this.#unguess();
          g.events.sttFailed(code);
        },
        itemDiscarded: (id) => send(deleteItem(id)),
      },
    });
  }

  get hasPendingSpeech(): boolean {
    return this.#hearing.speaking || this.#turns.hasPendingSpeech;
  }
  get generating(): boolean {
    return this.#thought !== null;
  }
  get speaking(): boolean {
    return this.#answers.speaking;
  }
  get first_token_ms(): number | null {
    return this.#first;
  }

  pushAudio(pcm: Pcm, frame: Uint8Array | null): VoiceActivity {
    this.#hearing = this.#vad.push(pcm);
    if (this.#deadened) return this.#hearing;
    const bytes = this.#wire.up(pcm, frame);
    if (bytes.length > 0)
      this.#link.send(appendAudio(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64")));
    this.#turns.voiceActivity(this.#hearing);
    return this.#hearing;
  }

  say(text: string, how: { interruptible: boolean; aside?: boolean }): void {
    // a filler would be one more answer of the same model, in the way of the one that is awaited
    if (how.aside || text.trim() === "" || this.#deadened) return;
    this.#unguess();
    const answer = newResponse(text.trim(), true);
    this.#says.set(answer, how);
    this.#answers.request(answer);
  }

  generate(effect: Think): void {
    if (this.#deadened) return;
    this.#dropThought();
    const changed = this.#session.sync(effect);
    const guess = changed ? null : this.#guess;
    if (guess === null) this.#unguess();
    this.#guess = null;
    const answer = guess ?? newResponse(null, true);
    this.#thought = { answer, effect };
    this.#first = null;
    this.#g.events.synthesisRequested();
    if (guess) this.#answers.claim(guess);
    else this.#answers.request(answer);
  }

  playAudio(pcm: Pcm): void {
    this.#items.aside(pcm);
  }

  spokenText(): string {
    return this.#thought?.answer.text ?? "";
  }

  interrupt(tell: (spoken: string) => void): void {
    const { spoken, unfinished } = this.#g.playout.flush();
    const thought = this.#thought;
    this.#unguess();
    this.#answers.cancelAll();
    this.#says.clear();
    for (const { id, answer, heard_ms } of this.#items.truncate(unfinished)) {
      if (heard_ms > 0) this.#link.send(truncateItem(id, heard_ms));
      // of one that is still being made, the rest goes once it has ended
      else if (answer.completed) this.#link.send(deleteItem(id));
    }
    tell(spoken);
    if (this.#thought === thought) this.#thought = null;
  }

  discardTurn(): void {
    this.#unguess();
    this.#turns.discard();
  }

  cancelGeneration(): void {
    this.#unguess();
    this.#dropThought();
  }

  tick(): void {
    if (this.#deadened) return;
    this.#turns.tick();
    this.#answers.tick();
  }

  close(): void {
    this.#deadened = true;
    this.#link.close();
  }

  #dropThought(): void {
    const thought = this.#thought;
    this.#thought = null;
    if (thought === null) return;
    this.#items.keep(thought.answer);
    this.#answers.cancel(thought.answer);
  }

  #unguess(): void {
    const guess = this.#guess;
    this.#guess = null;
    if (guess) this.#answers.cancel(guess);
  }

  #interruptible(answer: ModelResponse): boolean {
    return (
      this.#says.get(answer)?.interruptible ??
      (this.#thought?.answer === answer ? this.#thought.effect.interruptible : true)
    );
  }

  #happened(event: RealtimeEvent): void {
    switch (event.type) {
      case "committed":
        this.#committed(event.item_id);
        return;
      case "transcript_delta":
        this.#turns.transcriptDelta(event.item_id, event.text);
        return;
      case "transcript":
        this.#turns.transcript(event.item_id, event.text);
        return;
      case "transcription_failed":
        this.#turns.transcriptionFailed(event.item_id);
        return;
      case "error":
        this.#complained(event.code, event.event_id);
        return;
      default:
        this.#answers.receive(event);
    }
  }

  /** The caller's turn is over by the server's ear; the answer may begin before its words are known. One begun before does not know of it. */
  #committed(item_id: string): void {
    this.#turns.committed(item_id);
    this.#unguess();
    if (
      !this.#o.preemptive ||
      this.#thought !== null ||
      this.#answers.speaking ||
      this.#g.playout.busy ||
      !this.#g.host.listening()
    )
      return;
    const effects = this.#g.host.preview({ type: "heard", text: UNKNOWN_WORDS });
    const think = effects.find((e) => e.type === "think");
    // a step that does more than think is not gone ahead of: only its thought can be taken back
    if (!think || effects.length > 1) return;
    this.#session.syncInstructions(think);
    this.#guess = newResponse(null, false);
    this.#answers.request(this.#guess);
  }

  #turn(text: string, timing: { eou_ms: number; stt_ms: number }): void {
    this.#session.transcriptKnown(text);
    this.#g.events.turnEnded(text, timing);
    // nobody wanted the answer that was begun
    this.#unguess();
  }

  #complained(code: string, event_id: string | null): void {
    if (this.#answers.refused(code, event_id)) return;
    const complaint = serverErrorKind(code, event_id);
    if (complaint === "fatal") {
      this.#mute(realtimeErrorCode(code));
      return;
    }
    if (complaint === "noise" || this.#faults.has(code) || this.#faults.size >= MAX_FAULTS) return;
    this.#faults.add(code);
    this.#g.host.recordError(realtimeErrorCode(code));
  }

  /** Nothing is heard or said any more. */
  #mute(code: string): void {
    if (this.#deadened) return;
    this.#deadened = true;
    this.#guess = this.#thought = null;
    this.#answers.cancelAll();
    this.#link.close();
    this.#g.events.ttsFailed(code);
  }

  #sounded(answer: ModelResponse): void {
    if (this.#thought?.answer === answer) this.#first ??= answer.first_ms;
  }

  #audio(answer: ModelResponse, id: string, audio: string): void {
    this.#sounded(answer);
    if (this.#thought?.answer === answer) this.#g.events.synthesisStarted();
    this.#items.audio(answer, id, Buffer.from(audio, "base64"), this.#interruptible(answer));
  }

  #over(answer: ModelResponse, { code, tokens_in, tokens_out }: ResponseEnd): void {
    this.#items.end(answer);
    const how = this.#says.get(answer);
    this.#says.delete(answer);
    if (how) {
      if (code !== null) this.#unsaid(answer, how, code);
      return;
    }
    const thought = this.#thought;
    if (thought?.answer !== answer) return;
    this.#sounded(answer);
    const { turn } = thought.effect;
    const { text, calls, first_ms } = answer;
    this.#thought = null;
    if (code !== null) {
      this.#g.host.dispatch({ type: "model_failed", turn, code, said: text });
      return;
    }
    this.#g.host.recordAnswer({
      text,
      calls,
      first_token_ms: first_ms ?? 0,
      total_ms: Math.round(this.#g.now() - answer.asked_at),
      prompt_tokens: tokens_in,
      completion_tokens: tokens_out,
      tries: 1,
    });
    this.#g.host.dispatch({ type: "model_answered", turn, text, calls });
  }

  /** A fixed text was not said: it is asked for once more, then nothing can be said any more. */
  #unsaid(answer: ModelResponse, how: { interruptible: boolean }, code: string): void {
    const again = newResponse(answer.verbatim, true);
    again.tries = answer.tries + 1;
    if (again.tries >= SAY_TRIES || answer.text !== "") {
      this.#mute("SPEECH_FAILED");
      return;
    }
    this.#g.host.recordError(code);
    this.#says.set(again, how);
    this.#answers.request(again, true);
  }
}

/** One model that listens, thinks and speaks (OpenAI's Realtime protocol over WebSocket; voice.md 2a). */
export const realtimeProcessor = (o: RealtimeProcessorOptions, ground: ProcessorContext): VoiceProcessor =>
  new RealtimeProcessor(o, ground);
