/** G.711: one byte for a sample of telephone sound, in its two ways. */

const MULAW_BIAS = 132;
const MULAW_CLIP = 32_635;
const ALAW_FLIP = 0x55;
const CODES = 256;

function mulawSample(code: number): number {
  const plain = ~code & 0xff;
  const magnitude = ((((plain & 15) << 3) + MULAW_BIAS) << ((plain >> 4) & 7)) - MULAW_BIAS;
  return plain & 0x80 ? -magnitude : magnitude;
}

function mulawCode(sample: number): number {
  const magnitude = Math.min(Math.abs(sample), MULAW_CLIP) + MULAW_BIAS;
  const exponent = 24 - Math.clz32(magnitude);
  return ~((sample < 0 ? 0x80 : 0) | (exponent << 4) | ((magnitude >> (exponent + 3)) & 15)) & 0xff;
}

function alawSample(code: number): number {
  const plain = code ^ ALAW_FLIP;
  const exponent = (plain >> 4) & 7;
  const mantissa = ((plain & 15) << 4) + 8;
  const magnitude = exponent === 0 ? mantissa : (mantissa + 256) << (exponent - 1);
  return plain & 0x80 ? magnitude : -magnitude;
}

function alawCode(sample: number): number {
  const magnitude = sample < 0 ? -sample - 1 : sample;
  const exponent = magnitude < 256 ? 0 : 24 - Math.clz32(Math.min(magnitude, 32_767));
  const mantissa = (magnitude >> (exponent === 0 ? 4 : exponent + 3)) & 15;
  return ((sample < 0 ? 0 : 0x80) | (exponent << 4) | mantissa) ^ ALAW_FLIP;
}

const tableOf = (sampleOf: (code: number) => number): Int16Array =>
  Int16Array.from({ length: CODES }, (_, code) => sampleOf(code));
const DECODING = { pcmu: tableOf(mulawSample), pcma: tableOf(alawSample) } as const;

/** The two ways of G.711. */
export type Law = keyof typeof DECODING;

/** Samples of G.711 sound. */
export function g711Decode(law: Law, bytes: Uint8Array): Int16Array {
  const table = DECODING[law];
  const pcm = new Int16Array(bytes.length);
  for (let at = 0; at < bytes.length; at += 1) pcm[at] = table[bytes[at] ?? 0] ?? 0;
  return pcm;
}

/** G.711 bytes of samples. */
export function g711Encode(law: Law, pcm: Int16Array): Uint8Array {
  const codeOf = law === "pcmu" ? mulawCode : alawCode;
  const bytes = new Uint8Array(pcm.length);
  for (let at = 0; at < pcm.length; at += 1) bytes[at] = codeOf(pcm[at] ?? 0);
  return bytes;
}
