/** Pairs of tones that carry text within a telephone's band: one byte of UTF-8 is one symbol, its high half a low tone, its low half a high one. */

/** Rates of sound that symbols fall on whole samples of. */
export const RATES = [8000, 16_000, 24_000, 48_000] as const;
export type Rate = (typeof RATES)[number];

/** A symbol's length; its two tones sound together in the middle of it. */
export const SYMBOL_MS = 64;
/** How long the tones of a symbol sound. */
export const TONE_MS = 48;
/** Silence before and after the tones of a symbol. */
export const GAP_MS = (SYMBOL_MS - TONE_MS) / 2;

const RAMP_MS = 2;
const STEP_HZ = 75;
const LOW_GROUP_HZ = 600;
const HIGH_GROUP_HZ = 1900;
const GROUP_SIZE = 16;
/** Level of the two tones together, as a part of full scale: -18 dBFS. */
const LEVEL = 10 ** (-18 / 20);
const FULL_SCALE = 32_767;
const MS_PER_SECOND = 1000;

/** Frequencies of one group, by the half byte they stand for. */
const groupOf = (lowest: number): readonly number[] =>
  Array.from({ length: GROUP_SIZE }, (_, index) => lowest + index * STEP_HZ);
/** Tones of a byte's high half. */
export const LOW_GROUP = groupOf(LOW_GROUP_HZ);
/** Tones of a byte's low half. */
export const HIGH_GROUP = groupOf(HIGH_GROUP_HZ);

/** The two frequencies of a byte, Hz. */
export function tonesOf(byte: number): readonly [number, number] {
  return [LOW_GROUP_HZ + (byte >> 4) * STEP_HZ, HIGH_GROUP_HZ + (byte & 15) * STEP_HZ];
}

const symbols = new Map<number, Int16Array>();

/** The sound of one byte, gaps included. Shared: not to be written to. */
export function symbolPcm(byte: number, rate: Rate): Int16Array {
  const key = rate * 256 + byte;
  const known = symbols.get(key);
  if (known !== undefined) return known;
  const pcm = tonePcm(tonesOf(byte), { rate, silence_ms: GAP_MS, tone_ms: TONE_MS, level: LEVEL });
  symbols.set(key, pcm);
  return pcm;
}

/** Tones that sound together, with soft edges and silence before and after. `level`: RMS of all together, as a part of full scale. */
export function tonePcm(
  tones_hz: readonly number[],
  how: { rate: Rate; silence_ms: number; tone_ms: number; level: number },
): Int16Array {
  const before = (how.silence_ms * how.rate) / MS_PER_SECOND;
  const length = Math.round((how.tone_ms * how.rate) / MS_PER_SECOND);
  const ramp = Math.min(length / 2, (RAMP_MS * how.rate) / MS_PER_SECOND);
  const amplitude = how.level * Math.sqrt(2 / tones_hz.length) * FULL_SCALE;
  const pcm = new Int16Array(length + 2 * before);
  for (let at = 0; at < length; at += 1) {
    const edge = Math.min(at, length - at, ramp) / ramp;
    const soft = (1 - Math.cos(Math.PI * edge)) / 2;
    const sum = tones_hz.reduce((total, hz) => total + Math.sin((2 * Math.PI * hz * at) / how.rate), 0);
    pcm[before + at] = Math.round(amplitude * soft * sum);
  }
  return pcm;
}
