import type { Clock } from "../../../shared/time/clock.ts";
import { MS_PER_SECOND } from "../../../shared/time/clock.ts";
import { startTimer } from "../../../shared/time/timer.ts";
import { codeOf, fail } from "../../../shared/errors.ts";
import { MAX_WAITING, speakRequestIn, type SpeakRequest, type UtteranceEvent } from "./utterances.ts";
import { ShownWords, type ShownLine } from "./shown-words.ts";
import { recordIn, textOf } from "../../../shared/json.ts";
import type { MediaEnd } from "../../../shared/hangup-source.ts";
import { realTime, typedWords } from "./client-input.ts";
import { eventBuffer } from "../transport/event-buffer.ts";
import { NORMAL_CLOSURE, type Frame } from "../transport/leg-socket.ts";
import { FRAME_MS, type AudioFormat, type MediaLeg, type MediaLegEvents } from "../transport/port.ts";

/** What a session needs of a WebSocket (the `ws` package's fits). */
export interface BrowserSocket {
  /** Unsent bytes. */
  readonly bufferedAmount: number;
  send(data: string | Uint8Array): void;
  close(code?: number): void;
  terminate(): void;
  on(event: "message", listener: (data: unknown, isBinary: boolean) => void): unknown;
  on(event: "close", listener: (code?: number) => void): unknown;
  on(event: "error", listener: () => void): unknown;
}

/** Audio of a session, both ways: 16 bit little-endian, mono. */
export const BROWSER_FORMAT: AudioFormat = { codec: "s16le", rate: 16_000 };
/** A client that is gone for longer does not come back: a page that is loaded again takes less. */
export const RESUME_MS = 5000;
/** A client that sends no sound for longer is gone. */
export const NO_MEDIA_MS = 15_000;
const LOOK_EVERY_MS = 1000;
/** Close code of a socket whose place another has taken. */
const REPLACED = 4001;

const BYTES_PER_MS = (BROWSER_FORMAT.rate * 2) / MS_PER_SECOND;
/** Longest frame that is read, ms. */
const MAX_INPUT_MS = 200;
/** Unsent sound that is late in any case, ms: further frames are dropped. */
const MAX_UNSENT_MS = 1000;
/** Unsent bytes at which the client counts as gone. */
const MAX_BUFFERED_BYTES = 1_048_576;
/** Marks in flight; a further one is not sent. */
const MAX_MARKS = 1000;
const MAX_TEXT_CHARS = 16_384;
type Speak = (request: SpeakRequest) => void;
const DTMF_KEY = /^[0-9*#]$/;

/** What a client wants to be spoken. Who is told that it is in may ask at once: until it is known whether it leads, for the conversation is taken over meanwhile, some of it waits. */
function wishesOf(tell: (message: object) => void) {
  const early: Frame[] = [];
  let speak: Speak | null | undefined;
  const ask = (message: Frame): void => {
    if (speak === undefined && early.length < MAX_WAITING) return void early.push(message);
    try {
      if (speak === null) fail("WRONG_MODE", "Only the client of an RTC_STREAM session has texts spoken.");
      if (!speak) fail("RATE_LIMITED", "The conversation has not begun.");
      speak(speakRequestIn(message));
    } catch (error) {
      tell({ type: "speech", utterance_id: textOf(message["utterance_id"]), status: "refused", code: codeOf(error) });
    }
  };
  return {
    ask,
    hear(to: Speak | null): void {
      speak = to;
      for (const message of early.splice(0)) ask(message);
    },
  };
}

/**
 * The leg of a session: sound in binary frames and JSON in text frames over a client's WebSocket. It outlives the socket, so that a page that is loaded again goes on. From the client come
 * `start`, `mark`, `digit`, `say`, `speak`, `ping` and `leave`; it gets `hello`, `mark`, `clear`, `transcript`, `node`, `speech`, `pong` and `end`.
 */
export class BrowserLeg implements MediaLeg {
  readonly #clock: Clock;
  readonly #room: string;
  readonly #ended: () => void;
  readonly #events = eventBuffer<MediaLegEvents>();
  readonly #takes: (ms: number) => boolean;
  readonly #marks = new Set<string>();
  #socket: BrowserSocket | null = null;
  #started = false;
  /** Starts that came over the present socket. */
  #starts = 0;
  #closing = false;
  #heardMs: number;
  #stopWaiting: () => void = () => undefined;
  #stopLooking: () => void;
  readonly #shown = new ShownWords();
  readonly #mayType: (text: string) => boolean;
  readonly #wishes = wishesOf((message) => this.#tell(message));

  constructor(clock: Clock, room: string, ended: () => void) {
    this.#clock = clock;
    this.#room = room;
    this.#ended = ended;
    this.#takes = realTime(clock);
    this.#mayType = typedWords(clock);
    this.#heardMs = clock.monotonicMs();
    this.#stopLooking = startTimer(clock, LOOK_EVERY_MS, () => this.#look());
  }

  isOpen(): boolean {
    return this.#events.isOpen() && !this.#closing;
  }

  /** Takes a client's socket; one that was there before gives way. */
  attach(socket: BrowserSocket): void {
    if (!this.isOpen()) return socket.close(NORMAL_CLOSURE);
    const before = this.#socket;
    this.#socket = socket;
    this.#starts = 0;
    before?.close(REPLACED);
    this.#stopWaiting();
    this.#heardMs = this.#clock.monotonicMs();
    socket.on("message", (data, isBinary) => {
      if (this.#socket !== socket || !this.isOpen()) return;
      if (isBinary) this.#audio(data);
      else this.#command(String(data));
    });
    socket.on("error", () => socket.terminate());
    socket.on("close", (code) => this.#gone(socket, code));
    this.#hello();
  }

  listen(events: MediaLegEvents): void {
    this.#events.listen(events);
  }

  write(frame: Uint8Array): void {
    const socket = this.#socket;
    if (!socket || !this.isOpen()) return;
    if (socket.bufferedAmount > MAX_BUFFERED_BYTES) socket.terminate();
    else if (socket.bufferedAmount <= MAX_UNSENT_MS * BYTES_PER_MS) socket.send(frame);
  }

  mark(name: string): void {
    if (!this.#socket || this.#marks.size >= MAX_MARKS) return;
    this.#marks.add(name);
    this.#tell({ type: "mark", name });
  }

  clear(): void {
    this.#tell({ type: "clear" });
    const pending = [...this.#marks];
    this.#marks.clear();
    for (const name of pending) this.#events.emit((e) => e.mark(name, "cleared"));
  }

  close(): void {
    const socket = this.#socket;
    if (this.#closing || !socket) {
      this.#closing = true;
      socket?.terminate();
      this.#end("closed");
      return;
    }
    this.#tell({ type: "end" });
    this.#closing = true;
    socket.close(NORMAL_CLOSURE);
  }

  /** Gets what the client wants to be spoken, and has wanted since it came; null: it has nothing spoken. */
  hear(speak: Speak | null): void {
    this.#wishes.hear(speak);
  }

  /** Tells the client what becomes of an utterance of its own. */
  tell(event: UtteranceEvent): void {
    this.#tell({ type: "speech", ...event });
  }

  /** Shows the client the words and the node of its conversation. */
  show(lines: readonly ShownLine[], node: string): void {
    for (const message of this.#shown.change(lines, node)) this.#tell(message);
  }

  /** Who comes, also to a conversation under way, sees all of it. */
  #hello(): void {
    const { rate: sample_rate } = BROWSER_FORMAT;
    this.#tell({ type: "hello", room: this.#room, sample_rate, frame_ms: FRAME_MS, resumed: this.#started });
    for (const message of this.#shown.all()) this.#tell(message);
  }

  #tell(message: object): void {
    const socket = this.#socket;
    if (!socket || this.#closing) return;
    if (socket.bufferedAmount > MAX_BUFFERED_BYTES) socket.terminate();
    else socket.send(JSON.stringify(message));
  }

  #audio(data: unknown): void {
    this.#heardMs = this.#clock.monotonicMs();
    if (!this.#started || !(data instanceof Uint8Array)) return;
    const ms = data.byteLength / BYTES_PER_MS;
    if (data.byteLength === 0 || data.byteLength % 2 !== 0 || ms > MAX_INPUT_MS) this.#events.emit((e) => e.fault());
    else if (this.#takes(ms)) this.#events.emit((e) => e.audio(data));
  }

  #command(text: string): void {
    const message = text.length > MAX_TEXT_CHARS ? null : recordIn(text);
    const value = textOf(message?.["name"]);
    switch (message?.["type"]) {
      case "start":
        return this.#start();
      case "mark":
        if (this.#marks.delete(value)) this.#events.emit((e) => e.mark(value, "played"));
        return;
      case "speak":
        return this.#wishes.ask(message);
      case "digit":
        if (DTMF_KEY.test(value)) this.#events.emit((e) => e.digit(value));
        return;
      case "say":
        return this.#say(textOf(message["text"]).trim());
      case "ping":
        return this.#tell({ type: "pong" });
      case "leave":
        this.#end("closed");
        this.#closing = true;
        this.#socket?.close(NORMAL_CLOSURE);
        return;
      default:
        this.#events.emit((e) => e.fault());
    }
  }

  /** Words that were typed in place of being spoken. */
  #say(text: string): void {
    const isTaken = this.#started && this.#mayType(text);
    this.#events.emit((e) => (isTaken ? e.typed?.(text) : e.fault()));
  }

  #start(): void {
    this.#starts += 1;
    // in a room we begin when we hear the client, who may have missed what was sent before it could hear us
    if (this.#starts === 2) return this.#hello();
    if (this.#started) return;
    this.#started = true;
    this.#events.emit((e) => e.ready(this.#room, BROWSER_FORMAT));
  }

  #gone(socket: BrowserSocket, code?: number): void {
    if (this.#socket !== socket) return;
    this.#socket = null;
    if (this.#closing) return this.#end("closed");
    // a tab that is closed looks the same as one that is loaded again: RFC 6455, 7.4.1
    const how: MediaEnd = code === 1000 || code === 1001 ? "closed" : "broken";
    this.#stopWaiting = startTimer(this.#clock, RESUME_MS, () => this.#end(how));
  }

  #look(): void {
    if (!this.#events.isOpen()) return;
    if (this.#socket && this.#clock.monotonicMs() - this.#heardMs >= NO_MEDIA_MS) {
      this.#end("broken");
      this.#closing = true;
      this.#socket.terminate();
      return;
    }
    this.#stopLooking = startTimer(this.#clock, LOOK_EVERY_MS, () => this.#look());
  }

  #end(how: MediaEnd): void {
    if (!this.#events.isOpen()) return;
    this.#stopWaiting();
    this.#stopLooking();
    this.#marks.clear();
    this.#ended();
    this.#events.close(how);
  }
}
