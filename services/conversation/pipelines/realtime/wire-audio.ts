import { MS_PER_SECOND } from "../../../../shared/time/clock.ts";
import type { AudioFormat } from "../../transport/port.ts";
import { codecFor } from "../../audio/g711.ts";
import type { Pcm } from "../../audio/port.ts";
import { resampler } from "../../audio/resampler.ts";
import { PCM_RATE, type RealtimeAudioFormat } from "../../providers/realtime/realtime-dialect.ts";
import type { ItemDecoder } from "./response-audio.ts";

/** Converts audio between a leg and the server. */
export interface WireAudio {
  readonly name: RealtimeAudioFormat;
  /** Bytes of the server's audio in a millisecond. */
  readonly bytesPerMs: number;
  /** The caller's sound for the server; the frame as it came, where the server takes it as it is. */
  up(pcm: Pcm, frame: Uint8Array | null): Uint8Array;
  decoder(): ItemDecoder;
}

const BYTES_PER_SAMPLE = 2;

/** G.711 goes through untouched; anything else goes at the one rate that the protocol has. */
export function wireAudio(format: AudioFormat): WireAudio {
  const { codec, rate } = format;
  if (codec !== "s16le") {
    const law = codecFor(format);
    return {
      name: codec,
      bytesPerMs: rate / MS_PER_SECOND,
      up: (pcm, frame) => frame ?? law.encode(pcm),
      decoder: () => ({ push: (audio) => law.decode(audio), end: () => new Int16Array(0) }),
    };
  }
  const linear = codecFor({ codec, rate: PCM_RATE });
  const turnedUp = resampler(rate, PCM_RATE);
  return {
    name: "pcm",
    bytesPerMs: (PCM_RATE * BYTES_PER_SAMPLE) / MS_PER_SECOND,
    up: (pcm) => linear.encode(turnedUp.push(pcm)),
    decoder: () => {
      const turned = resampler(PCM_RATE, rate);
      return { push: (audio) => turned.push(linear.decode(audio)), end: () => turned.end() };
    },
  };
}
