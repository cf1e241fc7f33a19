import type { AudioFormat } from "../transport/port.ts";
import { silentFrame } from "./frame-pool.ts";
import type { Pcm } from "./port.ts";

/** Converts samples to the bytes of a leg and back; both directions copy. */
export interface Codec {
  decode(bytes: Uint8Array): Pcm;
  encode(pcm: Pcm): Uint8Array;
}

const MU_BIAS = 0x84;
const MU_CLIP = 32_635;
const SIXTEEN_BITS = 65_536;

function muOf(sample: number): number {
  const sign = sample < 0 ? 0x80 : 0;
  const biased = Math.min(Math.abs(sample), MU_CLIP) + MU_BIAS;
  const exponent = 24 - Math.clz32(biased);
  return ~(sign | (exponent << 4) | ((biased >> (exponent + 3)) & 0x0f)) & 0xff;
}

function sampleOfMu(code: number): number {
  const u = ~code & 0xff;
  const magnitude = ((((u & 0x0f) << 3) + MU_BIAS) << ((u & 0x70) >> 4)) - MU_BIAS;
  return u & 0x80 ? -magnitude : magnitude;
}

function aOf(sample: number): number {
  const mask = sample < 0 ? 0x55 : 0xd5;
  const magnitude = (sample < 0 ? ~sample : sample) >> 3;
  const segment = Math.max(27 - Math.clz32(magnitude), 0);
  return ((segment << 4) | ((magnitude >> Math.max(segment, 1)) & 0x0f)) ^ mask;
}

function sampleOfA(code: number): number {
  const a = code ^ 0x55;
  const segment = (a & 0x70) >> 4;
  const low = ((a & 0x0f) << 4) + (segment === 0 ? 8 : 0x108);
  const magnitude = segment > 1 ? low << (segment - 1) : low;
  return a & 0x80 ? magnitude : -magnitude;
}

function tables(codeOf: (sample: number) => number, sampleOf: (code: number) => number): Codec {
  const samples = Int16Array.from({ length: 256 }, (_, code) => sampleOf(code));
  const codes = Uint8Array.from({ length: SIXTEEN_BITS }, (_, bits) => codeOf((bits << 16) >> 16));
  return {
    decode(bytes) {
      const pcm = silentFrame(bytes.length);
      for (let i = 0; i < bytes.length; i++) pcm[i] = samples[bytes[i] ?? 0] ?? 0;
      return pcm;
    },
    encode(pcm) {
      // from Node's pool of small buffers: it is freed right after sending
      const bytes = Buffer.allocUnsafe(pcm.length);
      for (let i = 0; i < pcm.length; i++) bytes[i] = codes[(pcm[i] ?? 0) & 0xffff] ?? 0;
      return bytes;
    },
  };
}

/** G.711 µ-law. */
export const muLaw: Codec = tables(muOf, sampleOfMu);

/** G.711 A-law. */
export const aLaw: Codec = tables(aOf, sampleOfA);

/** Linear 16 bit, little-endian like every supported processor. A half sample at the end is dropped. */
export const linear16: Codec = {
  decode(bytes) {
    // a view would fail where the piece begins at an odd byte of its buffer
    const aligned = new Uint8Array(bytes.length & ~1);
    aligned.set(bytes.length === aligned.length ? bytes : bytes.subarray(0, aligned.length));
    return new Int16Array(aligned.buffer);
  },
  encode: (pcm) => new Uint8Array(pcm.buffer, pcm.byteOffset, pcm.byteLength).slice(),
};

const CODECS: Readonly<Record<AudioFormat["codec"], Codec>> = { pcmu: muLaw, pcma: aLaw, s16le: linear16 };

/** The codec of this name. */
export const codecFor = (name: AudioFormat["codec"]): Codec => CODECS[name];
