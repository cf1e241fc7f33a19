import type { VoiceActivity, Pcm, Endpointing, Vad } from "../../audio/port.ts";
import { ruleBasedEndpointing } from "../../audio/endpointing.ts";
import { energyVad } from "../../audio/vad.ts";
import type { SpeechEffect } from "../port.ts";
import type { Mind, MindGround } from "../voice-processor.ts";
import { Answers, newAnswer, type Answer, type Ending } from "./response-queue.ts";
import { complaintOf, faultCode } from "../../providers/realtime/server-errors.ts";
import {
  appendAudio,
  deleteItem,
  truncateItem,
  type RealtimeEvent,
} from "../../providers/realtime/realtime-dialect.ts";
import { realtimeLink, type RealtimeAddress, type RealtimeLink } from "../../providers/realtime/realtime-connection.ts";
import { SpokenItems } from "./response-audio.ts";
import { ToldSession } from "./session-sync.ts";
import { CallerTurns } from "./caller-turns.ts";
import { wireSound, type WireSound } from "./wire-audio.ts";

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
export interface RealtimeParts {
  address: RealtimeAddress;
  transcription_model: string;
  preemptive: boolean;
  judge?: Endpointing;
  connect?: typeof realtimeLink;
}

class RealtimeMind implements Mind {
  readonly #o: RealtimeParts;
  readonly #g: MindGround;
  readonly #link: RealtimeLink;
  readonly #vad: Vad;
  readonly #wire: WireSound;
  readonly #session: ToldSession;
  readonly #turns: CallerTurns;
  readonly #answers: Answers;
  readonly #items: SpokenItems;
  #hearing: VoiceActivity;
  /** The thought under way, and whose it is. */
  #thought: { answer: Answer; effect: Think } | null = null;
  /** An answer that was begun before it was known what was said. */
  #guess: Answer | null = null;
  readonly #says = new Map<Answer, { interruptible: boolean }>();
  readonly #faults = new Set<string>();
  #first: number | null = null;
  #deadened = false;

  constructor(o: RealtimeParts, g: MindGround) {
    this.#o = o;
    this.#g = g;
    this.#wire = wireSound(g.format);
    this.#vad = energyVad({ rate: g.format.rate });
    this.#hearing = this.#vad.push(new Int16Array(g.format.rate / FRAMES_PER_SECOND));
    this.#link = (o.connect ?? realtimeLink)(o.address, {
      event: (event) => {
        if (!this.#deadened) this.#happened(event);
      },
      lost: () => this.#mute("REALTIME_LOST"),
    });
    const send = (event: object): void => this.#link.send(event);
    const { language, voice } = g.host.manner;
    this.#session = new ToldSession({
      dialect: o.address.dialect,
      wish: {
        voice: voice ?? o.address.voice,
        sound: this.#wire.name,
        language,
        transcription_model: o.transcription_model,
      },
      send,
    });
    this.#items = new SpokenItems({
      playout: g.playout,
      bytesPerMs: this.#wire.bytesPerMs,
      decoder: () => this.#wire.decoder(),
    });
    this.#answers = new Answers(
      { dialect: o.address.dialect, send, now: () => g.now() },
      {
        audio: (answer, id, audio) => this.#audio(answer, id, audio),
        words: (answer, id, text) => {
          this.#sounded(answer);
          this.#items.words(answer, id, text, this.#interruptible(answer));
        },
        over: (answer, ending) => this.#over(answer, ending),
        lapsed: (answer) => {
          if (this.#guess === answer) this.#guess = null;
        },
      },
    );
    this.#turns = new CallerTurns({
      judge: o.judge ?? ruleBasedEndpointing(),
      language,
      now: () => g.now(),
      expectsShort: () => g.host.collection() !== null,
      events: {
        words: (text) => g.events.words(text),
        nothing: () => {
          this.#unguess();
          g.events.nothing();
        },
        turn: (text, timing) => this.#turn(text, timing),
        deaf: (code) => {
          this.#unguess();
          g.events.deaf(code);
        },
        void: (id) => send(deleteItem(id)),
      },
    });
  }

  get attentive(): boolean {
    return this.#hearing.speaking || this.#turns.attentive;
  }
  get thinking(): boolean {
    return this.#thought !== null;
  }
  get speaking(): boolean {
    return this.#answers.speaking;
  }
  get first_token_ms(): number | null {
    return this.#first;
  }

  hear(pcm: Pcm, frame: Uint8Array | null): VoiceActivity {
    this.#hearing = this.#vad.push(pcm);
    if (this.#deadened) return this.#hearing;
    const bytes = this.#wire.up(pcm, frame);
    if (bytes.length > 0)
      this.#link.send(appendAudio(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64")));
    this.#turns.hearing(this.#hearing);
    return this.#hearing;
  }

  say(text: string, how: { interruptible: boolean; aside?: boolean }): void {
    // a filler would be one more answer of the same model, in the way of the one that is awaited
    if (how.aside || text.trim() === "" || this.#deadened) return;
    this.#unguess();
    const answer = newAnswer(text.trim(), true);
    this.#says.set(answer, how);
    this.#answers.ask(answer);
  }

  think(effect: Think): void {
    if (this.#deadened) return;
    this.#dropThought();
    const changed = this.#session.tell(effect);
    const guess = changed ? null : this.#guess;
    if (guess === null) this.#unguess();
    this.#guess = null;
    const answer = guess ?? newAnswer(null, true);
    this.#thought = { answer, effect };
    this.#first = null;
    this.#g.events.speechAsked();
    if (guess) this.#answers.claim(guess);
    else this.#answers.ask(answer);
  }

  sound(pcm: Pcm): void {
    this.#items.aside(pcm);
  }

  said(): string {
    return this.#thought?.answer.text ?? "";
  }

  interrupt(tell: (spoken: string) => void): void {
    const { spoken, unfinished } = this.#g.playout.flush();
    const thought = this.#thought;
    this.#unguess();
    this.#answers.dropAll();
    this.#says.clear();
    for (const { id, answer, heard_ms } of this.#items.cut(unfinished)) {
      if (heard_ms > 0) this.#link.send(truncateItem(id, heard_ms));
      // of one that is still being made, the rest goes once it has ended
      else if (answer.over) this.#link.send(deleteItem(id));
    }
    tell(spoken);
    if (this.#thought === thought) this.#thought = null;
  }

  forget(): void {
    this.#unguess();
    this.#turns.forget();
  }

  dropThought(): void {
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
    this.#answers.drop(thought.answer);
  }

  #unguess(): void {
    const guess = this.#guess;
    this.#guess = null;
    if (guess) this.#answers.drop(guess);
  }

  #interruptible(answer: Answer): boolean {
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
      case "heard_part":
        this.#turns.part(event.item_id, event.text);
        return;
      case "heard":
        this.#turns.heard(event.item_id, event.text);
        return;
      case "unheard":
        this.#turns.unheard(event.item_id);
        return;
      case "error":
        this.#complained(event.code, event.event_id);
        return;
      default:
        this.#answers.take(event);
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
    const effects = this.#g.host.foresee({ type: "heard", text: UNKNOWN_WORDS });
    const think = effects.find((e) => e.type === "think");
    // a step that does more than think is not gone ahead of: only its thought can be taken back
    if (!think || effects.length > 1) return;
    this.#session.tellTask(think);
    this.#guess = newAnswer(null, false);
    this.#answers.ask(this.#guess);
  }

  #turn(text: string, timing: { eou_ms: number; stt_ms: number }): void {
    this.#session.heard(text);
    this.#g.events.turn(text, timing);
    // nobody wanted the answer that was begun
    this.#unguess();
  }

  #complained(code: string, event_id: string | null): void {
    if (this.#answers.refused(code, event_id)) return;
    const complaint = complaintOf(code, event_id);
    if (complaint === "fatal") {
      this.#mute(faultCode(code));
      return;
    }
    if (complaint === "noise" || this.#faults.has(code) || this.#faults.size >= MAX_FAULTS) return;
    this.#faults.add(code);
    this.#g.host.fault(faultCode(code));
  }

  /** Nothing is heard or said any more. */
  #mute(code: string): void {
    if (this.#deadened) return;
    this.#deadened = true;
    this.#guess = this.#thought = null;
    this.#answers.dropAll();
    this.#link.close();
    this.#g.events.mute(code);
  }

  #sounded(answer: Answer): void {
    if (this.#thought?.answer === answer) this.#first ??= answer.first_ms;
  }

  #audio(answer: Answer, id: string, audio: string): void {
    this.#sounded(answer);
    if (this.#thought?.answer === answer) this.#g.events.speechCame();
    this.#items.audio(answer, id, Buffer.from(audio, "base64"), this.#interruptible(answer));
  }

  #over(answer: Answer, { code, tokens_in, tokens_out }: Ending): void {
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
      this.#g.host.tell({ type: "model_failed", turn, code, said: text });
      return;
    }
    this.#g.host.thought({
      text,
      calls,
      first_token_ms: first_ms ?? 0,
      total_ms: Math.round(this.#g.now() - answer.asked_at),
      prompt_tokens: tokens_in,
      completion_tokens: tokens_out,
      tries: 1,
    });
    this.#g.host.tell({ type: "model_answered", turn, text, calls });
  }

  /** A fixed text was not said: it is asked for once more, then nothing can be said any more. */
  #unsaid(answer: Answer, how: { interruptible: boolean }, code: string): void {
    const again = newAnswer(answer.verbatim, true);
    again.tries = answer.tries + 1;
    if (again.tries >= SAY_TRIES || answer.text !== "") {
      this.#mute("SPEECH_FAILED");
      return;
    }
    this.#g.host.fault(code);
    this.#says.set(again, how);
    this.#answers.ask(again, true);
  }
}

/** One model that listens, thinks and speaks (OpenAI's Realtime protocol over WebSocket; voice.md 2a). */
export const realtimeMind = (o: RealtimeParts, ground: MindGround): Mind => new RealtimeMind(o, ground);
