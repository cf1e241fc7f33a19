import type OpenAI from "openai";
import type { ChatMessage } from "../flow/chat.ts";
import { ModelFault, type ChatPiece, type ChatStream } from "./port.ts";

/** Where the model is asked. */
export interface ModelAddress { readonly base_url: string | undefined; readonly key: string | undefined; readonly model: string }

/** Local servers ask for no key; the package insists on one. */
const NO_KEY = "none";
const REFUSED = new Set([400, 401, 403, 404, 422]);
const BUSY = 429;

const toOpenAi = (m: ChatMessage): OpenAI.Chat.Completions.ChatCompletionMessageParam =>
  m.role === "assistant" && m.tool_calls ? { ...m, tool_calls: m.tool_calls.map((c) => ({ ...c, function: { ...c.function } })) } : m.role === "assistant" ? { role: "assistant", content: m.content } : m;

function faultOf(error: unknown): ModelFault {
  const status = typeof error === "object" && error !== null && "status" in error ? error.status : undefined;
  // only the status is told: bodies may repeat what was said, or the key
  if (typeof status !== "number") return new ModelFault("MODEL_ERROR", "the model can't be reached; check OPENAI_BASE_URL", true);
  if (status === BUSY) return new ModelFault("MODEL_BUSY", "the model answered 429: too many requests", true);
  if (REFUSED.has(status)) return new ModelFault("MODEL_REFUSED", `the model answered ${status}; check OPENAI_API_KEY, OPENAI_MODEL and OPENAI_BASE_URL`, false);
  return new ModelFault("MODEL_ERROR", `the model answered ${status}`, true);
}

/** Streams chat completions through the `openai` package, which is loaded at the first question; its own retries are off. */
export function openAiChat(address: ModelAddress): ChatStream {
  let client: Promise<OpenAI> | null = null;
  const connect = (): Promise<OpenAI> => (client ??= import("openai").then(({ default: Client }) =>
    new Client({ apiKey: address.key ?? NO_KEY, baseURL: address.base_url ?? null, maxRetries: 0 })));

  return async function* stream(request, signal): AsyncGenerator<ChatPiece> {
    try {
      const openai = await connect();
      const chunks = await openai.chat.completions.create({
        model: address.model, stream: true, stream_options: { include_usage: true }, messages: request.messages.map(toOpenAi),
        ...(request.tools.length === 0 ? {} : { tools: request.tools.map((t) => ({ type: "function" as const, function: { ...t.function, parameters: { ...t.function.parameters } } })) }),
      }, { signal });
      for await (const chunk of chunks) {
        const delta = chunk.choices[0]?.delta;
        if (delta?.content) yield { type: "text", text: delta.content };
        for (const c of delta?.tool_calls ?? []) yield { type: "call", index: c.index, id: c.id ?? "", name: c.function?.name ?? "", arguments: c.function?.arguments ?? "" };
        if (chunk.usage) yield { type: "usage", prompt_tokens: chunk.usage.prompt_tokens, completion_tokens: chunk.usage.completion_tokens };
      }
    } catch (error) {
      throw faultOf(error);
    }
  };
}
