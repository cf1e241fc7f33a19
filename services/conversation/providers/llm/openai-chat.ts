import type OpenAI from "openai";
import type { ChatMessage } from "../../dialogue/chat-messages.ts";
import type { ModelAddress } from "../addresses.ts";
import { openAiClient } from "../openai-client.ts";
import { modelErrorOf } from "../model-errors.ts";
import type { ChatPiece, ChatStream } from "../port.ts";

/** Where the model is asked. */
export type ChatAddress = Pick<ModelAddress, "base_url" | "key" | "model"> & { readonly check?: string };

const CHECK = "OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL";

const toOpenAi = (m: ChatMessage): OpenAI.Chat.Completions.ChatCompletionMessageParam =>
  m.role === "assistant" && m.tool_calls
    ? { ...m, tool_calls: m.tool_calls.map((c) => ({ ...c, function: { ...c.function } })) }
    : m.role === "assistant"
      ? { role: "assistant", content: m.content }
      : m;

/** Streams chat completions. Of two questions in one node the first is a beginning of the second, byte for byte: functions, role and task come first. */
export function openAiChat(address: ChatAddress): ChatStream {
  const connect = openAiClient(address);

  return async function* stream(request, signal): AsyncGenerator<ChatPiece> {
    try {
      const openai = await connect();
      const chunks = await openai.chat.completions.create(
        {
          model: address.model,
          stream: true,
          stream_options: { include_usage: true },
          ...(request.tools.length === 0
            ? {}
            : {
                tools: request.tools.map((t) => ({
                  type: "function" as const,
                  function: { ...t.function, parameters: { ...t.function.parameters } },
                })),
              }),
          messages: request.messages.map(toOpenAi),
        },
        { signal },
      );
      for await (const chunk of chunks) {
        const delta = chunk.choices[0]?.delta;
        if (delta?.content) yield { type: "text", text: delta.content };
        for (const c of delta?.tool_calls ?? [])
          yield {
            type: "call",
            index: c.index,
            id: c.id ?? "",
            name: c.function?.name ?? "",
            arguments: c.function?.arguments ?? "",
          };
        if (chunk.usage)
          yield {
            type: "usage",
            prompt_tokens: chunk.usage.prompt_tokens,
            completion_tokens: chunk.usage.completion_tokens,
          };
      }
    } catch (error) {
      throw modelErrorOf(error, address.check ?? CHECK);
    }
  };
}
