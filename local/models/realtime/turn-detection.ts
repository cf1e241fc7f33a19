import { g711Decode } from "../../speech/g711.ts";
import { createDecoder } from "../../speech/modem.ts";
import type { Decoder } from "../../speech/modem.ts";
import { pcmOf } from "../../speech/wav.ts";
import type { Settings, SoundFormat, TurnDetection } from "./session-settings.ts";

/** The listening half of a session: the words in its sound, and when speech begins and ends. Times are milliseconds of the sound. */

/** What the ear tells. */
export interface SpeechInputEvents {
  started(at_ms: number): void;
  stopped(at_ms: number): void;
  /** A word, as soon as it is complete. */
  word(word: string): void;
}

const FRAME_MS = 10;
const FULL_SCALE = 32_768;
/** Sound must last so long to be taken for speech. */
const ONSET_MS = 50;
/** Loudness that counts as speech at threshold 0, and how much more it must be at threshold 1. */
const LEAST_DB = -50;
const RANGE_DB = 30;

/** Listens to one session. */
export class SpeechInput {
  #format: SoundFormat;
  #detection: TurnDetection | null;
  readonly #events: SpeechInputEvents;
  #decoder: Decoder;
  #words: string[] = [];
  #rest: Int16Array = new Int16Array(0);
  #now_ms = 0;
  #since_commit_ms = 0;
  #loud_ms = 0;
  #silent_ms = 0;
  speaking = false;

  constructor(settings: Settings, events: SpeechInputEvents) {
    this.#format = settings.input;
    this.#detection = settings.detection;
    this.#events = events;
    this.#decoder = this.#fresh();
  }

  /** Takes new settings; sound of another format begins anew. */
  configure(settings: Settings): void {
    this.#detection = settings.detection;
    if (settings.detection === null) this.speaking = false;
    if (settings.input.name === this.#format.name) return;
    this.#format = settings.input;
    this.#rest = new Int16Array(0);
    this.#decoder = this.#fresh();
  }

  /** Takes sound as it came. */
  push(bytes: Uint8Array): void {
    const { law, rate } = this.#format;
    const pcm = law === null ? pcmOf(bytes) : g711Decode(law, bytes);
    const all = new Int16Array(this.#rest.length + pcm.length);
    all.set(this.#rest);
    all.set(pcm, this.#rest.length);
    const frame = (rate * FRAME_MS) / 1000;
    let from = 0;
    for (; from + frame <= all.length; from += frame) this.#frame(all.subarray(from, from + frame));
    this.#rest = all.slice(from);
  }

  /** Sound since the last commit, ms. */
  get buffered_ms(): number {
    return this.#since_commit_ms;
  }

  /** The words since the last commit, the last one even if it was cut; the buffer is empty afterwards. */
  commit(): string[] {
    this.#decoder.end();
    const words = this.#words;
    this.clear();
    return words;
  }

  /** Forgets what was not committed. */
  clear(): void {
    this.#words = [];
    this.#since_commit_ms = 0;
    this.#loud_ms = 0;
    this.speaking = false;
    this.#decoder = this.#fresh();
  }

  #fresh(): Decoder {
    return createDecoder(this.#format.rate, {
      heard: (word) => {
        this.#words.push(word);
        this.#events.word(word);
      },
    });
  }

  #frame(pcm: Int16Array): void {
    this.#now_ms += FRAME_MS;
    this.#since_commit_ms += FRAME_MS;
    this.#decoder.push(pcm);
    if (this.#detection === null) return;
    const loud = level(pcm) > LEAST_DB + RANGE_DB * this.#detection.threshold;
    this.#loud_ms = Math.max(0, this.#loud_ms + (loud ? FRAME_MS : -FRAME_MS));
    this.#silent_ms = loud ? 0 : this.#silent_ms + FRAME_MS;
    if (!this.speaking && this.#loud_ms >= ONSET_MS) {
      this.speaking = true;
      this.#events.started(Math.max(0, this.#now_ms - this.#loud_ms - this.#detection.prefix_padding_ms));
    } else if (this.speaking && this.#silent_ms >= this.#detection.silence_duration_ms) {
      this.speaking = false;
      this.#loud_ms = 0;
      this.#events.stopped(this.#now_ms);
    }
  }
}

function level(pcm: Int16Array): number {
  let sum = 0;
  for (const value of pcm) sum += value * value;
  return 10 * Math.log10(sum / pcm.length / FULL_SCALE ** 2 + 1e-12);
}
