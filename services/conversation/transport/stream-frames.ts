import type { AudioFormat } from "./port.ts";
import { MAX_FRAME_BYTES } from "./text-relay-leg.ts";

/** A JSON object as it came; nothing in it is believed. */
export type Frame = Readonly<Record<string, unknown>>;

const NOTHING: Frame = {};
const CODECS: Readonly<Record<string, AudioFormat["codec"]>> = {
  "audio/x-mulaw": "pcmu",
  "audio/mulaw": "pcmu",
  "audio/pcmu": "pcmu",
  mulaw: "pcmu",
  pcmu: "pcmu",
  "audio/x-alaw": "pcma",
  "audio/alaw": "pcma",
  "audio/pcma": "pcma",
  alaw: "pcma",
  pcma: "pcma",
  "audio/x-l16": "s16le",
  "audio/l16": "s16le",
  l16: "s16le",
};
const RATES: readonly AudioFormat["rate"][] = [8000, 16_000, 24_000, 48_000];
/** The rate of G.711, where nobody names one. */
const TELEPHONE_RATE = 8000;

const isFrame = (value: unknown): value is Frame =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The message as an object; null for what is none, or too large to be one of a carrier's. */
export function frameOf(message: string): Frame | null {
  if (message.length > MAX_FRAME_BYTES) return null;
  try {
    const frame: unknown = JSON.parse(message);
    return isFrame(frame) ? frame : null;
  } catch {
    return null;
  }
}

/** An object inside a frame; empty where there is none. */
export function partOf(frame: Frame, name: string): Frame {
  const part = frame[name];
  return isFrame(part) ? part : NOTHING;
}

/** A text of a frame; empty where there is none. */
export function textOf(frame: Frame, name: string): string {
  const value = frame[name];
  return typeof value === "string" ? value : "";
}

/** A whole number of a frame, which carriers write as number or text; null where there is none. */
export function countOf(frame: Frame, name: string): number | null {
  const value = frame[name];
  if (typeof value === "string" && value === "") return null;
  const number = typeof value === "number" || typeof value === "string" ? Number(value) : Number.NaN;
  return Number.isSafeInteger(number) && number >= 0 ? number : null;
}

/** How a stream sounds by the carrier's words for it; null: in a way that is not spoken here. */
export function formatOf(encoding: string, rate: number | null, channels: number | null): AudioFormat | null {
  const codec = CODECS[(encoding.split(";")[0] ?? "").trim().toLowerCase()];
  if (codec === undefined || (channels !== null && channels !== 1)) return null;
  const asked = rate ?? (codec === "s16le" ? null : TELEPHONE_RATE);
  const known = RATES.find((r) => r === asked);
  return known === undefined || (codec !== "s16le" && known !== TELEPHONE_RATE) ? null : { codec, rate: known };
}

/** A key of the telephone. */
export const isKey = (digit: string): boolean => /^[0-9*#A-D]$/i.test(digit);

/** Sound of the other side, not the echo of ours; carriers that send one direction only may not say which. */
export function isInbound(media: Frame): boolean {
  const track = media["track"];
  return track === undefined || track === "inbound" || track === "inbound_track";
}

/** The bytes of a frame of sound in base64; without copying where they can be shared. */
export const base64Of = (frame: Uint8Array): string =>
  Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength).toString("base64");
