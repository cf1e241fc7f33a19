import { g711Decode, g711Encode } from "../../speech/g711.ts";
import { encodeSpeech } from "../../speech/modem.ts";
import { coughPcm, noisePcm } from "../../speech/noises.ts";
import { FRAME_MS } from "./frame-clock.ts";

const RATE = 8000;
const FRAME_SAMPLES = (RATE * FRAME_MS) / 1000;
const MS_PER_SAMPLE = 1000 / RATE;
/** What is quieter is the end of no sound. */
const AUDIBLE = 300;
const LINE_NOISE_DB = -60;
const SEED = 7;

/** The stream's name in every message: it is the same for all calls, so that their frames are encoded once. */
export const STREAM_SID = "MZ00000000000000000000000000000000";

/** A sound as a carrier sends it: messages that are ready to go, where in the first the sound sets in, and where in the last it ends, ms from the frame's beginning. */
export interface Sound {
  readonly messages: readonly Buffer[];
  readonly onset_ms: number;
  readonly end_ms: number;
}

const base64 = (pcm: Int16Array): string => Buffer.from(g711Encode("pcmu", pcm)).toString("base64");
const message = (pcm: Int16Array): Buffer =>
  Buffer.from(
    `{"event":"media","sequenceNumber":"2","media":{"track":"inbound","chunk":"1","timestamp":"0","payload":"${base64(pcm)}"},"streamSid":"${STREAM_SID}"}`,
  );

const frameAt = (pcm: Int16Array, n: number): Int16Array => {
  const frame = new Int16Array(FRAME_SAMPLES);
  frame.set(pcm.subarray(n * FRAME_SAMPLES, (n + 1) * FRAME_SAMPLES));
  return frame;
};

/** A sound cut into frames; it may set in at any moment of the first (`shift_ms`), as voices do. */
export function soundOf(pcm: Int16Array, shift_ms = 0): Sound {
  const shifted = new Int16Array(pcm.length + Math.round(shift_ms / MS_PER_SAMPLE));
  shifted.set(pcm, shifted.length - pcm.length);
  const first = shifted.findIndex((v) => Math.abs(v) > AUDIBLE);
  const last = shifted.findLastIndex((v) => Math.abs(v) > AUDIBLE);
  const [from, to] = [Math.floor(first / FRAME_SAMPLES), Math.floor(last / FRAME_SAMPLES)];
  return {
    messages: Array.from({ length: to - from + 1 }, (_, i) => message(frameAt(shifted, from + i))),
    onset_ms: (first - from * FRAME_SAMPLES) * MS_PER_SAMPLE,
    end_ms: (last + 1 - to * FRAME_SAMPLES) * MS_PER_SAMPLE,
  };
}

/** Words, which set in at this moment of a frame. */
export const words = (text: string, shift_ms = 0): Sound => soundOf(encodeSpeech(text, RATE), shift_ms);

/** A cough of this length. */
export const cough = (ms: number, shift_ms = 0): Sound => soundOf(coughPcm(ms, RATE, SEED), shift_ms);

const noise = noisePcm(1000, RATE, LINE_NOISE_DB, SEED);
/** One second of a silent leg. */
export const quietLine: readonly Buffer[] = Array.from({ length: 1000 / FRAME_MS }, (_, n) =>
  message(frameAt(noise, n)),
);

/** What the other side's sound is, in samples. */
export const samplesOf = (payload: string): Int16Array => g711Decode("pcmu", Buffer.from(payload, "base64"));
