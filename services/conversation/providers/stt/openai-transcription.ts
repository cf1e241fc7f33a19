import type OpenAI from "openai";
import type { Clock } from "../../../../shared/clock.ts";
import { wavOf } from "../../audio/wav.ts";
import type { ModelAddress } from "../addresses.ts";
import { modelClient } from "../openai-client.ts";
import { modelErrorOf, abortedError } from "../model-errors.ts";
import { places as placesFor, type Places } from "../concurrency-limit.ts";
import { failover, type FailoverListener } from "../failover.ts";
import { ModelError } from "../port.ts";
import { patienceOf } from "../deadline.ts";

/** Longest wait for the words of a piece of speech. */
export const TRANSCRIPTION_TIMEOUT_MS = 5000;
const TRIES = 2;
/** Pieces of speech a process has transcribed at the same time; more wait for a place. */
const MAX_AT_ONCE = 64;
/** Models look at the last 200 tokens or so. */
const MAX_PROMPT_CHARS = 600;

/** A piece of speech whose words are asked for. */
export interface SpeechSegment {
  readonly pcm: Int16Array;
  readonly rate: number;
  readonly language: string;
  readonly hints: readonly string[];
}
/** Tells the words of a piece of speech. Rejects with ModelFault. */
export type Transcriber = (piece: SpeechSegment, signal: AbortSignal) => Promise<string>;

/** The language's own two or three letters, as models of speech name it. */
export const languageOf = (bcp47: string): string => bcp47.toLowerCase().split(/[-_]/)[0] ?? "";
/** Words that are likely, as a text that guides the model. */
export const promptOf = (hints: readonly string[]): string => hints.join(", ").slice(0, MAX_PROMPT_CHARS);

async function once(
  connect: () => Promise<OpenAI>,
  address: ModelAddress,
  clock: Clock,
  piece: SpeechSegment,
  signal: AbortSignal,
): Promise<string> {
  const patience = patienceOf(clock, signal, "the transcription model");
  const language = languageOf(piece.language);
  const prompt = promptOf(piece.hints);
  try {
    const openai = await connect();
    const file = new File([wavOf(piece.pcm, piece.rate)], "speech.wav", { type: "audio/wav" });
    const ask = openai.audio.transcriptions.create(
      {
        file,
        model: address.model,
        response_format: "json",
        ...(language === "" ? {} : { language }),
        ...(prompt === "" ? {} : { prompt }),
      },
      { signal: patience.signal },
    );
    const answer: unknown = await patience.wait(ask, TRANSCRIPTION_TIMEOUT_MS);
    const text = typeof answer === "object" && answer !== null && "text" in answer ? answer.text : undefined;
    if (typeof text !== "string")
      throw new ModelError("MODEL_REFUSED", `the transcription model answers no text; check ${address.check}`, false);
    return text.trim();
  } catch (error) {
    throw signal.aborted ? abortedError() : modelErrorOf(error, address.check);
  }
}

const room: Places = placesFor(MAX_AT_ONCE);

/** Transcribes over `POST /audio/transcriptions`: one retry, then the second endpoint where there is one. */
export function openAiTranscriber(
  first: ModelAddress,
  second: ModelAddress | null,
  clock: Clock,
  { places = room, resting }: { places?: Places; resting?: FailoverListener } = {},
): Transcriber {
  const endpointAt = (address: ModelAddress): Transcriber => {
    const connect = modelClient(address);
    return (piece, signal) => once(connect, address, clock, piece, signal);
  };
  const asked = failover(endpointAt(first), second && endpointAt(second), clock, resting);
  return (piece, signal) =>
    places.hold(signal, async () => {
      const endpoints = asked.endpoints();
      for (let [at, here] = [0, 1]; ; here++) {
        const endpoint = endpoints[at];
        if (endpoint === undefined) throw new ModelError("MODEL_ERROR", "there is no transcription model", false);
        try {
          return await endpoint(piece, signal);
        } catch (error) {
          if (signal.aborted) throw abortedError();
          if (error instanceof ModelError && error.retryable && here < TRIES) continue;
          asked.failed(endpoint, error);
          if (++at >= endpoints.length) throw error;
          here = 0;
        }
      }
    });
}
