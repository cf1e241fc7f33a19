/** How sound travels on a stream: G.711 (one byte a sample) or linear 16 bit little-endian, mono, samples a second. */
export interface SoundFormat {
  readonly codec: "pcmu" | "pcma" | "s16le";
  readonly rate: 8000 | 16_000 | 24_000 | 48_000;
}

/** Sound comes and goes in frames of this length. */
export const FRAME_MS = 20;

const MS_PER_SECOND = 1_000;
const BYTE_VALUES = 256;
const SAMPLE_VALUES = 65_536;
/** G.711's µ-law: what is added before the segment is looked for, and the loudest sample it knows. */
const MU_BIAS = 132;
const MU_CLIP = 32_635;
const SIGN = 0x80;

/** Samples of a frame. */
export const frameSamples = ({ rate }: SoundFormat): number => (rate * FRAME_MS) / MS_PER_SECOND;
/** Bytes of a frame. */
export const frameBytes = (format: SoundFormat): number => frameSamples(format) * (format.codec === "s16le" ? 2 : 1);

function muToLinear(code: number): number {
  const bits = ~code & 0xff;
  const magnitude = ((((bits & 0x0f) << 3) + MU_BIAS) << ((bits & 0x70) >> 4)) - MU_BIAS;
  return (bits & SIGN) === 0 ? magnitude : -magnitude;
}

function linearToMu(sample: number): number {
  const magnitude = Math.min(Math.abs(sample), MU_CLIP) + MU_BIAS;
  const segment = Math.max(0, 31 - Math.clz32(magnitude) - 7);
  return ~((sample < 0 ? SIGN : 0) | (segment << 4) | ((magnitude >> (segment + 3)) & 0x0f)) & 0xff;
}

function aToLinear(code: number): number {
  const bits = code ^ 0x55;
  const segment = (bits & 0x70) >> 4;
  const low = ((bits & 0x0f) << 4) + 8;
  const magnitude = segment === 0 ? low : (low + 0x100) << (segment - 1);
  return (bits & SIGN) === 0 ? -magnitude : magnitude;
}

function linearToA(sample: number): number {
  const magnitude = Math.min(sample < 0 ? ~sample : sample, 32_767);
  const segment = magnitude < 256 ? 0 : 31 - Math.clz32(magnitude) - 7;
  return (
    (((sample < 0 ? 0 : SIGN) | (segment << 4) | ((magnitude >> (segment === 0 ? 4 : segment + 3)) & 0x0f)) ^ 0x55) &
    0xff
  );
}

interface Law {
  toLinear: Int16Array;
  fromLinear: Uint8Array;
}
const lawOf = (toLinear: (code: number) => number, fromLinear: (sample: number) => number): Law => ({
  toLinear: Int16Array.from({ length: BYTE_VALUES }, (_, code) => toLinear(code)),
  fromLinear: Uint8Array.from({ length: SAMPLE_VALUES }, (_, bits) => fromLinear((bits << 16) >> 16)),
});
const LAWS = { pcmu: lawOf(muToLinear, linearToMu), pcma: lawOf(aToLinear, linearToA) };

/** Samples as the stream's bytes. */
export function encodeSound({ codec }: SoundFormat, pcm: Int16Array): Buffer {
  if (codec === "s16le") {
    const bytes = Buffer.alloc(pcm.length * 2);
    pcm.forEach((sample, n) => bytes.writeInt16LE(sample, n * 2));
    return bytes;
  }
  const { fromLinear } = LAWS[codec];
  const bytes = Buffer.alloc(pcm.length);
  for (let n = 0; n < pcm.length; n += 1) bytes[n] = fromLinear[(pcm[n] ?? 0) & 0xffff] ?? 0;
  return bytes;
}

/** The stream's bytes as samples; half a sample at the end is left out. */
export function decodeSound({ codec }: SoundFormat, bytes: Uint8Array): Int16Array {
  if (codec === "s16le")
    return Int16Array.from(
      { length: bytes.length >> 1 },
      (_, n) => (((bytes[2 * n + 1] ?? 0) << 24) >> 16) | (bytes[2 * n] ?? 0),
    );
  const { toLinear } = LAWS[codec];
  const pcm = new Int16Array(bytes.length);
  for (let n = 0; n < bytes.length; n += 1) pcm[n] = toLinear[bytes[n] ?? 0] ?? 0;
  return pcm;
}

/** The loudest sample. */
export function peakOf(pcm: Int16Array): number {
  let peak = 0;
  for (let n = 0; n < pcm.length; n += 1) peak = Math.max(peak, Math.abs(pcm[n] ?? 0));
  return peak;
}
