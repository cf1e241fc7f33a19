import type { AudioFormat, MediaLeg, MediaLegEvents } from "./port.ts";
import type { LegSocket } from "./text-relay-leg.ts";
import { frameOf, isKey, type Frame } from "./stream-frames.ts";
import { mailbox } from "./event-buffer.ts";

/** What is needed of a WebSocket (the `ws` package's fits). */
export type MediaSocket = LegSocket;

/** What a carrier's dialect tells of the frames it reads. */
export interface StreamTold {
  /** The stream is set up; format null: in a way that is not spoken here. */
  start(call_id: string, format: AudioFormat | null): void;
  /** Sound in base64, in order. */
  audio(payload: string): void;
  digit(digit: string): void;
  /** A mark came back. */
  markBack(name: string): void;
  /** The carrier complains about something we sent. */
  complaint(): void;
  /** The frame is none that the carrier may send. */
  bad(): void;
  /** The stream is over. */
  stop(): void;
}

/** How one carrier speaks: frames in, frames out. One for each stream; frames out are asked for only after `start`. */
export interface Dialect {
  read(frame: Frame, told: StreamTold): void;
  /** Hands out what is still held back: nothing more will come. */
  flush?(told: StreamTold): void;
  media(frame: Uint8Array): string;
  mark(name: string): string;
  clear(): string;
  keys?(digits: string): string;
  /** The carrier sends back marks that were cleared; else they are told as cleared at once. */
  readonly returns_cleared: boolean;
}

/** Unsent bytes at which the other side counts as gone. */
const MAX_BUFFERED_BYTES = 1_048_576;
/** Marks under way; of one more it is said at once that it was not played. */
const MAX_MARKS = 1000;
const NORMAL_CLOSURE = 1000;
const UNSUPPORTED_DATA = 1003;

/** A leg over a carrier's stream of JSON frames: what all of them share. */
class StreamLeg implements MediaLeg, StreamTold {
  readonly sendDtmf?: (digits: string) => void;
  readonly #socket: MediaSocket;
  readonly #dialect: Dialect;
  readonly #events = mailbox();
  #format: AudioFormat | null = null;
  #closing = false;
  #blamed = false;
  /** Marks that have not come back; true: cleared since. */
  readonly #marks = new Map<string, boolean>();

  constructor(socket: MediaSocket, dialect: Dialect) {
    this.#socket = socket;
    this.#dialect = dialect;
    const { keys } = dialect;
    if (keys) this.sendDtmf = (digits) => this.#send(() => keys(digits));
    socket.on("message", (data, isBinary) => {
      if (this.#closing || !this.#events.isOpen()) return;
      const frame = isBinary ? null : frameOf(data.toString());
      if (frame) dialect.read(frame, this);
      else this.bad();
    });
    socket.on("error", () => socket.terminate());
    socket.on("close", () => this.#gone());
  }

  listen(events: MediaLegEvents): void {
    this.#events.listen(events);
  }

  write(frame: Uint8Array): void {
    this.#send(() => this.#dialect.media(frame));
  }

  mark(name: string): void {
    if (!this.#format || this.#closing) return;
    if (this.#marks.size >= MAX_MARKS) {
      this.bad();
      this.#events.tell((e) => e.mark(name, "cleared"));
      return;
    }
    this.#marks.set(name, false);
    this.#send(() => this.#dialect.mark(name));
  }

  clear(): void {
    this.#send(() => this.#dialect.clear());
    const pending = [...this.#marks.keys()];
    if (this.#dialect.returns_cleared) {
      for (const name of pending) this.#marks.set(name, true);
      return;
    }
    this.#marks.clear();
    for (const name of pending) this.#events.tell((e) => e.mark(name, "cleared"));
  }

  close(): void {
    if (this.#closing) this.#socket.terminate();
    else this.#socket.close(NORMAL_CLOSURE);
    this.#closing = true;
  }

  start(call_id: string, format: AudioFormat | null): void {
    if (this.#format) return;
    if (!format) {
      this.#closing = true;
      this.#events.tell((e) => e.fault());
      this.#socket.close(UNSUPPORTED_DATA);
      return;
    }
    this.#format = format;
    this.#events.tell((e) => e.ready(call_id === "" ? null : call_id, format));
  }

  audio(payload: string): void {
    if (!this.#format) return;
    const bytes = Buffer.from(payload, "base64");
    if (bytes.length === 0 || (this.#format.codec === "s16le" && bytes.length % 2 !== 0)) {
      this.bad();
      return;
    }
    this.#events.tell((e) => e.audio(bytes));
  }

  digit(digit: string): void {
    if (isKey(digit)) this.#events.tell((e) => e.digit(digit));
    else this.bad();
  }

  markBack(name: string): void {
    const cleared = this.#marks.get(name);
    if (cleared === undefined) return; // never sent, or told already
    this.#marks.delete(name);
    this.#events.tell((e) => e.mark(name, cleared ? "cleared" : "played"));
  }

  complaint(): void {
    this.#events.tell((e) => e.fault());
  }

  /** Once a call: a carrier that gets one frame wrong gets them all wrong. */
  bad(): void {
    if (this.#blamed) return;
    this.#blamed = true;
    this.complaint();
  }

  stop(): void {
    this.#gone();
    if (!this.#closing) this.close();
  }

  #gone(): void {
    if (!this.#closing) this.#dialect.flush?.(this);
    this.#marks.clear();
    this.#events.close();
  }

  #send(frame: () => string): void {
    if (!this.#events.isOpen() || this.#closing || !this.#format) return;
    if (this.#socket.bufferedAmount > MAX_BUFFERED_BYTES) {
      this.#socket.terminate();
      return;
    }
    this.#socket.send(frame());
  }
}

/** Opens a leg over a socket on which this dialect is spoken. */
export const streamLeg = (socket: MediaSocket, dialect: Dialect): MediaLeg => new StreamLeg(socket, dialect);
