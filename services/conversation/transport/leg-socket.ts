import type { MediaEnd } from "../../../shared/hangup-source.ts";
import { recordIn } from "../../../shared/json.ts";

/** What a leg needs of a WebSocket (the `ws` package's fits). */
export interface LegSocket {
  /** Unsent bytes. */
  readonly bufferedAmount: number;
  send(data: string): void;
  close(code?: number): void;
  terminate(): void;
  on(event: "message", listener: (data: { toString(): string }, isBinary: boolean) => void): unknown;
  on(event: "close", listener: (code?: number) => void): unknown;
  on(event: "error", listener: () => void): unknown;
}

/** A JSON object from the carrier; its content is not trusted. */
export type Frame = Readonly<Record<string, unknown>>;

/** Largest frame that is read, bytes. */
export const MAX_FRAME_BYTES = 65_536;
/** Unsent bytes at which the other side counts as gone. */
const MAX_BUFFERED_BYTES = 1_048_576;
/** Close code of a leg that has done its work (RFC 6455, 7.4.1). */
export const NORMAL_CLOSURE = 1000;

/** Closed in order: done, going away, or no code at all. Every other code names a fault, 1006 a socket without a close frame (RFC 6455, 7.4.1). */
const IN_ORDER: readonly (number | undefined)[] = [undefined, NORMAL_CLOSURE, 1001, 1005];

/** How the other side ended the socket. */
export const endOfSocket = (code?: number): MediaEnd => (IN_ORDER.includes(code) ? "closed" : "broken");

/** The message as an object; null for any other JSON and for a message that is too large. */
export const parseFrame = (message: string): Frame | null =>
  Buffer.byteLength(message) > MAX_FRAME_BYTES ? null : recordIn(message);

/** Sends a frame; drops the connection of a side that no longer reads. */
export function sendFrame(socket: LegSocket, frame: string): void {
  if (socket.bufferedAmount > MAX_BUFFERED_BYTES) socket.terminate();
  else socket.send(frame);
}
