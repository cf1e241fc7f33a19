import { createDecoder } from "./modem.ts";
import type { Rate } from "./tones.ts";

/** What was said in a recording, and real speech put where it was said. Pure. */

/** Words that were said in one go. Times are milliseconds of the recording. */
export type Utterance = { text: string; at_ms: number; until_ms: number };

/** A pause between words that is longer begins another utterance. */
const PAUSE_MS = 500;
/** Letters at the edges that were cut are not decoded, but heard; they go too. */
const EDGE_MS = 64;
const TAPS = 16;

/** The utterances of one channel. */
export function utterancesIn(pcm: Int16Array, rate: Rate): Utterance[] {
  const found: Utterance[] = [];
  const decoder = createDecoder(rate, {
    heard(word, at_ms, until_ms) {
      const last = found.at(-1);
      if (last === undefined || at_ms - last.until_ms > PAUSE_MS) found.push({ text: word, at_ms, until_ms });
      else Object.assign(last, { text: `${last.text} ${word}`, until_ms });
    },
  });
  decoder.push(pcm);
  decoder.end();
  return found;
}

/** A channel in which spoken words take the place of the tones; all other sound stays. */
export function withSpeech(
  pcm: Int16Array,
  rate: Rate,
  parts: readonly Readonly<{ utterance: Utterance; speech: Int16Array }>[],
): Int16Array {
  const samples = (ms: number): number => Math.max(0, Math.round((ms * rate) / 1000));
  const result = pcm.slice();
  for (const { utterance } of parts)
    result.fill(0, samples(utterance.at_ms - EDGE_MS), samples(utterance.until_ms + EDGE_MS + EDGE_MS));
  for (const { utterance, speech } of parts) {
    const from = samples(utterance.at_ms);
    result.set(speech.subarray(0, Math.max(0, result.length - from)), Math.min(from, result.length));
  }
  return result;
}

/** Sound without the silence around it. */
export function trimmed(pcm: Int16Array): Int16Array {
  const loud = (value: number): boolean => Math.abs(value) > 300;
  const first = pcm.findIndex(loud);
  return first < 0 ? pcm.subarray(0, 0) : pcm.subarray(first, pcm.findLastIndex(loud) + 1);
}

/** Sound of so many samples instead of as many as it has: another rate, or another length. */
export function resampled(pcm: Int16Array, length: number): Int16Array {
  const step = pcm.length / Math.max(1, length);
  // Tones that the fewer samples cannot hold are taken away: the kernel grows as wide as the step.
  const width = Math.max(1, step);
  return new Int16Array(length).map((_, at) => {
    const middle = (at + 0.5) * step - 0.5;
    let sum = 0;
    let weights = 0;
    for (let near = Math.ceil(middle - TAPS * width); near <= middle + TAPS * width; near += 1) {
      const x = (near - middle) / width;
      const weight =
        (x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x)) * (0.5 + 0.5 * Math.cos((Math.PI * x) / TAPS));
      sum += weight * (pcm[Math.min(pcm.length - 1, Math.max(0, near))] ?? 0);
      weights += weight;
    }
    return Math.max(-32_768, Math.min(32_767, Math.round(sum / weights)));
  });
}
