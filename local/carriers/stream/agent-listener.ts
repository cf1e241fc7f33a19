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
/** What is played and is neither words nor keys is told of when it is longer than this, ms. */
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
export function createAgentListener(format: SoundFormat, listener: VoiceListener): AgentListener {
  const silence = new Int16Array(frameSamples(format));
  let now: Utterance | null = null;
  let voicedMs = 0;
  let decoder: Decoder;
  let keys: KeyFinder;
  /** While there are words there are no keys, and to look for them costs as much as the words do. */
  let inWords = false;
  const fresh = (): void => {
    inWords = false;
    decoder = createDecoder(format.rate, {
      heard(word) {
        if (now) {
          now.words.push(word);
          now.speech.text = now.words.join(" ");
        }
      },
      began() {
        inWords = true;
      },
      ended() {
        inWords = false;
      },
    });
    keys = createKeyFinder(format, (key) => {
      if (now) now.keys += key;
    });
  };
  fresh();

  const finish = (interrupted: boolean): void => {
    if (!now) return;
    const { words, keys: pressed, since, last, voicedMs: audible } = now;
    if (!interrupted) decoder.end();
    const media = pressed !== "" ? `keys:${pressed}` : words.length === 0 && audible >= LEAST_SOUND_MS ? "sound" : null;
    now = null;
    fresh();
    const durationMs = Math.round(last - since) + FRAME_MS;
    if (words.length > 0 || media !== null)
      listener.onHeard({ text: words.join(" "), interrupted, durationMs, ...(media === null ? {} : { media }) });
    listener.onPause(!interrupted);
  };

  return {
    push(pcm, at) {
      const audible = pcm !== null && peakOf(pcm) >= AUDIBLE_PEAK;
      if (!audible && !now) return; // silence is not listened to
      if (audible) {
        voicedMs += FRAME_MS;
        if (!now) {
          const speech: Speech = { text: "", closed: false, interruptible: undefined, preemptible: false };
          now = { speech, words: [], keys: "", since: at, last: at, voicedMs: 0 };
          listener.onStart(speech);
        }
        now.last = at;
        now.voicedMs += FRAME_MS;
      }
      decoder.push(pcm ?? silence);
      if (!inWords) keys.push(pcm ?? silence);
      if (now && at - now.last > PAUSE_MS) finish(false);
    },
    cut() {
      finish(true);
    },
    current: () => now?.speech ?? null,
    spoken: () => now?.speech.text ?? "",
    voiced_ms: () => voicedMs,
    close() {
      finish(true);
    },
  };
}
