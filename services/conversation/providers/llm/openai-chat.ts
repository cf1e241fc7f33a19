import type OpenAI from "openai";
import type { ChatMessage } from "../../dialogue/chat-messages.ts";
import type { ModelAddress } from "../addresses.ts";
import { openAiClient } from "../openai-client.ts";
import { modelErrorOf } from "../model-errors.ts";
import type { ChatPiece, ChatRequest, ChatStream } from "../port.ts";
import { answerPieces, type StreamedChunk } from "./answer-pieces.ts";
import { isRecord, textOf } from "../../../../shared/json.ts";

/** Where the model is asked. */
export type ChatAddress = Pick<ModelAddress, "base_url" | "key" | "model"> & { readonly check?: string };

const CHECK = "OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL";

const toOpenAi = (m: ChatMessage): OpenAI.Chat.Completions.ChatCompletionMessageParam =>
  m.role === "assistant" && m.tool_calls
    ? { ...m, tool_calls: m.tool_calls.map((c) => ({ ...c, function: { ...c.function } })) }
    : m.role === "assistant"
      ? { role: "assistant", content: m.content }
      : m;

type Asked = OpenAI.Chat.Completions.ChatCompletionCreateParamsStreaming;

/** Whether a refusal is about `stream_options`, which Mistral's API and older servers do not know. */
const refusesOptions = (error: unknown): boolean =>
  isRecord(error) &&
  (error["status"] === 400 || error["status"] === 422) &&
  JSON.stringify([error["error"] ?? null, textOf(error["message"])]).includes("stream_options");

const questionOf = (model: string, { tools, messages }: ChatRequest, usage: boolean): Asked => ({
  model,
  stream: true,
  ...(usage ? { stream_options: { include_usage: true } } : {}),
  ...(tools.length === 0
    ? {}
    : {
        tools: tools.map((t) => ({
          type: "function" as const,
          function: { ...t.function, parameters: { ...t.function.parameters } },
        })),
      }),
  messages: messages.map(toOpenAi),
});

/** Whether a server answers in one piece, although it was asked for a stream. */
const isWhole = (response: Response): boolean =>
  /^application\/json\b/i.test(response.headers.get("content-type") ?? "");

/** Such an answer as one chunk. */
function wholeAnswer(body: unknown): StreamedChunk {
  const choices = isRecord(body) && Array.isArray(body["choices"]) ? body["choices"] : [];
  const [choice]: readonly unknown[] = choices;
  if (!isRecord(choice) || !isRecord(choice["message"])) return { object: "error" };
  const usage = isRecord(body) && isRecord(body["usage"]) ? body["usage"] : {};
  const count = (value: unknown): number => (typeof value === "number" ? value : 0);
  return {
    choices: [{ delta: choice["message"], finish_reason: textOf(choice["finish_reason"]) }],
    usage: { prompt_tokens: count(usage["prompt_tokens"]), completion_tokens: count(usage["completion_tokens"]) },
  };
}

/** Streams chat completions. Of two questions in one node the first is a beginning of the second, byte for byte: functions, role and task come first. */
export function openAiChat(address: ChatAddress): ChatStream {
  const connect = openAiClient(address);
  /** Off for good once the server has refused the question for it: it tells its tokens unasked, or not at all. */
  let asksUsage = true;

  return async function* stream(request, signal): AsyncGenerator<ChatPiece> {
    const ask = async () => {
      const openai = await connect();
      return openai.chat.completions.create(questionOf(address.model, request, asksUsage), { signal }).withResponse();
    };
    const pieces = answerPieces(request.tools.map((tool) => tool.function.name));
    try {
      const { data, response } = await ask().catch((error: unknown) => {
        if (!asksUsage || !refusesOptions(error)) throw error;
        asksUsage = false;
        return ask();
      });
      if (isWhole(response)) yield* pieces.read(wholeAnswer(await response.json()));
      else for await (const chunk of data) yield* pieces.read(chunk);
      yield* pieces.end();
    } catch (error) {
      throw modelErrorOf(error, address.check ?? CHECK);
    }
  };
}
