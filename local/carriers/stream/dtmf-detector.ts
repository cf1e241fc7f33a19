import type { SoundFormat } from "./audio-format.ts";

/** Finds pressed keys in sound (ITU-T Q.23), by Goertzel's filters. */
export interface KeyFinder {
  push(pcm: Int16Array): void;
}

const LOW_HZ = [697, 770, 852, 941] as const;
const HIGH_HZ = [1209, 1336, 1477, 1633] as const;
const KEYS = ["123A", "456B", "789C", "*0#D"] as const;
/** Blocks of this many samples at 8 kHz, as the usual detectors have them: 12.75 ms. */
const BLOCK_AT_8_KHZ = 102;
const TELEPHONE_RATE = 8_000;
const FULL_SCALE = 32_768;
/** Power of a block below which nothing is looked for: -36 dBFS. */
const LEAST_POWER = 10 ** (-36 / 10);
/** The two tones must hold this share of the block's power. */
const TONES_SHARE = 0.7;
/** One tone may be this much stronger than the other: 9 dB. */
const MOST_TWIST = 10 ** (9 / 10);
/** A key is taken as pressed after so many blocks alike, and as let go after so many without it. */
const BLOCKS_DOWN = 2;
const BLOCKS_UP = 2;

/** Power of one frequency in a block, as that of a sine of that height would have it. */
function powerAt(hz: number, rate: number, block: Float64Array): number {
  const coefficient = 2 * Math.cos((2 * Math.PI * hz) / rate);
  let [one, two] = [0, 0];
  for (const sample of block) [one, two] = [sample + coefficient * one - two, one];
  return (2 * (one * one + two * two - coefficient * one * two)) / (block.length * block.length);
}

function strongest(tones: readonly number[], rate: number, block: Float64Array): { at: number; power: number } {
  const powers = tones.map((hz) => powerAt(hz, rate, block));
  const power = Math.max(...powers);
  return { at: powers.indexOf(power), power };
}

function keyIn(block: Float64Array, rate: number): string | null {
  let total = 0;
  for (const sample of block) total += sample * sample;
  total /= block.length;
  if (total < LEAST_POWER) return null;
  const low = strongest(LOW_HZ, rate, block);
  if (low.power < (total * TONES_SHARE) / (1 + MOST_TWIST)) return null;
  const high = strongest(HIGH_HZ, rate, block);
  const twist = low.power / high.power;
  return low.power + high.power >= total * TONES_SHARE && twist <= MOST_TWIST && twist >= 1 / MOST_TWIST
    ? (KEYS[low.at]?.[high.at] ?? null)
    : null;
}

/** Tells every key once, when it has been heard long enough. */
export function createKeyFinder({ rate }: Pick<SoundFormat, "rate">, pressed: (key: string) => void): KeyFinder {
  const block = new Float64Array(Math.round((BLOCK_AT_8_KHZ * rate) / TELEPHONE_RATE));
  let filled = 0;
  let seen: string | null = null;
  let alike = 0;
  let down: string | null = null;
  const judge = (): void => {
    const key = keyIn(block, rate);
    alike = key === seen ? alike + 1 : 1;
    seen = key;
    if (key !== null && key !== down && alike >= BLOCKS_DOWN) {
      down = key;
      pressed(key);
    }
    if (key === null && alike >= BLOCKS_UP) down = null;
  };
  return {
    push(pcm) {
      for (const sample of pcm) {
        block[filled] = sample / FULL_SCALE;
        filled += 1;
        if (filled < block.length) continue;
        filled = 0;
        judge();
      }
    },
  };
}
