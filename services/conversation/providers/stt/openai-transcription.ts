import type OpenAI from "openai";
import pLimit, { type LimitFunction } from "p-limit";
import type { Clock } from "../../../../shared/time/clock.ts";
import { isRecord, textOf } from "../../../../shared/json.ts";
import { wavOf } from "../../audio/wav.ts";
import type { ModelAddress } from "../addresses.ts";
import { openAiClient } from "../openai-client.ts";
import { languageOf } from "../../../../shared/phrases.ts";
import { modelErrorOf, abortedError } from "../model-errors.ts";
import { askInOrder, failover, type FailoverListener } from "../failover.ts";
import { ModelError } from "../port.ts";
import { stepTimeout, unlessAborted } from "../step-timeout.ts";

/** Longest wait for the text of a speech segment, ms. */
export const TRANSCRIPTION_TIMEOUT_MS = 5000;
/** The same of the first try: whoever has spoken waits for it in silence. */
export const FIRST_TRY_TIMEOUT_MS = 3000;
const MAX_REQUESTS_AT_ONCE = 64;

/** A stretch of speech to be transcribed. */
export interface SpeechSegment {
  readonly pcm: Int16Array;
  readonly rate: number;
  readonly language: string;
}
/** Transcribes a segment. Rejects with ModelError. */
export type Transcriber = (segment: SpeechSegment, signal: AbortSignal) => Promise<string>;

/**
 * From here on a segment is silence that Whisper wrote something for: measured on Whisper base and tiny, of what was made of noise the least were 0.52 and the
 * most -0.8, of what people said the most was 0.43. https://github.com/openai/whisper, transcribe.py, asks for both, too.
 */
const SILENT = { no_speech: 0.5, logprob: -0.7, surely: 0.9 } as const;

const isSilent = ({ no_speech_prob, avg_logprob }: Record<string, unknown>): boolean =>
  typeof no_speech_prob === "number" &&
  (no_speech_prob > SILENT.surely ||
    (no_speech_prob >= SILENT.no_speech && typeof avg_logprob === "number" && avg_logprob <= SILENT.logprob));

/** The words of an answer (`verbose_json` as far as it is there) without those of its silent segments; null: it has no text. */
export function wordsIn(answer: unknown): string | null {
  const text = isRecord(answer) ? answer["text"] : undefined;
  if (!isRecord(answer) || typeof text !== "string") return null;
  const segments = Array.isArray(answer["segments"]) ? answer["segments"].filter(isRecord) : [];
  const spoken = segments.filter((segment) => !isSilent(segment));
  if (spoken.length === segments.length) return text.trim();
  return spoken
    .map((segment) => textOf(segment["text"]).trim())
    .filter((words) => words !== "")
    .join(" ");
}

async function askOnce(
  connect: () => Promise<OpenAI>,
  address: ModelAddress,
  clock: Clock,
  segment: SpeechSegment,
  signal: AbortSignal,
  timeout_ms: number,
): Promise<string> {
  const timeout = stepTimeout(clock, signal, "the transcription model");
  const language = languageOf(segment.language);
  try {
    const openai = await connect();
    const file = new File([wavOf(segment.pcm, segment.rate)], "speech.wav", { type: "audio/wav" });
    const ask = openai.audio.transcriptions.create(
      {
        file,
        model: address.model,
        response_format: "json",
        ...(language === "" ? {} : { language }),
      },
      { signal: timeout.signal },
    );
    const answer: unknown = await timeout.wait(ask, timeout_ms);
    const words = wordsIn(answer);
    if (words === null)
      throw new ModelError("MODEL_REFUSED", `the transcription model answers no text; check ${address.check}`, false);
    return words;
  } catch (error) {
    throw signal.aborted ? abortedError() : modelErrorOf(error, address.check);
  }
}

/** Requests of this process at once; further ones wait. */
const processLimit = pLimit(MAX_REQUESTS_AT_ONCE);

/** Transcribes over `POST /audio/transcriptions`: one retry, then the second endpoint where there is one. */
export function openAiTranscriber(
  first: ModelAddress,
  second: ModelAddress | null,
  clock: Clock,
  { limit = processLimit, onFailover }: { limit?: LimitFunction; onFailover?: FailoverListener } = {},
): Transcriber {
  const endpointAt = (address: ModelAddress) => {
    const connect = openAiClient(address);
    return (segment: SpeechSegment, signal: AbortSignal, timeout_ms: number): Promise<string> =>
      askOnce(connect, address, clock, segment, signal, timeout_ms);
  };
  const order = failover(endpointAt(first), second && endpointAt(second), clock, onFailover);
  return (segment, signal) => {
    const ask = async (): Promise<string> => {
      if (signal.aborted) throw abortedError();
      let tries = 0;
      return askInOrder(
        order,
        (endpoint) => endpoint(segment, signal, tries++ === 0 ? FIRST_TRY_TIMEOUT_MS : TRANSCRIPTION_TIMEOUT_MS),
        () => signal.aborted,
      );
    };
    return unlessAborted(limit(ask), signal);
  };
}
