import type { Pcm } from "../../services/conversation/speech/port.ts";

/** A sound to be made: a tone's loudness is that of its samples (a sine of -3 dBFS is at full scale). */
export interface Sound {
  ms: number;
  rate?: number;
  db?: number;
  hz?: number;
}

const samplesOf = ({ ms, rate = 8000 }: Sound): number => Math.round((ms * rate) / 1000);
const sample = (value: number): number => Math.round(Math.min(Math.max(value, -32_768), 32_767));

/** A sine. */
export function tone({ hz = 1000, rate = 8000, db = -18, ...rest }: Sound): Pcm {
  const amplitude = 32_768 * Math.SQRT2 * 10 ** (db / 20);
  return Int16Array.from({ length: samplesOf({ ...rest, rate }) }, (_, i) =>
    sample(amplitude * Math.sin((2 * Math.PI * hz * i) / rate)),
  );
}

/** White noise that is the same every time. */
export function noise({ db = -50, ...rest }: Sound, seed = 1): Pcm {
  let state = seed >>> 0;
  const random = (): number => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x6d2b79f5) >>> 0;
    const mixed = Math.imul(state ^ (state >>> 13), 0x297a2d39);
    return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32 - 0.5;
  };
  const amplitude = 32_768 * Math.sqrt(12) * 10 ** (db / 20);
  return Int16Array.from({ length: samplesOf(rest) }, () => sample(amplitude * random()));
}

/** Nothing at all. */
export const silence = (ms: number, rate = 8000): Pcm => new Int16Array(samplesOf({ ms, rate }));

/** One sound after the other. */
export function inTurn(...parts: Pcm[]): Pcm {
  const all = new Int16Array(parts.reduce((sum, p) => sum + p.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Two sounds at once; as long as the first. */
export const together = (a: Pcm, b: Pcm): Pcm => a.map((s, i) => sample(s + (b[i] ?? 0)));

/** Speech as the simulators make it: two tones at once for 48 ms, and 16 ms of nothing. */
export function babble(ms: number, { rate = 8000, db = -18 }: Omit<Sound, "ms"> = {}): Pcm {
  const parts: Pcm[] = [];
  for (let at = 0, i = 0; at < ms; at += 64, i++) {
    const [low, high] = [600 + 130 * (i % 7), 1700 + 170 * ((i * 5) % 8)];
    parts.push(
      together(tone({ hz: low, rate, ms: 48, db: db - 3 }), tone({ hz: high, rate, ms: 48, db: db - 3 })),
      silence(16, rate),
    );
  }
  return inTurn(...parts).subarray(0, samplesOf({ ms, rate }));
}

/** Loudness in dBFS. */
export const levelOf = (pcm: Pcm): number =>
  10 * Math.log10(pcm.reduce((sum, s) => sum + s * s, 0) / pcm.length / 32_768 ** 2);

/** The sound in frames of so many ms; the last may be shorter. */
export function framesOf(pcm: Pcm, ms = 20, rate = 8000): Pcm[] {
  const length = samplesOf({ ms, rate });
  return Array.from({ length: Math.ceil(pcm.length / length) }, (_, i) => pcm.subarray(i * length, (i + 1) * length));
}
