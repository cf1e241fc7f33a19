import type { Pcm } from "./port.ts";

const TONE_MS = 100;
const PAUSE_MS = 70;
/** Length of the pause that `w` stands for. */
const WAIT_MS = 500;
/** Fade at both ends of a tone against clicks. */
const EDGE_MS = 3;
/** Each of the two tones; together they stay 3 dB below full scale. */
const TONE_DB = -12;
/** Most digits of one sequence; further ones are left out. */
const MAX_KEYS = 64;

const KEYPAD = ["123A", "456B", "789C", "*0#D"];
const LOW_HZ = [697, 770, 852, 941];
const HIGH_HZ = [1209, 1336, 1477, 1633];

/** The two tones of a DTMF digit (ITU-T Q.23), Hz; null: no such digit. */
function tonesOf(key: string): readonly [number, number] | null {
  const row = KEYPAD.findIndex((keys) => keys.includes(key));
  const low = LOW_HZ[row];
  const high = HIGH_HZ[KEYPAD[row]?.indexOf(key) ?? -1];
  return low === undefined || high === undefined ? null : [low, high];
}

/** The audio of DTMF digits (0-9 * # A-D; w waits half a second); other characters are left out. */
export function dtmfTones(digits: string, rate: number): Pcm {
  const samples = (ms: number): number => Math.round((ms * rate) / 1000);
  const keys = [...digits.toUpperCase()].filter((key) => key === "W" || tonesOf(key)).slice(0, MAX_KEYS);
  const sound = new Int16Array(
    keys.reduce((sum, key) => sum + (key === "W" ? samples(WAIT_MS) : samples(TONE_MS) + samples(PAUSE_MS)), 0),
  );
  const amplitude = 32_768 * Math.SQRT2 * 10 ** (TONE_DB / 20);
  const [length, edge] = [samples(TONE_MS), samples(EDGE_MS)];
  let at = 0;
  for (const key of keys) {
    const tones = tonesOf(key);
    if (!tones) {
      at += samples(WAIT_MS);
      continue;
    }
    const [low, high] = tones.map((hz) => (2 * Math.PI * hz) / rate);
    for (let i = 0; i < length; i++) {
      const swell = Math.min(1, (i + 1) / edge, (length - i) / edge);
      sound[at + i] = Math.round(amplitude * swell * (Math.sin((low ?? 0) * i) + Math.sin((high ?? 0) * i)));
    }
    at += length + samples(PAUSE_MS);
  }
  return sound;
}
