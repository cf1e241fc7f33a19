import { symbolReader } from "./symbols.ts";
import { GAP_MS, SYMBOL_MS, symbolPcm, TONE_MS } from "./tones.ts";
import type { Rate } from "./tones.ts";

/** Words inside sound: text as pairs of tones, and the text found in a stream of samples again. */

const MS_PER_SECOND = 1000;
const FULL_SCALE = 32_768;
const BLANK = 0x20;

/** Bytes of a text as it is spoken: blanks made one, one blank behind the last word, so that what is spoken next is another word. */
function spokenBytes(text: string): Uint8Array {
  const plain = text.replace(/\s+/gu, " ").trim();
  return new TextEncoder().encode(plain === "" ? "" : `${plain} `);
}

/** How long a text takes to be spoken, ms. */
export function speechMs(text: string): number {
  return spokenBytes(text).length * SYMBOL_MS;
}

/** The words of a text that have been spoken whole after so many milliseconds of its sound. */
export function spokenBy(text: string, ms: number): string {
  const bytes = spokenBytes(text);
  const letters = Math.floor((ms + GAP_MS) / SYMBOL_MS);
  const end =
    letters >= bytes.length || bytes[letters] === BLANK ? letters : bytes.subarray(0, letters).lastIndexOf(BLANK);
  return new TextDecoder().decode(bytes.subarray(0, Math.max(0, end))).trim();
}

/** The sound of a text. Blanks count as one; nothing is left out else. */
export function encodeSpeech(text: string, rate: Rate): Int16Array {
  const bytes = spokenBytes(text);
  const length = (SYMBOL_MS * rate) / MS_PER_SECOND;
  const pcm = new Int16Array(bytes.length * length);
  bytes.forEach((byte, index) => pcm.set(symbolPcm(byte, rate), index * length));
  return pcm;
}

/** What a decoder tells. Times are milliseconds of the stream. */
export interface DecoderEvents {
  /** A word, punctuation included, as soon as it is complete: from the start of its first tone to the end of its last. */
  heard(word: string, at_ms: number, until_ms: number): void;
  /** Speech began: called with the first letter. */
  began?(at_ms: number): void;
  /** No letter for PAUSE_MS; `at_ms` is when the last one ended. */
  ended?(at_ms: number): void;
}

/** Finds words in a stream of samples. */
export interface Decoder {
  push(pcm: Int16Array): void;
  /** The stream is over: gives what is left. */
  end(): void;
}

/** Silence after which a word, and the speech, counts as over. */
export const PAUSE_MS = 200;

const HOP_MS = 2;
const HOPS_PER_WINDOW = 3;
const WINDOW_MS = HOP_MS * HOPS_PER_WINDOW;
/** Hops of energy that are remembered: more than a symbol. */
const HISTORY = 48;
/** Where in the past, in hops, the tones that have just ended sounded evenly. */
const STEADY_FROM = 19;
const STEADY_TO = 7;
/** Energy under which nothing is a tone: -45 dBFS. */
const LEAST_ENERGY = 10 ** (-45 / 10);
const FALLEN = 0.25;
const HALF = 0.5;
const LEAST_TONE_MS = 34;
const MOST_TONE_MS = 68;
const BUFFER_MS = 512;
const KEPT_MS = 96;

/** Listens for words in sound of a rate. */
export function createDecoder(rate: Rate, events: DecoderEvents): Decoder {
  const words = wordBuilder(events);
  const finder = symbolFinder(rate, words.symbol);
  return {
    push(pcm) {
      finder.push(pcm, words.passed);
    },
    end() {
      // A last symbol whose gap was cut off ends here.
      finder.push(new Int16Array(((GAP_MS + WINDOW_MS) * rate) / MS_PER_SECOND), words.passed);
      words.end();
    },
  };
}

/** The words of a whole sound. */
export function decodeSpeech(pcm: Int16Array, rate: Rate): string {
  const words: string[] = [];
  const decoder = createDecoder(rate, { heard: (word) => words.push(word) });
  decoder.push(pcm);
  decoder.end();
  return words.join(" ");
}

/** Puts bytes together to words. */
function wordBuilder(events: DecoderEvents): {
  symbol(byte: number, at_ms: number): void;
  passed(now_ms: number): void;
  end(): void;
} {
  const bytes: number[] = [];
  let from_ms = 0;
  let until_ms: number | null = null;
  const complete = (): void => {
    const word = new TextDecoder().decode(Uint8Array.from(bytes)).replaceAll("\uFFFD", "").trim();
    bytes.length = 0;
    if (word !== "") events.heard(word, from_ms, until_ms ?? from_ms);
  };
  const end = (): void => {
    complete();
    if (until_ms !== null) events.ended?.(until_ms);
    until_ms = null;
  };
  return {
    symbol(byte, at_ms) {
      if (until_ms === null) events.began?.(at_ms);
      if (byte === BLANK) complete();
      else {
        if (bytes.length === 0) from_ms = at_ms;
        bytes.push(byte);
      }
      until_ms = at_ms + TONE_MS;
    },
    passed(now_ms) {
      if (until_ms !== null && now_ms - until_ms > PAUSE_MS) end();
    },
    end,
  };
}

/** Finds where tones have just ended after sounding as long as a symbol's do, and reads them. It needs no threshold but the sound's own level, so it may begin anywhere. */
function symbolFinder(
  rate: Rate,
  symbol: (byte: number, at_ms: number) => void,
): { push(pcm: Int16Array, passed: (now_ms: number) => void): void } {
  const hop = (HOP_MS * rate) / MS_PER_SECOND;
  const reader = symbolReader(rate);
  const kept = (KEPT_MS * rate) / MS_PER_SECOND;
  const samples = new Float32Array((BUFFER_MS * rate) / MS_PER_SECOND);
  const hops = new Float64Array(HOPS_PER_WINDOW);
  const history = new Float64Array(HISTORY);
  let filled = 0;
  let inHop = 0;
  let hopEnergy = 0;
  let count = 0;
  let last_ms = -SYMBOL_MS;
  const past = (ago: number): number => history[(count - ago + HISTORY) % HISTORY] ?? 0;
  const hopDone = (): void => {
    count += 1;
    hops[count % HOPS_PER_WINDOW] = hopEnergy / hop;
    hopEnergy = 0;
    inHop = 0;
    history[count % HISTORY] = hops.reduce((total, value) => total + value, 0) / HOPS_PER_WINDOW;
    const edges = edgesOf(past);
    if (edges === null) return;
    const now_ms = count * HOP_MS;
    const at_ms = now_ms - (edges.rise + edges.fall) * (HOP_MS / 2) - WINDOW_MS / 2 - TONE_MS / 2;
    if (at_ms - last_ms < TONE_MS) return;
    const from = filled - Math.round(((now_ms - at_ms - TONE_MS / 2) * rate) / MS_PER_SECOND + reader.length / 2);
    const byte = from < 0 ? null : reader.read(samples, from);
    if (byte === null) return;
    last_ms = at_ms;
    symbol(byte, Math.max(0, at_ms));
  };
  return {
    push(pcm, passed) {
      for (let at = 0; at < pcm.length; at += 1) {
        if (filled === samples.length) {
          samples.copyWithin(0, filled - kept);
          filled = kept;
        }
        const value = (pcm[at] ?? 0) / FULL_SCALE;
        samples[filled] = value;
        filled += 1;
        inHop += 1;
        hopEnergy += value * value;
        if (inHop < hop) continue;
        hopDone();
        passed(count * HOP_MS);
      }
    },
  };
}

/** Where, in hops before now, the energy rose and fell through half of its level, when it has just fallen after the length of a symbol's tones. */
function edgesOf(past: (ago: number) => number): { rise: number; fall: number } | null {
  if (past(STEADY_TO) < LEAST_ENERGY || past(0) > FALLEN * past(STEADY_TO)) return null;
  let level = 0;
  for (let ago = STEADY_TO; ago <= STEADY_FROM; ago += 1) level += past(ago);
  level /= STEADY_FROM - STEADY_TO + 1;
  if (past(0) > FALLEN * level) return null;
  const half = HALF * level;
  const fall = crossing(past, STEADY_TO, -1, half);
  const rise = crossing(past, STEADY_FROM, 1, half);
  if (fall === null || rise === null) return null;
  const lasted_ms = (rise - fall) * HOP_MS;
  return lasted_ms < LEAST_TONE_MS || lasted_ms > MOST_TONE_MS ? null : { rise, fall };
}

/** From a hop on, the point between two hops at which the energy goes through a level. */
function crossing(past: (ago: number) => number, from: number, step: 1 | -1, level: number): number | null {
  for (let ago = from; ago >= 0 && ago < HISTORY - 1; ago += step) {
    const here = past(ago);
    if (here >= level) continue;
    if (ago === from) return null;
    const before = past(ago - step);
    return ago - (step * (level - here)) / (before - here);
  }
  return null;
}
