import { MS_PER_SECOND } from "../../../../shared/time/clock.ts";
import type { AudioDecoder } from "../tts/audio-decoder.ts";
import type { AudioFormat } from "../../transport/port.ts";
import { codecFor } from "../../audio/g711.ts";
import type { Pcm } from "../../audio/port.ts";
import { resampler } from "../../audio/resampler.ts";
import { PCM_RATE, type RealtimeAudioFormat } from "./realtime-dialect.ts";

/** Converts audio between us and a server of the Realtime protocol. */
export interface WireAudio {
  readonly name: RealtimeAudioFormat;
  /** Bytes of the server's audio in a millisecond. */
  readonly bytesPerMs: number;
  /** The caller's sound for the server; the frame as it came, where the server takes it as it is. */
  up(pcm: Pcm, frame: Uint8Array | null): Uint8Array;
  /** The last of the caller's sound: no more comes. */
  rest(): Uint8Array;
  /** Silence of so many bytes, or of one less. */
  silence(bytes: number): Uint8Array;
  decoder(): AudioDecoder;
}

const BYTES_PER_SAMPLE = 2;

/** G.711 goes through untouched; anything else goes at the one rate that the protocol has. */
export function wireAudio({ codec, rate }: { codec: AudioFormat["codec"]; rate: number }): WireAudio {
  if (codec !== "s16le") {
    const law = codecFor(codec);
    return {
      name: codec,
      bytesPerMs: rate / MS_PER_SECOND,
      up: (pcm, frame) => frame ?? law.encode(pcm),
      rest: () => new Uint8Array(0),
      silence: (bytes) => law.encode(new Int16Array(bytes)),
      decoder: () => ({ push: (audio) => law.decode(audio), end: () => new Int16Array(0) }),
    };
  }
  const linear = codecFor(codec);
  const turnedUp = resampler(rate, PCM_RATE);
  return {
    name: "pcm",
    bytesPerMs: (PCM_RATE * BYTES_PER_SAMPLE) / MS_PER_SECOND,
    up: (pcm) => linear.encode(turnedUp.push(pcm)),
    rest: () => linear.encode(turnedUp.end()),
    silence: (bytes) => linear.encode(new Int16Array(Math.floor(bytes / BYTES_PER_SAMPLE))),
    decoder: () => {
      const turned = resampler(PCM_RATE, rate);
      return { push: (audio) => turned.push(linear.decode(audio)), end: () => turned.end() };
    },
  };
}
