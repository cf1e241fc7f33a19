import { isRecord, recordIn, textOf } from "../../../../shared/json.ts";
import type { ChatTool } from "../../dialogue/chat-messages.ts";
import type { AnswerCut } from "../port.ts";
import { languageOf } from "../../../../shared/phrases.ts";

/** Names of OpenAI's Realtime protocol: `ga`, or those of its beta, which self-hosted servers still speak. */
export type Dialect = "ga" | "beta";
/** Sound as the protocol names it. */
export type RealtimeAudioFormat = "pcmu" | "pcma" | "pcm";

/** What a session is to be like. */
export interface SessionSettings {
  readonly instructions: string;
  readonly tools: readonly ChatTool[];
  readonly voice: string;
  readonly audio_format: RealtimeAudioFormat;
  readonly language: string;
  readonly transcription_model: string;
}

/** Server events, normalised over both dialects. */
export type RealtimeEvent =
  | { readonly type: "ready" }
  | { readonly type: "committed"; readonly item_id: string }
  | { readonly type: "transcript_delta"; readonly item_id: string; readonly text: string }
  | { readonly type: "transcript"; readonly item_id: string; readonly text: string }
  | { readonly type: "transcription_failed"; readonly item_id: string }
  /** `ask`: what we called the answer when we asked for it, where the server repeats it. */
  | { readonly type: "response_started"; readonly response_id: string; readonly ask: string | null }
  | { readonly type: "item"; readonly response_id: string; readonly item_id: string }
  | { readonly type: "audio"; readonly response_id: string; readonly item_id: string; readonly audio: string }
  | { readonly type: "text"; readonly response_id: string; readonly item_id: string; readonly text: string }
  | {
      readonly type: "call";
      readonly response_id: string;
      readonly call_id: string;
      readonly name: string;
      readonly arguments: string;
    }
  | {
      readonly type: "response_ended";
      readonly response_id: string;
      readonly status: string;
      readonly cut: AnswerCut | null;
      readonly items: readonly string[];
      readonly tokens_in: number;
      readonly tokens_out: number;
    }
  /** `event_id`: which of our events it complains about, where the server says so. */
  | { readonly type: "error"; readonly code: string; readonly event_id: string | null };

/** Silence after which the server ends a turn. */
const SILENCE_MS = 300;
const PREFIX_MS = 300;
const THRESHOLD = 0.5;
/** The rate of linear sound in this protocol. */
export const PCM_RATE = 24_000;

/** The formats as the beta protocol names them. */
export const BETA_SOUND: Readonly<Record<RealtimeAudioFormat, string>> = {
  pcmu: "g711_ulaw",
  pcma: "g711_alaw",
  pcm: "pcm16",
};
/** The format as today's protocol names it. */
export const gaSound = (sound: RealtimeAudioFormat): object =>
  sound === "pcm" ? { type: "audio/pcm", rate: PCM_RATE } : { type: `audio/${sound}` };
const toolsOf = (tools: readonly ChatTool[]): object[] =>
  tools.map(({ function: f }) => ({
    type: "function",
    name: f.name,
    description: f.description,
    parameters: f.parameters,
  }));
const task = ({ instructions, tools }: Pick<SessionSettings, "instructions" | "tools">): object => ({
  instructions,
  tools: toolsOf(tools),
  tool_choice: "auto",
});
/** `session.update`, the first of a session: the server separates turns, we decide when it answers. */
export function sessionUpdate(dialect: Dialect, wish: SessionSettings): object {
  const { voice, audio_format: sound, language, transcription_model } = wish;
  const turn_detection = {
    type: "server_vad",
    threshold: THRESHOLD,
    prefix_padding_ms: PREFIX_MS,
    silence_duration_ms: SILENCE_MS,
    create_response: false,
    interrupt_response: false,
  };
  const transcription = { model: transcription_model, language: languageOf(language) };
  if (dialect === "beta") {
    const format = BETA_SOUND[sound];
    const sounds = {
      voice,
      input_audio_format: format,
      output_audio_format: format,
      input_audio_transcription: transcription,
      turn_detection,
    };
    return { type: "session.update", session: { ...task(wish), modalities: ["text", "audio"], ...sounds } };
  }
  const format = gaSound(sound);
  return {
    type: "session.update",
    session: {
      type: "realtime",
      ...task(wish),
      output_modalities: ["audio"],
      audio: { input: { format, transcription, turn_detection }, output: { format, voice } },
    },
  };
}

/** `session.update` for another task; voice and sound stay: servers refuse to change them once they have spoken. */
export const instructionsUpdate = (
  dialect: Dialect,
  wish: Pick<SessionSettings, "instructions" | "tools">,
): object => ({
  type: "session.update",
  session: { ...(dialect === "ga" ? { type: "realtime" } : {}), ...task(wish) },
});

/** Sound of the caller, base64. */
export const appendAudio = (audio: string): object => ({ type: "input_audio_buffer.append", audio });

/** Input of the caller that is not audio. */
export const userText = (text: string): object => ({
  type: "conversation.item.create",
  item: { type: "message", role: "user", content: [{ type: "input_text", text }] },
});

/** The result of a function call. */
export const functionOutput = (call_id: string, output: string): object => ({
  type: "conversation.item.create",
  item: { type: "function_call_output", call_id, output },
});

/** Deletes a heard item from the server's conversation. */
export const deleteItem = (item_id: string): object => ({ type: "conversation.item.delete", item_id });

/** Truncates an item to what the caller heard. */
export const truncateItem = (item_id: string, audio_end_ms: number): object => ({
  type: "conversation.item.truncate",
  item_id,
  content_index: 0,
  audio_end_ms,
});

/** Lets the model answer; with a text it says exactly that. `ask`: our name of the answer; only the newer dialect has a place to repeat it in. */
export function createResponse(dialect: Dialect, ask: string, verbatim: string | null): object {
  const metadata = dialect === "ga" ? { metadata: { ask } } : {};
  const exactly =
    verbatim === null
      ? {}
      : {
          instructions: `Say exactly this and nothing else: ${JSON.stringify(verbatim)}`,
          tools: [],
          tool_choice: "none",
        };
  return { type: "response.create", event_id: ask, response: { ...exactly, ...metadata } };
}

/** Cancels a response in progress. */
export const cancelResponse = (response_id: string): object => ({ type: "response.cancel", response_id });

const count = (value: unknown): number => (typeof value === "number" && Number.isFinite(value) ? value : 0);
const fields = (value: unknown): Record<string, unknown> => (isRecord(value) ? value : {});

/** Why a response is incomplete. */
const CUTS: Readonly<Record<string, AnswerCut>> = {
  max_output_tokens: "ANSWER_CUT",
  content_filter: "ANSWER_FILTERED",
};

/** Reads an event of a response; null: it is none. */
function responseEvent(event: Record<string, unknown>): RealtimeEvent | null {
  const item_id = textOf(event["item_id"]);
  const response_id = textOf(event["response_id"]);
  switch (event["type"]) {
    case "response.created": {
      const { id, metadata } = fields(event["response"]);
      return { type: "response_started", response_id: textOf(id), ask: textOf(fields(metadata)["ask"]) || null };
    }
    case "response.output_item.added":
      return { type: "item", response_id, item_id: textOf(fields(event["item"])["id"]) };
    case "response.output_audio.delta":
    case "response.audio.delta":
      return { type: "audio", response_id, item_id, audio: textOf(event["delta"]) };
    case "response.output_audio_transcript.delta":
    case "response.audio_transcript.delta":
    case "response.output_text.delta":
    case "response.text.delta":
      return { type: "text", response_id, item_id, text: textOf(event["delta"]) };
    case "response.output_item.done": {
      const item = fields(event["item"]);
      if (item["type"] !== "function_call") return null;
      return {
        type: "call",
        response_id,
        call_id: textOf(item["call_id"]),
        name: textOf(item["name"]),
        arguments: isRecord(item["arguments"]) ? JSON.stringify(item["arguments"]) : textOf(item["arguments"]),
      };
    }
    case "response.done": {
      const response = fields(event["response"]);
      const { input_tokens, output_tokens } = fields(response["usage"]);
      const items = Array.isArray(response["output"])
        ? response["output"].map((item) => textOf(fields(item)["id"])).filter((id) => id !== "")
        : [];
      return {
        type: "response_ended",
        response_id: textOf(response["id"]),
        status: textOf(response["status"]),
        cut: CUTS[textOf(fields(response["status_details"])["reason"])] ?? null,
        items,
        tokens_in: count(input_tokens),
        tokens_out: count(output_tokens),
      };
    }
    default:
      return null;
  }
}

/** Reads one event, by either dialect's name; null: it is not relevant. */
export function readEvent(data: string): RealtimeEvent | null {
  const event = recordIn(data);
  if (!event) return null;
  const item_id = textOf(event["item_id"]);
  const response = responseEvent(event);
  if (response) return response;
  switch (event["type"]) {
    case "session.updated":
      return { type: "ready" };
    case "input_audio_buffer.committed":
      return { type: "committed", item_id };
    case "conversation.item.input_audio_transcription.delta":
      return { type: "transcript_delta", item_id, text: textOf(event["delta"]) };
    case "conversation.item.input_audio_transcription.completed":
      return { type: "transcript", item_id, text: textOf(event["transcript"]) };
    case "conversation.item.input_audio_transcription.failed":
      return { type: "transcription_failed", item_id };
    // only the code is kept: messages may repeat what was said
    case "error": {
      const { code, type, event_id } = fields(event["error"]);
      return { type: "error", code: textOf(code) || textOf(type) || "error", event_id: textOf(event_id) || null };
    }
    default:
      return null;
  }
}
