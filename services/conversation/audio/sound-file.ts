import { aLaw, linear16, muLaw, type Codec } from "./g711.ts";
import type { WavFormat } from "./wav.ts";

/** Headers of AU and AIFF files: big-endian what a WAV is. Pure. */

/** Linear 16 bit, big-endian. */
const bigEndian16: Codec = {
  decode: (bytes) => {
    const whole = Buffer.from(bytes.subarray(0, bytes.length & ~1));
    return linear16.decode(whole.swap16());
  },
  encode: (pcm) => Buffer.from(linear16.encode(pcm)).swap16(),
};

const AU_HEAD_BYTES = 24;
const AU_CODECS: ReadonlyMap<number, Codec> = new Map([
  [1, muLaw],
  [3, bigEndian16],
  [27, aLaw],
]);
const UNKNOWN_SIZE = 0xffff_ffff;
const AIFF_HEAD_BYTES = 12;
const CHUNK_HEAD_BYTES = 8;
const SSND_HEAD_BYTES = 8;
const AIFF_CODECS: Readonly<Record<string, Codec>> = {
  NONE: bigEndian16,
  twos: bigEndian16,
  sowt: linear16,
  ulaw: muLaw,
  ULAW: muLaw,
  alaw: aLaw,
  ALAW: aLaw,
};
const MAX_CHANNELS = 8;

const checked = (format: WavFormat): WavFormat => {
  if (format.channels < 1 || format.channels > MAX_CHANNELS || !(format.rate > 0))
    throw new RangeError(`a sound of ${format.channels} channels, ${format.rate} Hz`);
  return format;
};

/** Reads the header of an AU file; null: more bytes are needed. Throws RangeError for other codings. */
export function auFormat(bytes: Uint8Array): WavFormat | null {
  const au = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (au.length < AU_HEAD_BYTES) return null;
  const [at, size, coding] = [au.readUInt32BE(4), au.readUInt32BE(8), au.readUInt32BE(12)];
  const codec = AU_CODECS.get(coding);
  if (codec === undefined || at < AU_HEAD_BYTES) throw new RangeError(`an AU file of coding ${coding}`);
  if (au.length < at) return null;
  const end = size === UNKNOWN_SIZE || size === 0 ? null : at + size;
  return checked({ rate: au.readUInt32BE(16), channels: au.readUInt32BE(20), codec, at, end });
}

/** A rate as AIFF writes it: 80 bit floating point. */
const extended = (bytes: Buffer): number =>
  (bytes.readUInt32BE(2) + bytes.readUInt32BE(6) / 2 ** 32) * 2 ** ((bytes.readUInt16BE(0) & 0x7fff) - 16_383 - 31);

function commonOf(chunk: Buffer): Pick<WavFormat, "rate" | "channels" | "codec"> {
  const coding = chunk.length >= 22 ? chunk.toString("latin1", 18, 22) : "NONE";
  const bits = chunk.readUInt16BE(6);
  const codec = AIFF_CODECS[coding];
  if (codec === undefined || (bits !== 16 && codec !== muLaw && codec !== aLaw))
    throw new RangeError(`an AIFF of coding ${coding}, ${bits} bits`);
  return { channels: chunk.readUInt16BE(0), rate: Math.round(extended(chunk.subarray(8, 18))), codec };
}

/** Reads the header of an AIFF or AIFF-C file; null: more bytes are needed. Throws RangeError for other codings. */
export function aiffFormat(bytes: Uint8Array): WavFormat | null {
  const aiff = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let common: ReturnType<typeof commonOf> | null = null;
  for (let at = AIFF_HEAD_BYTES; at + CHUNK_HEAD_BYTES <= aiff.length;) {
    const name = aiff.toString("latin1", at, at + 4);
    const size = aiff.readUInt32BE(at + 4);
    const body = at + CHUNK_HEAD_BYTES;
    if (name === "SSND") {
      if (common === null) throw new RangeError("an AIFF without a format");
      if (body + SSND_HEAD_BYTES > aiff.length) return null;
      const begins = body + SSND_HEAD_BYTES + aiff.readUInt32BE(body);
      const end = size <= SSND_HEAD_BYTES || size >= UNKNOWN_SIZE ? null : body + size;
      return aiff.length < begins ? null : checked({ ...common, at: begins, end });
    }
    if (name === "COMM" && body + size > aiff.length) return null;
    if (name === "COMM") {
      if (size < 18) throw new RangeError("an AIFF whose format is cut");
      common = commonOf(aiff.subarray(body, body + size));
    }
    at = body + size + (size % 2);
  }
  return null;
}
