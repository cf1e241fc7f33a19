import type { EventEmitter } from "node:events";
import { g711Decode, g711Encode } from "../../../speech/g711.ts";
import { pcmBytes, pcmOf } from "../../../speech/wav.ts";

/** What a caller needs of its stream's socket; that of the ws package fits. */
export interface StreamSocket extends Pick<EventEmitter, "on" | "once"> {
  readonly readyState: number;
  send(data: string | Buffer): void;
  send(data: string | Buffer, options: { binary: boolean }): void;
  close(code?: number): void;
  terminate(): void;
}

/** Sound in a stream whose caller does not listen. */
export const UNHEARD = Buffer.from('{"event":"media"}');
/** Times the rate of a telephone. */
const TIMES = 2;

const sounds = new WeakMap<Buffer, Uint8Array>();
/** Whether a message was made into a session's sound before. */
export const isSound = (message: Buffer): boolean => sounds.has(message);

/** Sound of a telephone's stream as a session has it, made once: all callers send the same messages. */
export function soundOf(message: Buffer, payload: string): Uint8Array {
  const known = sounds.get(message);
  if (known) return known;
  const pcm = g711Decode("pcmu", Buffer.from(payload, "base64"));
  const wide = new Int16Array(pcm.length * TIMES);
  pcm.forEach((v, i) => wide.set([v, Math.round((v + (pcm[i + 1] ?? v)) / 2)], i * TIMES));
  const bytes = new Uint8Array(pcmBytes(wide));
  sounds.set(message, bytes);
  return bytes;
}

/** Sound of a session as a telephone's stream has it. */
export function mediaOf(bytes: Uint8Array): Buffer {
  const wide = pcmOf(bytes);
  const pcm = Int16Array.from({ length: wide.length / TIMES }, (_, i) => wide[i * TIMES] ?? 0);
  const payload = Buffer.from(g711Encode("pcmu", pcm)).toString("base64");
  return Buffer.from(`{"event":"media","media":{"payload":"${payload}"}}`);
}
