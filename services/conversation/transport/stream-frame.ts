import { isRecord, textOf } from "../../../shared/json.ts";
import type { Frame } from "./leg-socket.ts";
import type { AudioFormat } from "./port.ts";

/** Reads one value of a frame. */
export type FrameReader<T> = (frame: Frame) => T;

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
/** The rate of G.711 where the carrier names none. */
const TELEPHONE_RATE = 8000;

/** Reads the value at a dotted path; undefined where the path leads nowhere. */
export function valueAt(path: string): FrameReader<unknown> {
  const names = path.split(".");
  return (frame) => {
    let value: unknown = frame;
    for (const name of names) value = isRecord(value) ? value[name] : undefined;
    return value;
  };
}

/** Reads the string at a dotted path; "" where there is none. */
export function textAt(path: string): FrameReader<string> {
  const read = valueAt(path);
  return (frame) => textOf(read(frame));
}

/** Reads the whole number at a dotted path, written as number or text; null where there is none. */
export function countAt(path: string): FrameReader<number | null> {
  const read = valueAt(path);
  return (frame) => {
    const value = read(frame);
    if (value === "") return null;
    const number = typeof value === "number" || typeof value === "string" ? Number(value) : Number.NaN;
    return Number.isSafeInteger(number) && number >= 0 ? number : null;
  };
}

/** The audio format by the carrier's names for it; null: not supported. */
export function formatOf(encoding: string, rate: number | null, channels: number | null): AudioFormat | null {
  const codec = CODECS[(encoding.split(";")[0] ?? "").trim().toLowerCase()];
  if (codec === undefined || (channels !== null && channels !== 1)) return null;
  const wanted = rate ?? (codec === "s16le" ? null : TELEPHONE_RATE);
  const known = RATES.find((r) => r === wanted);
  return known === undefined || (codec !== "s16le" && known !== TELEPHONE_RATE) ? null : { codec, rate: known };
}
