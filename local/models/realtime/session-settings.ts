import type { Law } from "../../speech/g711.ts";
import type { Rate } from "../../speech/tones.ts";
import { ApiError } from "../api/chat-request.ts";

/** What a realtime session is set to, in both dialects: "ga" nests it, "beta" is flat with names of its own. Pure. */

/** The two dialects of realtime events. */
export type Dialect = "ga" | "beta";

/** How sound travels in a session. */
export type SoundFormat = Readonly<{ name: "audio/pcm" | "audio/pcmu" | "audio/pcma"; law: Law | null; rate: Rate }>;

/** Turn detection; null in a session whose client commits its turns. */
export type TurnDetection = Readonly<{
  threshold: number;
  prefix_padding_ms: number;
  silence_duration_ms: number;
  create_response: boolean;
  interrupt_response: boolean;
  kind: "server_vad" | "semantic_vad";
}>;

/** The settings of a session. */
export type Settings = Readonly<{
  purpose: "realtime" | "transcription";
  model: string;
  instructions: string;
  modality: "audio" | "text";
  voice: string;
  input: SoundFormat;
  output: SoundFormat;
  detection: TurnDetection | null;
  transcription: Readonly<Record<string, unknown>> | null;
  /** As they came; checked when they are used. */
  tools: readonly unknown[];
  tool_choice: unknown;
  max_output_tokens: number | "inf";
}>;

type Fields = Readonly<Record<string, unknown>>;

const PCM: SoundFormat = { name: "audio/pcm", law: null, rate: 24_000 };
const FORMATS: readonly (SoundFormat & { beta: string })[] = [
  { ...PCM, beta: "pcm16" },
  { name: "audio/pcmu", law: "pcmu", rate: 8000, beta: "g711_ulaw" },
  { name: "audio/pcma", law: "pcma", rate: 8000, beta: "g711_alaw" },
];
const DETECTION: TurnDetection = {
  kind: "server_vad",
  threshold: 0.5,
  prefix_padding_ms: 300,
  silence_duration_ms: 500,
  create_response: true,
  interrupt_response: true,
};
/** How long a turn's silence is for the model that judges meaning: here by its eagerness alone. */
const SILENCE_BY_EAGERNESS: Readonly<Record<string, number>> = { low: 900, medium: 500, auto: 500, high: 300 };
const MOST_MS = 60_000;

/** A session as it begins. */
export function firstSettings(purpose: Settings["purpose"], model: string): Settings {
  return {
    purpose,
    model,
    instructions: "",
    modality: "audio",
    voice: "alloy",
    input: PCM,
    output: PCM,
    tools: [],
    tool_choice: "auto",
    max_output_tokens: "inf",
    detection: DETECTION,
    transcription: purpose === "transcription" ? {} : null,
  };
}

/** An object's fields; throws ApiFault 400 for anything else. */
export function fieldsOf(value: unknown, param: string): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new ApiError(400, `Invalid type for '${param}': expected an object.`, param, "invalid_type");
  return { ...value };
}

/** The settings after an update: only what is named in it changes. Throws ApiFault 400. */
export function updated(before: Settings, session: unknown, dialect: Dialect): Settings {
  const given = fieldsOf(session, "session");
  if (dialect === "ga" && given["type"] !== before.purpose)
    throw new ApiError(
      400,
      given["type"] === undefined
        ? "Missing required parameter: 'session.type'."
        : `Passing a ${before.purpose === "realtime" ? "transcription" : "realtime"} session to a ${before.purpose} connection is not allowed.`,
      "session.type",
      "missing_required_parameter",
    );
  const next = dialect === "ga" ? given : nested(given);
  const audio = fieldsOf(next["audio"] ?? {}, "session.audio");
  const input = fieldsOf(audio["input"] ?? {}, "session.audio.input");
  const output = fieldsOf(audio["output"] ?? {}, "session.audio.output");
  return {
    ...before,
    ...("instructions" in next ? { instructions: textOf(next["instructions"], "session.instructions") } : {}),
    ...("output_modalities" in next ? { modality: modalityOf(next["output_modalities"]) } : {}),
    ...("tools" in next ? { tools: toolsOf(next["tools"]) } : {}),
    ...("tool_choice" in next ? { tool_choice: next["tool_choice"] } : {}),
    ...("max_output_tokens" in next ? { max_output_tokens: tokensOf(next["max_output_tokens"]) } : {}),
    ...("format" in input ? { input: formatOf(input["format"], "session.audio.input.format") } : {}),
    ...("turn_detection" in input ? { detection: detectionOf(input["turn_detection"]) } : {}),
    ...("transcription" in input
      ? {
          transcription:
            input["transcription"] === null
              ? null
              : fieldsOf(input["transcription"], "session.audio.input.transcription"),
        }
      : {}),
    ...("format" in output ? { output: formatOf(output["format"], "session.audio.output.format") } : {}),
    ...("voice" in output ? { voice: voiceOf(output["voice"]) } : {}),
  };
}

/** The flat session of the beta dialect as the nested one. */
function nested(flat: Fields): Fields {
  const moved = (names: Readonly<Record<string, string>>): Fields =>
    Object.fromEntries(Object.entries(names).flatMap(([from, to]) => (from in flat ? [[to, flat[from]]] : [])));
  const input = moved({
    input_audio_format: "format",
    turn_detection: "turn_detection",
    input_audio_transcription: "transcription",
  });
  const output = moved({ output_audio_format: "format", voice: "voice" });
  return {
    ...moved({
      instructions: "instructions",
      modalities: "output_modalities",
      tools: "tools",
      tool_choice: "tool_choice",
      max_response_output_tokens: "max_output_tokens",
    }),
    audio: { input, output },
  };
}

/** The session as its events tell it. */
export function described(settings: Settings, id: string, dialect: Dialect): Fields {
  const { purpose, model, detection, transcription } = settings;
  const turns = detection === null ? null : detectionFields(detection, purpose);
  if (dialect === "beta") {
    const common = {
      id,
      object: `${purpose}.session`,
      input_audio_format: betaFormat(settings.input),
      input_audio_transcription: transcription,
      turn_detection: turns,
    };
    if (purpose === "transcription") return common;
    return {
      ...common,
      model,
      modalities: settings.modality === "audio" ? ["audio", "text"] : ["text"],
      instructions: settings.instructions,
      voice: settings.voice,
      output_audio_format: betaFormat(settings.output),
      tools: settings.tools,
      tool_choice: settings.tool_choice,
      temperature: 0.8,
      max_response_output_tokens: settings.max_output_tokens,
    };
  }
  const input = { format: formatFields(settings.input), transcription, noise_reduction: null, turn_detection: turns };
  if (purpose === "transcription")
    return { id, object: "realtime.transcription_session", type: purpose, audio: { input } };
  return {
    id,
    object: "realtime.session",
    type: purpose,
    model,
    output_modalities: [settings.modality],
    instructions: settings.instructions,
    tools: settings.tools,
    tool_choice: settings.tool_choice,
    max_output_tokens: settings.max_output_tokens,
    audio: { input, output: { format: formatFields(settings.output), voice: settings.voice, speed: 1 } },
  };
}

/** A format as events of the nested dialect tell it. */
export function formatFields(format: SoundFormat): Fields {
  return format.law === null ? { type: format.name, rate: format.rate } : { type: format.name };
}

function betaFormat(format: SoundFormat): string {
  return FORMATS.find(({ name }) => name === format.name)?.beta ?? "pcm16";
}

function detectionFields(detection: TurnDetection, purpose: Settings["purpose"]): Fields {
  const { kind, threshold, prefix_padding_ms, silence_duration_ms, create_response, interrupt_response } = detection;
  const answers = purpose === "realtime" ? { create_response, interrupt_response } : {};
  return kind === "server_vad"
    ? { type: kind, threshold, prefix_padding_ms, silence_duration_ms, idle_timeout_ms: null, ...answers }
    : { type: kind, eagerness: "auto", ...answers };
}

function formatOf(value: unknown, param: string): SoundFormat {
  const fields =
    typeof value === "string" ? { type: FORMATS.find(({ beta }) => beta === value)?.name } : fieldsOf(value, param);
  const format = FORMATS.find(({ name }) => name === fields["type"]);
  if (format === undefined) throw new ApiError(400, `Invalid value for '${param}'.`, param, "invalid_value");
  const rate = "rate" in fields ? fields["rate"] : format.rate;
  if (rate !== format.rate)
    throw new ApiError(400, `Invalid '${param}.rate': expected ${format.rate}.`, `${param}.rate`, "invalid_value");
  return { name: format.name, law: format.law, rate: format.rate };
}

function detectionOf(value: unknown): TurnDetection | null {
  if (value === null) return null;
  const param = "session.audio.input.turn_detection";
  const fields = fieldsOf(value, param);
  const kind = fields["type"] ?? "server_vad";
  if (kind !== "server_vad" && kind !== "semantic_vad")
    throw new ApiError(
      400,
      `Invalid value for '${param}.type': expected 'server_vad' or 'semantic_vad'.`,
      `${param}.type`,
      "invalid_value",
    );
  const number = (name: "threshold" | "prefix_padding_ms" | "silence_duration_ms", most: number): number => {
    const given = fields[name] ?? DETECTION[name];
    if (typeof given !== "number" || given < 0 || given > most)
      throw new ApiError(
        400,
        `Invalid '${param}.${name}': expected a number from 0 to ${most}.`,
        `${param}.${name}`,
        "invalid_value",
      );
    return given;
  };
  const silence =
    kind === "semantic_vad"
      ? SILENCE_BY_EAGERNESS[String(fields["eagerness"] ?? "auto")]
      : number("silence_duration_ms", MOST_MS);
  if (silence === undefined)
    throw new ApiError(400, `Invalid '${param}.eagerness'.`, `${param}.eagerness`, "invalid_value");
  return {
    kind,
    threshold: number("threshold", 1),
    prefix_padding_ms: number("prefix_padding_ms", MOST_MS),
    silence_duration_ms: silence,
    create_response: fields["create_response"] !== false,
    interrupt_response: fields["interrupt_response"] !== false,
  };
}

/** The way of answering; sound always comes with its words. */
export function modalityOf(value: unknown): Settings["modality"] {
  if (!Array.isArray(value) || value.length === 0 || value.some((one) => one !== "audio" && one !== "text"))
    throw new ApiError(
      400,
      "Invalid modalities: expected ['audio'] or ['text'].",
      "session.output_modalities",
      "invalid_value",
    );
  return value.includes("audio") ? "audio" : "text";
}

function textOf(value: unknown, param: string): string {
  if (typeof value !== "string")
    throw new ApiError(400, `Invalid type for '${param}': expected a string.`, param, "invalid_type");
  return value;
}

function voiceOf(value: unknown): string {
  return typeof value === "object" && value !== null && "id" in value
    ? textOf(value.id, "session.audio.output.voice")
    : textOf(value, "session.audio.output.voice");
}

/** Functions as a session or a response names them. */
export function toolsOf(value: unknown): readonly unknown[] {
  if (!Array.isArray(value))
    throw new ApiError(400, "Invalid type for 'session.tools': expected an array.", "session.tools", "invalid_type");
  for (const [index, tool] of value.entries()) {
    const { type, name } = fieldsOf(tool, `session.tools[${index}]`);
    if (type !== "function" || typeof name !== "string")
      throw new ApiError(
        400,
        `Invalid 'session.tools[${index}]': expected a function with a name.`,
        `session.tools[${index}]`,
        "invalid_value",
      );
  }
  return value;
}

function tokensOf(value: unknown): number | "inf" {
  if (value === "inf" || (typeof value === "number" && Number.isInteger(value) && value > 0)) return value;
  throw new ApiError(400, "Invalid 'session.max_output_tokens'.", "session.max_output_tokens", "invalid_value");
}
