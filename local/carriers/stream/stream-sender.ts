import { WebSocket } from "ws";
import { FRAME_MS } from "./audio-format.ts";
import type { Numbers, StreamDialect } from "./stream-dialect.ts";

/** A reader that falls further behind loses frames. */
const MAX_UNREAD_BYTES = 1_000_000;
const EVERY_NTH_TWICE = 10;

/** Numbers and sends the messages of one stream. */
export class StreamSender {
  readonly #dialect: StreamDialect;
  #socket: WebSocket | null = null;
  #sequence = 0;
  #chunk = 0;
  #lostFrames = 0;
  /** A frame that a fault keeps for the next one; undefined: there is no such fault. */
  #delayed: string | null | undefined;

  constructor(dialect: StreamDialect) {
    this.#dialect = dialect;
  }

  /** Frames that the application was too slow to read. */
  get lostFrames(): number {
    return this.#lostFrames;
  }

  /** The socket to send on. */
  use(socket: WebSocket): void {
    this.#socket = socket;
  }

  /** From now on frames come out of order, some twice. */
  shuffle(): void {
    this.#delayed = null;
  }

  /** The next message's numbers. */
  numbers(): Numbers {
    this.#sequence += 1;
    return { sequence: this.#sequence, chunk: this.#chunk, ms: this.#chunk * FRAME_MS };
  }

  /** Sends a message; null: the dialect has none. Without an open socket it is dropped. */
  send(message: object | string | null): void {
    const socket = this.#socket;
    if (message === null || socket?.readyState !== WebSocket.OPEN) return;
    socket.send(typeof message === "string" ? message : JSON.stringify(message));
  }

  /** Reports marks as reached, each in a message of its own. */
  marks(names: readonly string[]): void {
    for (const name of names) this.send(this.#dialect.mark(name, this.numbers()));
  }

  /** Sends a frame of the person's sound, base64. */
  frame(payload: string): void {
    const socket = this.#socket;
    if (!socket || socket.bufferedAmount > MAX_UNREAD_BYTES) {
      this.#lostFrames += 1;
      return;
    }
    this.#chunk += 1;
    const message = this.#dialect.media(payload, this.numbers());
    if (this.#delayed === null) {
      this.#delayed = message;
      return;
    }
    this.send(message);
    if (this.#delayed === undefined) return;
    this.send(this.#delayed);
    if (this.#chunk % EVERY_NTH_TWICE === 0) this.send(message);
    this.#delayed = null;
  }
}
