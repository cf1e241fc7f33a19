import type OpenAI from "openai";
import type { Clock } from "../../../../shared/clock.ts";
import type { ModelAddress } from "../addresses.ts";
import { modelClient } from "../openai-client.ts";
import { modelErrorOf, abortedError } from "../model-errors.ts";
import { ModelError, type SpeechModel } from "../port.ts";
import { audioDecoder } from "./audio-decoder.ts";
import { patienceOf, type Patience } from "../deadline.ts";

/** Longest wait for the first sound of a sentence. */
export const FIRST_AUDIO_TIMEOUT_MS = 4000;
/** Longest pause between two pieces of sound. */
export const AUDIO_STALL_TIMEOUT_MS = 3000;
/** Longest wait for a sentence in all; the time its listener takes does not count. */
export const SENTENCE_TIMEOUT_MS = 30_000;
/** A sentence is shorter: what comes after is not listened to. */
const MAX_SENTENCE_SECONDS = 120;
const TRIES = 2;
const SPEAKABLE = /[\p{L}\p{N}]/u;
/** Where these stand in place of sound, an error page would be played to the customer. */
const WORDS_NOT_SOUND = /^(?:text\/|application\/(?:json|xml|problem))/i;

/** What a speech model over an endpoint needs. `rate`: samples a second, of what the endpoint gives raw. */
export interface OpenAiSpeechOptions {
  readonly address: ModelAddress;
  readonly voice: string;
  readonly rate: number;
  readonly clock: Clock;
}

async function* soundOf(
  response: Response,
  { rate, clock }: OpenAiSpeechOptions,
  patience: Patience,
  firstMs: number,
): AsyncGenerator<Int16Array> {
  if (WORDS_NOT_SOUND.test(response.headers.get("content-type") ?? ""))
    throw new ModelError("MODEL_REFUSED", "the speech model answers words in place of sound", false);
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  const sound = audioDecoder(rate);
  let [waited, samples, limit] = [0, 0, firstMs];
  try {
    while (samples < rate * MAX_SENTENCE_SECONDS) {
      const before = clock.monotonicMs();
      const { done, value } = await patience.wait(reader.read(), limit);
      waited += clock.monotonicMs() - before;
      const pcm = done ? sound.end() : sound.push(value);
      samples += pcm.length;
      if (pcm.length > 0) yield pcm;
      if (done) return;
      if (waited >= SENTENCE_TIMEOUT_MS)
        throw new ModelError("MODEL_TIMEOUT", `the speech model took longer than ${SENTENCE_TIMEOUT_MS} ms`, true);
      limit = samples === 0 ? Math.max(1, firstMs - waited) : AUDIO_STALL_TIMEOUT_MS;
    }
  } finally {
    // lets the request go where the sound has not come to its end
    reader.cancel().catch(() => undefined);
  }
}

async function* once(
  connect: () => Promise<OpenAI>,
  how: OpenAiSpeechOptions,
  text: string,
  signal: AbortSignal,
): AsyncGenerator<Int16Array> {
  const patience = patienceOf(how.clock, signal, "the speech model");
  try {
    const openai = await connect();
    const asked = how.clock.monotonicMs();
    const ask = openai.audio.speech.create(
      { model: how.address.model, voice: how.voice, input: text, response_format: "pcm" },
      { signal: patience.signal },
    );
    const response = await patience.wait(ask, FIRST_AUDIO_TIMEOUT_MS);
    yield* soundOf(response, how, patience, Math.max(1, FIRST_AUDIO_TIMEOUT_MS - (how.clock.monotonicMs() - asked)));
  } catch (error) {
    throw signal.aborted ? abortedError() : modelErrorOf(error, how.address.check);
  }
}

/** A speech model over `POST /audio/speech`, sound streamed as it comes; asked once more where the first try fails before its first sound. */
export function openAiSpeech(how: OpenAiSpeechOptions): SpeechModel {
  const connect = modelClient(how.address);
  return {
    rate: how.rate,
    signature: [how.address.base_url ?? "", how.address.model, how.voice, how.rate].join(" "),
    async *speak(text, signal) {
      if (!SPEAKABLE.test(text)) return;
      for (let tries = 1; ; tries++) {
        let heard = false;
        try {
          for await (const pcm of once(connect, how, text, signal)) {
            heard = true;
            yield pcm;
          }
          if (heard) return;
          throw new ModelError("MODEL_ERROR", `the speech model gave no sound; check ${how.address.check}`, true);
        } catch (error) {
          if (heard || tries >= TRIES || signal.aborted || !(error instanceof ModelError && error.retryable))
            throw error;
        }
      }
    },
  };
}
