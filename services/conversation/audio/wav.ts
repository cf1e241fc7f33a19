import { aLaw, linear16, muLaw, type Codec } from "./g711.ts";
import type { Pcm } from "./port.ts";

/** The format of a WAV and the position of its samples. `end` null: the writer did not know it, as in a stream. */
export interface WavFormat {
  readonly rate: number;
  readonly channels: number;
  readonly codec: Codec;
  readonly at: number;
  readonly end: number | null;
}

/** Bytes before the audio in the headers written here. */
export const HEADER_BYTES = 44;
/** Offset of the rate in such a header. */
export const RATE_AT = 24;
const LINEAR = 1;
const SAMPLE_BYTES = 2;
const CHUNK_HEAD_BYTES = 8;
const RIFF_HEAD_BYTES = 12;
const FORMAT_BYTES = 16;
/** Offset of the actual format in an extensible header. */
const SUBFORMAT_AT = 24;
const EXTENSIBLE = 0xfffe;
const MAX_CHANNELS = 8;
const MAX_RATE_HZ = 192_000;
/** A WAV of more than 4 GiB (EBU Tech 3306): its sizes stand in the chunk `ds64`. */
const LARGE = /^(?:RF64|BW64)$/;
const DS64_SOUND_AT = 8;
/** Writers of streams leave zeros or all ones for the size. */
const UNKNOWN_FROM = 0x7fff_ffff;

/** The header of a WAV of linear 16 bit samples with so many bytes of audio in all. */
export function wavHeaderOf(rate: number, channels: number, bytes: number): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  const frame = channels * SAMPLE_BYTES;
  header.write("RIFF", 0, "latin1");
  header.writeUInt32LE(HEADER_BYTES - CHUNK_HEAD_BYTES + bytes, 4);
  header.write("WAVEfmt ", 8, "latin1");
  header.writeUInt32LE(FORMAT_BYTES, 16);
  header.writeUInt16LE(LINEAR, 20);
  header.writeUInt16LE(channels, 22);
  header.writeUInt32LE(rate, RATE_AT);
  header.writeUInt32LE(rate * frame, 28);
  header.writeUInt16LE(frame, 32);
  header.writeUInt16LE(8 * SAMPLE_BYTES, 34);
  header.write("data", 36, "latin1");
  header.writeUInt32LE(bytes, 40);
  return header;
}

/** The audio as a WAV, mono, 16 bit. */
export const wavOf = (pcm: Pcm, rate: number): Buffer =>
  Buffer.concat([wavHeaderOf(rate, 1, pcm.length * SAMPLE_BYTES), linear16.encode(pcm)]);

function formatOf(chunk: Buffer): Omit<WavFormat, "at" | "end"> {
  if (chunk.length < FORMAT_BYTES) throw new RangeError("a wav whose format is cut");
  const written = chunk.readUInt16LE(0);
  const kind = written === EXTENSIBLE && chunk.length >= SUBFORMAT_AT + 2 ? chunk.readUInt16LE(SUBFORMAT_AT) : written;
  const [channels, rate, bits] = [chunk.readUInt16LE(2), chunk.readUInt32LE(4), chunk.readUInt16LE(14)];
  const codec = new Map([
    ["1/16", linear16],
    ["6/8", aLaw],
    ["7/8", muLaw],
  ]).get(`${kind}/${bits}`);
  if (!codec || channels < 1 || channels > MAX_CHANNELS || rate < 1 || rate > MAX_RATE_HZ)
    throw new RangeError(`a wav of format ${kind}, ${channels} channels, ${rate} Hz, ${bits} bits`);
  return { rate, channels, codec };
}

/** Reads the header of a WAV from its first bytes; null: more bytes are needed. Throws RangeError for anything else and for unsupported formats. */
export function wavFormat(bytes: Uint8Array): WavFormat | null {
  const wav = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (wav.length < RIFF_HEAD_BYTES) return null;
  const kind = wav.toString("latin1", 0, 4);
  if ((kind !== "RIFF" && !LARGE.test(kind)) || wav.toString("latin1", 8, 12) !== "WAVE")
    throw new RangeError("no wav");
  let sound: number | null = null;
  let format: Omit<WavFormat, "at" | "end"> | null = null;
  for (let at = RIFF_HEAD_BYTES; at + CHUNK_HEAD_BYTES <= wav.length;) {
    const name = wav.toString("latin1", at, at + 4);
    const size = wav.readUInt32LE(at + 4);
    const body = at + CHUNK_HEAD_BYTES;
    if (name === "data") {
      if (!format) throw new RangeError("a wav without a format");
      const bytes = size === 0 || size >= UNKNOWN_FROM ? sound : size;
      return { ...format, at: body, end: bytes === null ? null : body + bytes };
    }
    if (name === "fmt " && body + size > wav.length) return null;
    if (name === "ds64" && body + DS64_SOUND_AT + 8 > wav.length) return null;
    if (name === "ds64") sound = Number(wav.readBigUInt64LE(body + DS64_SOUND_AT)) || null;
    if (name === "fmt ") format = formatOf(wav.subarray(body, body + size));
    // chunks of an odd size are padded by one byte
    at = body + size + (size % 2);
  }
  return null;
}
