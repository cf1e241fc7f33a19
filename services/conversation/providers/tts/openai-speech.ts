import type OpenAI from "openai";
import type { Clock } from "../../../../shared/time/clock.ts";
import type { ModelAddress } from "../addresses.ts";
import { openAiClient } from "../openai-client.ts";
import { modelErrorOf, abortedError } from "../model-errors.ts";
import { ModelError, type SpeechModel } from "../port.ts";
import { audioDecoder } from "./audio-decoder.ts";
import { stepTimeout, type StepTimeout } from "../step-timeout.ts";

/** Longest wait for the first audio of a sentence, ms. */
export const FIRST_AUDIO_TIMEOUT_MS = 4000;
/** Longest pause between two chunks of audio, ms. */
export const AUDIO_STALL_TIMEOUT_MS = 3000;
/** Longest wait for a sentence in all, ms; the time its listener takes does not count. */
export const SENTENCE_TIMEOUT_MS = 30_000;
/** Audio of a sentence beyond this is not read. */
const MAX_SENTENCE_SECONDS = 120;
const TRIES = 2;
const SPEAKABLE = /[\p{L}\p{N}]/u;
/** Content types of text: it would be played to the customer as noise. */
const TEXT_CONTENT = /^(?:text\/|application\/(?:json|xml|problem))/i;

/** Options of a speech model. `rate`: samples a second of the endpoint's raw audio. */
export interface OpenAiSpeechOptions {
  readonly address: ModelAddress;
  readonly voice: string;
  readonly rate: number;
  readonly clock: Clock;
}

async function* audioOf(
  response: Response,
  { rate, clock }: OpenAiSpeechOptions,
  timeout: StepTimeout,
  firstMs: number,
): AsyncGenerator<Int16Array> {
  const type = response.headers.get("content-type") ?? "";
  if (TEXT_CONTENT.test(type))
    throw new ModelError("MODEL_REFUSED", "the speech model answers words in place of sound", false);
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  const decoder = audioDecoder(rate, type);
  let [waited, samples, limit] = [0, 0, firstMs];
  try {
    while (samples < rate * MAX_SENTENCE_SECONDS) {
      const before = clock.monotonicMs();
      const { done, value } = await timeout.wait(reader.read(), limit);
      waited += clock.monotonicMs() - before;
      const pcm = done ? decoder.end() : decoder.push(value);
      samples += pcm.length;
      if (pcm.length > 0) yield pcm;
      if (done) return;
      if (waited >= SENTENCE_TIMEOUT_MS)
        throw new ModelError("MODEL_TIMEOUT", `the speech model took longer than ${SENTENCE_TIMEOUT_MS} ms`, true);
      limit = samples === 0 ? Math.max(1, firstMs - waited) : AUDIO_STALL_TIMEOUT_MS;
    }
  } finally {
    // cancels a request whose audio is not at its end
    reader.cancel().catch(() => undefined);
  }
}

async function* speakOnce(
  connect: () => Promise<OpenAI>,
  how: OpenAiSpeechOptions,
  text: string,
  signal: AbortSignal,
): AsyncGenerator<Int16Array> {
  const timeout = stepTimeout(how.clock, signal, "the speech model");
  try {
    const openai = await connect();
    const asked = how.clock.monotonicMs();
    const ask = openai.audio.speech.create(
      { model: how.address.model, voice: how.voice, input: text, response_format: "pcm" },
      { signal: timeout.signal },
    );
    const response = await timeout.wait(ask, FIRST_AUDIO_TIMEOUT_MS);
    yield* audioOf(response, how, timeout, Math.max(1, FIRST_AUDIO_TIMEOUT_MS - (how.clock.monotonicMs() - asked)));
  } catch (error) {
    throw signal.aborted ? abortedError() : modelErrorOf(error, how.address.check);
  }
}

/** A speech model over `POST /audio/speech` that streams its audio; asked once more where the first try fails before its first audio. */
export function openAiSpeech(how: OpenAiSpeechOptions): SpeechModel {
  const connect = openAiClient(how.address);
  return {
    rate: how.rate,
    signature: [how.address.base_url ?? "", how.address.model, how.voice, how.rate].join(" "),
    async *speak(text, signal) {
      if (!SPEAKABLE.test(text)) return;
      for (let tries = 1; ; tries++) {
        let audible = false;
        try {
          for await (const pcm of speakOnce(connect, how, text, signal)) {
            audible = true;
            yield pcm;
          }
          if (audible) return;
          throw new ModelError("MODEL_ERROR", `the speech model gave no sound; check ${how.address.check}`, true);
        } catch (error) {
          if (audible || tries >= TRIES || signal.aborted || !(error instanceof ModelError && error.retryable))
            throw error;
        }
      }
    },
  };
}
