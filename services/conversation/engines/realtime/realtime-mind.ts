import type { ChatMessage, ModelCall } from "../../flow/chat.ts";
import type { PartSink } from "../../media/playout.ts";
import { codecFor } from "../../speech/g711.ts";
import type { Hearing, Pcm, Resampler } from "../../speech/port.ts";
import { resampler } from "../../speech/resampler.ts";
import { energyVad } from "../../speech/vad.ts";
import type { SpeechEffect } from "../port.ts";
import type { Mind, MindGround } from "../sound/mind.ts";
import {
  appendAudio, cancelResponse, createResponse, deleteItem, functionOutput, PCM_RATE, sessionUpdate, truncateItem, userText, type RealtimeEvent, type RealtimeSound,
} from "./dialect.ts";
import { realtimeLink, type RealtimeAddress, type RealtimeLink } from "./link.ts";

type Think = Extract<SpeechEffect, { type: "think" }>;

/** The model must have begun to answer this long after it was asked. */
const FIRST_SOUND_MS = 6000;
const MS_PER_SECOND = 1000;

/** What a realtime mind is made with. `preemptive`: the answer is begun before it is known what was said. */
export interface RealtimeParts { address: RealtimeAddress; transcription_model: string; preemptive: boolean; connect?: typeof realtimeLink }

/** An answer of the model: asked for, being made, being played. */
interface Response {
  readonly what: { kind: "say"; text: string; interruptible: boolean } | { kind: "think"; effect: Think | null };
  asked_at: number | null;
  id: string | null;
  text: string;
  calls: ModelCall[];
  /** Sound and words of it that wait until it is certain that they are wanted. */
  held: (() => void)[];
  first_ms: number | null;
}
interface Item { readonly id: string; readonly group: number; readonly sink: PartSink; generated_ms: number }
interface Heard { readonly item_id: string; readonly committed_at: number; readonly silence_ms: number; text: string }

class RealtimeMind implements Mind {
  readonly #o: RealtimeParts;
  readonly #g: MindGround;
  readonly #link: RealtimeLink;
  readonly #vad;
  readonly #sound: RealtimeSound;
  readonly #decode: (audio: Uint8Array) => Pcm;
  readonly #up: Resampler | null;
  readonly #encodeUp: ((pcm: Pcm) => Uint8Array) | null;
  readonly #rateIn: number;
  #hearing: Hearing;
  /** The session as the server was told of it. */
  #session = "";
  readonly #knownMessages = new WeakSet<ChatMessage>();
  readonly #knownOutputs = new Set<string>();
  /** Texts that the server knows as sound. */
  #transcribed: string[] = [];
  #turns: Heard[] = [];
  #lastTurn: string | null = null;
  #active: Response | null = null;
  #next: Response[] = [];
  readonly #items = new Map<string, Item>();
  #groups = 0;
  #first: number | null = null;
  #closed = false;

  constructor(o: RealtimeParts, g: MindGround) {
    this.#o = o;
    this.#g = g;
    const { codec, rate } = g.format;
    this.#sound = codec === "s16le" ? "pcm" : codec;
    this.#rateIn = rate;
    this.#vad = energyVad({ rate });
    this.#hearing = this.#vad.push(new Int16Array(rate / 50));
    const down = codec === "s16le" ? resampler(PCM_RATE, rate) : null;
    const linear = codecFor(codec === "s16le" ? { codec, rate: PCM_RATE } : g.format);
    this.#decode = (audio) => (down ? down.push(linear.decode(audio)) : linear.decode(audio));
    this.#up = codec === "s16le" ? resampler(rate, PCM_RATE) : null;
    this.#encodeUp = linear.encode;
    this.#link = (o.connect ?? realtimeLink)(o.address, {
      event: (event) => { if (!this.#closed) this.#happened(event); },
      lost: () => { if (!this.#closed) g.events.mute("REALTIME_LOST"); },
    });
  }

  get attentive(): boolean { return this.#hearing.speaking || this.#turns.length > 0; }
  get thinking(): boolean { return [this.#active, ...this.#next].some((r) => r?.what.kind === "think" && r.what.effect !== null); }
  get speaking(): boolean { return this.#next.length > 0 || (this.#active !== null && !isGuess(this.#active)); }
  get first_token_ms(): number | null { return this.#first; }

  hear(pcm: Pcm, frame: Uint8Array | null): Hearing {
    const bytes = this.#up ? this.#encodeUp?.(this.#up.push(pcm)) : frame ?? this.#encodeUp?.(pcm);
    if (bytes && bytes.length > 0) this.#link.send(appendAudio(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64")));
    this.#hearing = this.#vad.push(pcm);
    return this.#hearing;
  }

  say(text: string, how: { interruptible: boolean; aside?: boolean }): void {
    // a filler would be one more answer of the same model, in the way of the one that is awaited
    if (how.aside || text.trim() === "") return;
    this.#tellSession(null);
    this.#ask(responseOf({ kind: "say", text: text.trim(), interruptible: how.interruptible }));
  }

  think(effect: Think): void {
    const changed = this.#tellSession(effect) || this.#tellItems(effect.messages);
    this.#first = null;
    const guess = this.#active && isGuess(this.#active) ? this.#active : null;
    if (guess && !changed) { this.#claim(guess, effect); return; }
    if (guess) this.#cancel(guess);
    this.#ask(responseOf({ kind: "think", effect }));
  }

  sound(pcm: Pcm): void {
    const sink = this.#g.playout.add({ text: "", group: ++this.#groups, interruptible: false, aside: true });
    sink.push(pcm);
    sink.end();
  }

  said(): string { return this.#active?.what.kind === "think" && this.#active.what.effect !== null ? this.#active.text : ""; }

  interrupt(tell: (spoken: string) => void): void {
    const { spoken, unfinished } = this.#g.playout.flush();
    for (const item of this.#items.values()) {
      const cut = unfinished.find((u) => u.group === item.group);
      if (!cut) continue;
      item.sink.end();
      this.#link.send(truncateItem(item.id, Math.min(cut.heard_ms, Math.floor(item.generated_ms))));
    }
    this.#items.clear();
    this.#next = [];
    const active = this.#active && !isGuess(this.#active) ? this.#active : null;
    if (active) this.#stop(active);
    tell(spoken);
    if (active && this.#active === active) this.#active = null;
    this.#pump();
  }

  forget(): void {
    if (this.#active && isGuess(this.#active)) this.#cancel(this.#active);
    for (const { item_id } of this.#turns.splice(0)) this.#link.send(deleteItem(item_id));
    if (this.#lastTurn !== null) this.#link.send(deleteItem(this.#lastTurn));
    this.#lastTurn = null;
  }

  dropThought(): void {
    this.#next = this.#next.filter((r) => r.what.kind === "say");
    if (this.#active?.what.kind === "think") this.#cancel(this.#active);
  }

  tick(): void {
    const active = this.#active;
    if (!active || active.asked_at === null || active.first_ms !== null || this.#g.now() - active.asked_at < FIRST_SOUND_MS) return;
    this.#cancel(active);
    this.#failed(active, "MODEL_TIMEOUT");
  }

  close(): void {
    this.#closed = true;
    this.#link.close();
  }

  /** Instructions and tools as the thought has them; true where the server had to be told. */
  #tellSession(effect: Think | null): boolean {
    const system = effect?.messages[0];
    if (effect === null && this.#session !== "") return false;
    const wish = {
      instructions: system?.role === "system" ? system.content : "", tools: effect?.tools ?? [], voice: this.#g.host.manner.voice ?? this.#o.address.voice, sound: this.#sound,
      language: this.#g.host.manner.language, transcription_model: this.#o.transcription_model,
    };
    const told = JSON.stringify(wish);
    if (told === this.#session) return false;
    this.#session = told;
    this.#link.send(sessionUpdate(this.#o.address.dialect, wish));
    return true;
  }

  /** What the server can't know: keys, and what functions gave back. */
  #tellItems(messages: readonly ChatMessage[]): boolean {
    let told = false;
    for (const m of messages) {
      if (m.role === "tool" && !this.#knownOutputs.has(m.tool_call_id)) {
        this.#knownOutputs.add(m.tool_call_id);
        this.#link.send(functionOutput(m.tool_call_id, m.content));
        told = true;
      }
      if (m.role !== "user" || this.#knownMessages.has(m)) continue;
      this.#knownMessages.add(m);
      const at = this.#transcribed.indexOf(m.content);
      if (at >= 0) { this.#transcribed.splice(at, 1); continue; }
      this.#link.send(userText(m.content));
      told = true;
    }
    return told;
  }

  #ask(response: Response): void {
    this.#next.push(response);
    this.#pump();
  }

  /** One answer at a time: the protocol knows no two. */
  #pump(): void {
    if (this.#active) return;
    const next = this.#next.shift();
    if (!next) return;
    this.#active = next;
    next.asked_at = this.#g.now();
    this.#link.send(createResponse(next.what.kind === "say" ? next.what.text : null));
  }

  #claim(guess: Response, effect: Think): void {
    if (guess.what.kind === "think") guess.what.effect = effect;
    this.#first = guess.first_ms;
    for (const act of guess.held.splice(0)) act();
  }

  /** The answer is not wanted: what comes of it still is ignored. */
  #stop(response: Response): void {
    if (response.id !== null || response.asked_at !== null) this.#link.send(cancelResponse());
    response.held = [];
  }

  #cancel(response: Response): void {
    this.#stop(response);
    if (this.#active === response) this.#active = null;
    this.#pump();
  }

  #happened(event: RealtimeEvent): void {
    switch (event.type) {
      case "committed": this.#committed(event.item_id); return;
      case "heard_part": this.#heardPart(event.item_id, event.text); return;
      case "heard": this.#heard(event.item_id, event.text.trim()); return;
      case "unheard": this.#unheard(event.item_id); return;
      case "response_began": if (this.#active && this.#active.id === null) this.#active.id = event.response_id; return;
      case "audio": this.#of(event.response_id, (r) => this.#audio(r, event.item_id, Buffer.from(event.audio, "base64"))); return;
      case "words": this.#of(event.response_id, (r) => this.#words(r, event.item_id, event.text)); return;
      case "call": this.#of(event.response_id, (r) => { r.first_ms ??= this.#since(r); r.calls.push({ id: event.call_id, name: event.name, arguments: event.arguments }); }); return;
      case "response_over": this.#of(event.response_id, (r) => this.#over(r, event.status)); return;
      case "error": this.#g.host.fault(`REALTIME_${event.code.toUpperCase().replace(/[^A-Z0-9]+/g, "_").slice(0, 40)}`); return;
      default:
    }
  }

  #of(response_id: string, act: (response: Response) => void): void {
    const active = this.#active;
    if (active && active.id === response_id) act(active);
  }

  #since(response: Response): number { return Math.round(this.#g.now() - (response.asked_at ?? this.#g.now())); }

  /** The caller's turn is over by the server's ear; the answer may begin before its words are known. */
  #committed(item_id: string): void {
    this.#turns.push({ item_id, committed_at: this.#g.now(), silence_ms: Math.min(this.#hearing.silence_ms, Number.MAX_SAFE_INTEGER), text: "" });
    if (!this.#o.preemptive || this.#active !== null || this.#next.length > 0 || this.#g.playout.busy || !this.#g.host.listening()) return;
    this.#ask(responseOf({ kind: "think", effect: null }));
  }

  #heardPart(item_id: string, text: string): void {
    const turn = this.#turns.find((t) => t.item_id === item_id);
    if (!turn) return;
    turn.text += text;
    if (turn.text.trim() !== "") this.#g.events.words(turn.text.trim());
  }

  #heard(item_id: string, text: string): void {
    const turn = this.#turns.find((t) => t.item_id === item_id);
    if (!turn) return;
    this.#turns = this.#turns.filter((t) => t !== turn);
    if (text === "") {
      this.#link.send(deleteItem(item_id));
      if (this.#active && isGuess(this.#active)) this.#cancel(this.#active);
      this.#g.events.nothing();
      return;
    }
    this.#transcribed.push(text);
    this.#lastTurn = item_id;
    this.#g.events.words(text);
    this.#g.events.turn(text, { eou_ms: Math.round(turn.silence_ms + this.#g.now() - turn.committed_at), stt_ms: Math.round(this.#g.now() - turn.committed_at) });
    this.#lastTurn = null;
    // nobody wanted the answer that was begun
    if (this.#active && isGuess(this.#active)) this.#cancel(this.#active);
  }

  #unheard(item_id: string): void {
    this.#turns = this.#turns.filter((t) => t.item_id !== item_id);
    if (this.#active && isGuess(this.#active)) this.#cancel(this.#active);
    this.#g.events.deaf("TRANSCRIPTION_FAILED");
  }

  #audio(response: Response, item_id: string, audio: Buffer): void {
    response.first_ms ??= this.#since(response);
    const act = (): void => {
      this.#first ??= response.first_ms;
      const item = this.#itemOf(response, item_id);
      const pcm = this.#decode(audio);
      item.generated_ms += (pcm.length * MS_PER_SECOND) / this.#rateIn;
      item.sink.push(pcm);
    };
    if (isGuess(response)) response.held.push(act);
    else act();
  }

  #words(response: Response, item_id: string, text: string): void {
    const act = (): void => {
      response.text += text;
      this.#itemOf(response, item_id).sink.words(text);
    };
    if (isGuess(response)) response.held.push(act);
    else act();
  }

  #itemOf(response: Response, id: string): Item {
    const known = this.#items.get(id);
    if (known) return known;
    const interruptible = response.what.kind === "say" ? response.what.interruptible : response.what.effect?.interruptible ?? true;
    const group = ++this.#groups;
    const item: Item = { id, group, sink: this.#g.playout.add({ text: "", group, interruptible, aside: false }), generated_ms: 0 };
    this.#items.set(id, item);
    return item;
  }

  #over(response: Response, status: string): void {
    const finish = (): void => {
      for (const item of this.#items.values()) item.sink.end();
      this.#active = null;
      const { what } = response;
      if (status === "failed" || status === "incomplete") this.#failed(response, "MODEL_ERROR");
      else if (what.kind === "think" && what.effect) this.#g.host.tell({ type: "model_answered", turn: what.effect.turn, text: response.text, calls: response.calls });
      this.#pump();
    };
    if (isGuess(response)) response.held.push(finish);
    else finish();
  }

  #failed(response: Response, code: string): void {
    const { what, text } = response;
    if (what.kind === "think" && what.effect) this.#g.host.tell({ type: "model_failed", turn: what.effect.turn, code, said: text });
    else if (what.kind === "say") this.#g.events.mute("SPEECH_FAILED");
  }
}

const isGuess = (response: Response): boolean => response.what.kind === "think" && response.what.effect === null;
const responseOf = (what: Response["what"]): Response => ({ what, asked_at: null, id: null, text: "", calls: [], held: [], first_ms: null });

/** One model that listens, thinks and speaks (OpenAI's Realtime protocol over WebSocket; voice.md 2a). */
export const realtimeMind = (o: RealtimeParts, ground: MindGround): Mind => new RealtimeMind(o, ground);
