import type { ServerResponse } from "node:http";
import { createDecoder } from "../../speech/modem.ts";
import { RATES, type Rate } from "../../speech/tones.ts";
import { readWav } from "../../speech/wav.ts";
import { delay } from "./delays.ts";
import { errorOf } from "./faults.ts";
import { sendJson } from "./json-http.ts";
import { ApiError } from "./chat-request.ts";
import { watched } from "./request-log.ts";
import type { Clock } from "../../../shared/time/clock.ts";
import type { RequestContext } from "./request-context.ts";

/** Words of recorded speech (API reference, "Create transcription"). */

const FORMATS = ["json", "text", "verbose_json"] as const;

/** A request for the words of a recording. */
export type TranscriptionRequest = Readonly<{
  model: string;
  pcm: Int16Array;
  rate: Rate;
  language: string;
  format: (typeof FORMATS)[number];
  stream: boolean;
}>;

/** Longest upload, as OpenAI has it. */
export const MOST_UPLOAD_BYTES = 25 * 1024 * 1024;

const MS_PER_SECOND = 1000;

/** Checks a multipart body; throws ApiFault 400 naming the field at fault. */
export async function readTranscriptionRequest(
  body: Uint8Array<ArrayBuffer>,
  type: string,
): Promise<TranscriptionRequest> {
  const form = await readForm(body, type);
  const text = (name: string): string | undefined => {
    const value = form.get(name);
    return typeof value === "string" ? value : undefined;
  };
  const model = text("model");
  if (model === undefined || model === "") throw new ApiError(400, "you must provide a model parameter", "model");
  const file = form.get("file");
  if (file === null || typeof file === "string")
    throw new ApiError(400, "Missing required parameter: 'file'.", "file", "missing_required_parameter");
  const sound = readWav(new Uint8Array(await file.arrayBuffer()));
  const [pcm, ...others] = sound?.channels ?? [];
  if (sound === null || pcm === undefined || others.length > 0)
    throw new ApiError(
      400,
      "Invalid file format. The model simulator takes WAV files of 16 bit PCM with one channel.",
      "file",
      "invalid_value",
    );
  const rate = RATES.find((one) => one === sound.rate);
  if (rate === undefined)
    throw new ApiError(
      400,
      `The model simulator takes sound of ${RATES.join(", ")} Hz, not of ${sound.rate}.`,
      "file",
      "invalid_value",
    );
  const format = FORMATS.find((one) => one === (text("response_format") ?? "json"));
  if (format === undefined)
    throw new ApiError(
      400,
      `Invalid value for 'response_format': expected one of ${FORMATS.join(", ")}.`,
      "response_format",
      "unsupported_value",
    );
  const language = text("language") ?? "en";
  if (!/^[a-z]{2,3}$/i.test(language))
    throw new ApiError(400, "Invalid 'language': expected a code of ISO 639-1.", "language", "invalid_language_format");
  const stream = text("stream") ?? "false";
  if (stream !== "true" && stream !== "false")
    throw new ApiError(400, "Invalid type for 'stream': expected a boolean.", "stream", "invalid_type");
  return { model, pcm, rate, language, format, stream: stream === "true" };
}

async function readForm(body: Uint8Array<ArrayBuffer>, type: string): Promise<FormData> {
  if (!/^multipart\/form-data\b/i.test(type)) throw new ApiError(400, "The body must be multipart/form-data.");
  try {
    return await new Response(body, { headers: { "content-type": type } }).formData();
  } catch {
    throw new ApiError(400, "Could not parse multipart form.");
  }
}

type Word = Readonly<{ word: string; start: number; end: number }>;

function wordsIn(asked: TranscriptionRequest): Word[] {
  const words: Word[] = [];
  const seconds = (ms: number): number => Math.round(ms) / MS_PER_SECOND;
  const decoder = createDecoder(asked.rate, {
    heard: (word, at_ms, until_ms) => words.push({ word, start: seconds(at_ms), end: seconds(until_ms) }),
  });
  decoder.push(asked.pcm);
  decoder.end();
  return words;
}

/** Gives the words, as slowly and as badly as was ordered. */
export async function answerTranscription(
  asked: TranscriptionRequest,
  response: ServerResponse,
  context: RequestContext,
): Promise<void> {
  const fault = context.faults.take("transcription");
  const summary = context.requests.open({
    kind: "transcription",
    model: asked.model,
    stream: asked.stream,
    fault: fault?.kind ?? null,
  });
  const gone = watched(response, summary);
  const error = errorOf(fault);
  if (error !== null) throw error;
  if (fault?.kind === "hang") return; // The connection stays open until the client or the server closes it.
  const words = wordsIn(asked);
  const text = words.map(({ word }) => word).join(" ");
  summary.reply = { content: text, call: null };
  await delay(context.clock, context.delays.stt_ms + (fault?.kind === "slow" ? fault.ms : 0), gone);
  const cut = fault?.kind === "cut_stream";
  const { token_ms } = context.delays;
  if (asked.stream) return await stream(words, response, { cut, gone, token_ms, clock: context.clock });
  if (cut) return void response.destroy();
  if (asked.format === "text") {
    response.writeHead(200, { "content-type": "text/plain; charset=utf-8" });
    return void response.end(`${text}\n`);
  }
  sendJson(response, 200, asked.format === "json" ? { text, usage: usageOf(asked) } : verbose(asked, text, words));
}

async function stream(
  words: readonly Word[],
  response: ServerResponse,
  how: Readonly<{ cut: boolean; gone: AbortSignal; token_ms: number; clock: Clock }>,
): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" });
  const send = (event: unknown): boolean => response.write(`data: ${JSON.stringify(event)}\n\n`);
  for (const [index, { word }] of words.slice(0, how.cut ? Math.ceil(words.length / 2) : words.length).entries()) {
    if (index > 0) await delay(how.clock, how.token_ms, how.gone);
    send({ type: "transcript.text.delta", delta: index === 0 ? word : ` ${word}` });
  }
  if (how.cut) return void response.write("", () => response.destroy());
  send({ type: "transcript.text.done", text: words.map(({ word }) => word).join(" ") });
  response.end();
}

function durationOf({ pcm, rate }: TranscriptionRequest): number {
  return Math.round((pcm.length * MS_PER_SECOND) / rate) / MS_PER_SECOND;
}

function usageOf(asked: TranscriptionRequest): Readonly<Record<string, unknown>> {
  return { type: "duration", seconds: Math.ceil(durationOf(asked)) };
}

function verbose(asked: TranscriptionRequest, text: string, words: readonly Word[]): Readonly<Record<string, unknown>> {
  const [start, end] = [words[0]?.start ?? 0, words.at(-1)?.end ?? 0];
  const segment = {
    id: 0,
    seek: 0,
    start,
    end,
    text,
    tokens: [],
    temperature: 0,
    avg_logprob: 0,
    compression_ratio: 1,
    no_speech_prob: 0,
  };
  return {
    task: "transcribe",
    language: asked.language,
    duration: durationOf(asked),
    text,
    words,
    segments: words.length === 0 ? [] : [segment],
    usage: usageOf(asked),
  };
}
