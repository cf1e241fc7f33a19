import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { encodeSpeech } from "../../speech/modem.ts";
import { pcmBytes, wavHeader } from "../../speech/wav.ts";
import { delay } from "./delays.ts";
import { errorOf } from "./faults.ts";
import { ApiError } from "./chat-request.ts";
import { watched } from "./request-log.ts";
import type { RequestContext } from "./request-context.ts";

/** Speech of a text, streamed faster than it is heard (API reference, "Create speech"). */

/** A request for speech. */
export type SpeechRequest = Readonly<{ model: string; input: string; format: "pcm" | "wav" }>;

/** Rate of the sound, as OpenAI's raw PCM has it. */
export const SPEECH_RATE = 24_000;
/** Sound is handed out in pieces so long … */
export const PIECE_MS = 200;
/** … each so much later than the one before: ten times as fast as it is heard. */
export const PIECE_EVERY_MS = 20;

const MOST_CHARACTERS = 4096;
const SLOWEST = 0.25;
const FASTEST = 4;
const FORMATS = ["mp3", "opus", "aac", "flac", "wav", "pcm"] as const;

/** Checks a parsed JSON body; throws ApiFault 400 naming the parameter at fault. */
export function readSpeechRequest(body: unknown): SpeechRequest {
  if (typeof body !== "object" || body === null || Array.isArray(body))
    throw new ApiError(400, "The body must be a JSON object.");
  const fields: Readonly<Record<string, unknown>> = { ...body };
  const { model, input, voice, speed } = fields;
  if (typeof model !== "string" || model === "") throw new ApiError(400, "you must provide a model parameter", "model");
  if (typeof input !== "string" || input.trim() === "")
    throw new ApiError(
      400,
      "Invalid 'input': string too short. Expected a string with minimum length 1.",
      "input",
      "string_too_short",
    );
  if (input.length > MOST_CHARACTERS)
    throw new ApiError(
      400,
      `Invalid 'input': string too long. Expected a string with maximum length ${MOST_CHARACTERS}, but got ${input.length}.`,
      "input",
      "string_too_long",
    );
  const named = typeof voice === "object" && voice !== null && "id" in voice ? voice.id : voice;
  if (typeof named !== "string" || named === "")
    throw new ApiError(400, "Missing required parameter: 'voice'.", "voice", "missing_required_parameter");
  // Taken and left: words would be lost if the sound were stretched.
  if (speed !== undefined && speed !== null && (typeof speed !== "number" || speed < SLOWEST || speed > FASTEST))
    throw new ApiError(
      400,
      `Invalid 'speed': expected a number from ${SLOWEST} to ${FASTEST}.`,
      "speed",
      "invalid_value",
    );
  if (fields["stream_format"] !== undefined && fields["stream_format"] !== "audio")
    throw new ApiError(
      400,
      "The model simulator streams sound: 'stream_format' must be 'audio'.",
      "stream_format",
      "unsupported_value",
    );
  return { model, input, format: formatOf(fields["response_format"] ?? "mp3") };
}

function formatOf(value: unknown): SpeechRequest["format"] {
  if (value === "pcm" || value === "wav") return value;
  const known = FORMATS.find((one) => one === value);
  if (known === undefined)
    throw new ApiError(
      400,
      `Invalid value for 'response_format': expected one of ${FORMATS.join(", ")}.`,
      "response_format",
      "invalid_value",
    );
  throw new ApiError(
    400,
    `The model simulator has no ${known}: 'response_format' must be 'pcm' or 'wav' (left out it means 'mp3').`,
    "response_format",
    "unsupported_value",
  );
}

/** Speaks, as slowly and as badly as was ordered. */
export async function answerSpeech(
  speech: SpeechRequest,
  response: ServerResponse,
  context: RequestContext,
): Promise<void> {
  const fault = context.faults.take("speech");
  const summary = context.requests.open({
    kind: "speech",
    model: speech.model,
    stream: true,
    fault: fault?.kind ?? null,
  });
  const gone = watched(response, summary);
  const error = errorOf(fault);
  if (error !== null) throw error;
  if (fault?.kind === "hang") return; // The connection stays open until the client or the server closes it.
  summary.reply = { content: speech.input, call: null };
  const pcm = encodeSpeech(speech.input, SPEECH_RATE);
  await delay(context.clock, context.delays.first_audio_ms + (fault?.kind === "slow" ? fault.ms : 0), gone);
  response.writeHead(200, { "content-type": speech.format === "wav" ? "audio/wav" : "audio/pcm" });
  // The length is not known to a server that speaks while it thinks; its header says so.
  if (speech.format === "wav") response.write(wavHeader(SPEECH_RATE, 1));
  const piece = (PIECE_MS * SPEECH_RATE) / 1000;
  const until = fault?.kind === "cut_stream" ? pcm.length / 2 : pcm.length;
  for (let from = 0; from < until; from += piece) {
    if (from > 0) await delay(context.clock, PIECE_EVERY_MS, gone);
    if (!response.write(pcmBytes(pcm.subarray(from, Math.min(from + piece, until)))))
      await once(response, "drain", { signal: gone });
  }
  if (fault?.kind !== "cut_stream") return void response.end();
  // The half that was written must reach the client before the line is cut.
  response.write("", () => response.destroy());
}
