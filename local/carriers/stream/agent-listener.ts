import { createDecoder, type Decoder } from "../../speech/modem.ts";
import type { Speech, VoiceListener } from "../exchange/agent-voice.ts";
import { FRAME_MS, frameSamples, peakOf, type SoundFormat } from "./audio-format.ts";
import { createKeyFinder, type KeyFinder } from "./dtmf-detector.ts";
import { PAUSE_MS } from "./playout.ts";

/** The person's ear: understands what the carrier plays, as a voice that is listened to. */
export interface AgentListener {
  /** A frame is played; null: none is there, it is silent. */
  push(pcm: Int16Array | null, now: number): void;
  /** The rest was thrown away: the utterance ends here, with the words that were whole. */
  cut(now: number): void;
  current(): Speech | null;
  /** Heard of the present utterance. */
  spoken(): string;
  /** How long anything could be heard, ms. */
  voiced_ms(): number;
  close(): void;
}

/** Louder than this is heard: -45 dBFS. */
export const AUDIBLE_PEAK = 184;
/** What is played and is neither words nor DTMF is reported when it is longer than this, ms. */
const LEAST_SOUND_MS = 100;

interface Utterance {
  speech: Speech;
  words: string[];
  keys: string;
  since: number;
  last: number;
  voicedMs: number;
}

/** Listens to one stream's sound. */
export const createAgentListener = (format: SoundFormat, listener: VoiceListener): AgentListener =>
  new StreamListener(format, listener);

class StreamListener implements AgentListener {
  readonly #format: SoundFormat;
  readonly #listener: VoiceListener;
  readonly #silence: Int16Array;
  #now: Utterance | null = null;
  #voicedMs = 0;
  #decoder: Decoder;
  #keys: KeyFinder;
  /** While there are words there are no keys, and to look for them costs as much as the words do. */
  #inWords = false;

  constructor(format: SoundFormat, listener: VoiceListener) {
    this.#format = format;
    this.#listener = listener;
    this.#silence = new Int16Array(frameSamples(format));
    this.#decoder = this.#newDecoder();
    this.#keys = this.#newKeyFinder();
  }

  push(pcm: Int16Array | null, at: number): void {
    const audible = pcm !== null && peakOf(pcm) >= AUDIBLE_PEAK;
    if (!audible && !this.#now) return; // silence is not listened to
    if (audible) {
      this.#voicedMs += FRAME_MS;
      const utterance = this.#now ?? this.#begin(at);
      utterance.last = at;
      utterance.voicedMs += FRAME_MS;
    }
    this.#decoder.push(pcm ?? this.#silence);
    if (!this.#inWords) this.#keys.push(pcm ?? this.#silence);
    if (this.#now && at - this.#now.last > PAUSE_MS) this.#finish(false);
  }

  cut(): void {
    this.#finish(true);
  }

  current(): Speech | null {
    return this.#now?.speech ?? null;
  }

  spoken(): string {
    return this.#now?.speech.text ?? "";
  }

  voiced_ms(): number {
    return this.#voicedMs;
  }

  close(): void {
    this.#finish(true);
  }

  #newDecoder(): Decoder {
    this.#inWords = false;
    return createDecoder(this.#format.rate, {
      heard: (word) => {
        if (!this.#now) return;
        this.#now.words.push(word);
        this.#now.speech.text = this.#now.words.join(" ");
      },
      began: () => {
        this.#inWords = true;
      },
      ended: () => {
        this.#inWords = false;
      },
    });
  }

  #newKeyFinder(): KeyFinder {
    return createKeyFinder(this.#format, (key) => {
      if (this.#now) this.#now.keys += key;
    });
  }

  #begin(at: number): Utterance {
    const speech: Speech = { text: "", closed: false, interruptible: undefined, preemptible: false };
    const utterance: Utterance = { speech, words: [], keys: "", since: at, last: at, voicedMs: 0 };
    this.#now = utterance;
    this.#listener.onStart(speech);
    return utterance;
  }

  #finish(interrupted: boolean): void {
    if (!this.#now) return;
    const { words, keys, since, last, voicedMs } = this.#now;
    if (!interrupted) this.#decoder.end();
    const unnamed = words.length === 0 && voicedMs >= LEAST_SOUND_MS ? "sound" : null;
    const media = keys !== "" ? `keys:${keys}` : unnamed;
    this.#now = null;
    this.#decoder = this.#newDecoder();
    this.#keys = this.#newKeyFinder();
    const durationMs = Math.round(last - since) + FRAME_MS;
    if (words.length > 0 || media !== null)
      this.#listener.onHeard({
        text: words.join(" "),
        interrupted,
        durationMs,
        ...(media === null ? {} : { media }),
      });
    this.#listener.onPause(!interrupted);
  }
}
