import { Buffer } from "node:buffer";
import { g711Decode } from "./g711.ts";
import type { Law } from "./g711.ts";

/** WAV: sound with a header that says how it is to be played. */

/** Linear 16 bit sound of one or more channels. */
export type Sound = Readonly<{ rate: number; channels: readonly Int16Array[] }>;

const HEADER_BYTES = 44;
const BYTES_PER_SAMPLE = 2;
const PCM = 1;
const LAWS: Readonly<Record<number, Law>> = { 6: "pcma", 7: "pcmu" };
/** What a server writes as length that does not know it yet. */
const UNKNOWN_LENGTH = 0xffff_ffff;

/** A header; without a length, for sound that is still being made. */
export function wavHeader(rate: number, channels: number, samples?: number): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  const bytes = samples === undefined ? UNKNOWN_LENGTH : samples * channels * BYTES_PER_SAMPLE;
  header.write("RIFF", 0, "latin1");
  header.writeUInt32LE(samples === undefined ? UNKNOWN_LENGTH : bytes + HEADER_BYTES - 8, 4);
  header.write("WAVEfmt ", 8, "latin1");
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(PCM, 20);
  header.writeUInt16LE(channels, 22);
  header.writeUInt32LE(rate, 24);
  header.writeUInt32LE(rate * channels * BYTES_PER_SAMPLE, 28);
  header.writeUInt16LE(channels * BYTES_PER_SAMPLE, 32);
  header.writeUInt16LE(8 * BYTES_PER_SAMPLE, 34);
  header.write("data", 36, "latin1");
  header.writeUInt32LE(bytes, 40);
  return header;
}

/** A whole WAV file; channels that are shorter end in silence. */
export function writeWav(sound: Sound): Buffer {
  const samples = Math.max(0, ...sound.channels.map((channel) => channel.length));
  const mixed = new Int16Array(samples * sound.channels.length);
  sound.channels.forEach((channel, index) =>
    channel.forEach((value, at) => (mixed[at * sound.channels.length + index] = value)),
  );
  return Buffer.concat([wavHeader(sound.rate, sound.channels.length, samples), pcmBytes(mixed)]);
}

/** Samples as little-endian bytes. */
export function pcmBytes(pcm: Int16Array): Buffer {
  const bytes = Buffer.alloc(pcm.length * BYTES_PER_SAMPLE);
  for (let at = 0; at < pcm.length; at += 1) bytes.writeInt16LE(pcm[at] ?? 0, at * BYTES_PER_SAMPLE);
  return bytes;
}

/** Samples of little-endian bytes; half a sample at the end is left out. */
export function pcmOf(bytes: Uint8Array): Int16Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const pcm = new Int16Array(bytes.length >> 1);
  for (let at = 0; at < pcm.length; at += 1) pcm[at] = view.getInt16(at * BYTES_PER_SAMPLE, true);
  return pcm;
}

/** Reads a WAV file of linear 16 bit or G.711 sound; null when it is something else. A length that is unknown or too long means up to the end. */
export function readWav(file: Uint8Array): Sound | null {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  if (bytes.length < 12 || bytes.toString("latin1", 0, 4) !== "RIFF" || bytes.toString("latin1", 8, 12) !== "WAVE")
    return null;
  let format: { channels: number; rate: number; law: Law | null } | null = null;
  for (let at = 12; at + 8 <= bytes.length;) {
    const name = bytes.toString("latin1", at, at + 4);
    const length = bytes.readUInt32LE(at + 4);
    const body = at + 8;
    if (name === "fmt " && body + 16 <= bytes.length) {
      const [code, bits] = [bytes.readUInt16LE(body), bytes.readUInt16LE(body + 14)];
      const law = LAWS[code] ?? null;
      if ((code !== PCM && law === null) || bits !== (law === null ? 8 * BYTES_PER_SAMPLE : 8)) return null;
      format = { channels: bytes.readUInt16LE(body + 2), rate: bytes.readUInt32LE(body + 4), law };
      if (format.channels === 0 || format.rate === 0) return null;
    }
    if (name === "data") {
      if (format === null) return null;
      const sound = bytes.subarray(body, Math.min(bytes.length, body + length));
      return {
        rate: format.rate,
        channels: apart(format.law === null ? pcmOf(sound) : g711Decode(format.law, sound), format.channels),
      };
    }
    at = body + length + (length % 2);
  }
  return null;
}

function apart(mixed: Int16Array, channels: number): Int16Array[] {
  const samples = Math.floor(mixed.length / channels);
  return Array.from({ length: channels }, (_, index) =>
    new Int16Array(samples).map((_value, at) => mixed[at * channels + index] ?? 0),
  );
}
