import { isRecord, recordIn, textOf } from "../../../../shared/json.ts";
import { withoutThoughts } from "../../../../shared/speakable/speakable-text.ts";
import { withoutTextCalls } from "./text-calls.ts";
import { ModelError, type AnswerCut, type ChatPiece } from "../port.ts";

/** A streamed chunk as far as it is read: `chat.completion.chunk` of OpenAI's API reference, without what other servers leave out. */
export interface StreamedChunk {
  readonly object?: string;
  readonly choices?: readonly {
    readonly delta?: { readonly content?: unknown; readonly tool_calls?: unknown };
    readonly finish_reason?: string | null;
  }[];
  readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number } | null;
}

/** Text of a delta: a string, or parts, of which those of the type `text` are the answer. */
const answerText = (content: unknown): string =>
  Array.isArray(content)
    ? content.map((part) => (isRecord(part) && part["type"] === "text" ? textOf(part["text"]) : "")).join("")
    : textOf(content);

/**
 * Tells the function calls of an answer apart. The API numbers them by `index`; servers leave it out (Ollama, Gemini behind proxies) or give all calls the same (Gemini), and two calls
 * in one would be no JSON. A part that names a function begins another call where its id is another, or where neither has one and the call before is whole.
 */
function callPieces(): (part: unknown) => ChatPiece | null {
  const calls: { id: string; name: string; arguments: string }[] = [];
  const slots = new Map<number, number>();
  return (part) => {
    if (!isRecord(part)) return null;
    const told = isRecord(part["function"]) ? part["function"] : {};
    const args = told["arguments"];
    // Ollama's native shape, which proxies pass on: an object in place of its text
    const written = isRecord(args) ? JSON.stringify(args) : textOf(args);
    const piece = { id: textOf(part["id"]), name: textOf(told["name"]), arguments: written };
    const wire = typeof part["index"] === "number" ? part["index"] : -1;
    const slot = slots.get(wire) ?? -1;
    const known = calls[slot];
    const another =
      known === undefined ||
      (piece.id !== "" && known.id !== "" && piece.id !== known.id) ||
      (piece.name !== "" && piece.id === "" && known.name !== "" && recordIn(known.arguments) !== null);
    if (another) {
      slots.set(wire, calls.length);
      calls.push(piece);
      return { type: "call", index: calls.length - 1, ...piece };
    }
    known.id ||= piece.id;
    known.name ||= piece.name;
    known.arguments += piece.arguments;
    return { type: "call", index: slot, ...piece };
  };
}

const CUTS: Readonly<Record<string, AnswerCut>> = { length: "ANSWER_CUT", content_filter: "ANSWER_FILTERED" };
const cutPieces = (finish_reason: string | null | undefined): ChatPiece[] => {
  const code = CUTS[finish_reason ?? ""];
  return code === undefined ? [] : [{ type: "cut", code }];
};

/** Reads the chunks of one answer, whatever server streams it; a call of one of these functions may come as text. Throws MODEL_ERROR for the error that a server sends in place of a chunk. */
export function answerPieces(functions: readonly string[] = []): {
  read(chunk: StreamedChunk): ChatPiece[];
  end(): ChatPiece[];
} {
  const thought = withoutThoughts();
  const callOf = callPieces();
  const written = withoutTextCalls(functions);
  let called = false;
  const textPieces = (text: string): ChatPiece[] => (text === "" ? [] : [{ type: "text", text }]);
  return {
    read({ object, choices, usage }) {
      // vLLM's; those of the form {"error": …} the package throws itself
      if (object === "error") throw new ModelError("MODEL_ERROR", "the model's answer broke off with an error", true);
      const delta = choices?.[0]?.delta;
      const parts: readonly unknown[] = Array.isArray(delta?.tool_calls) ? delta.tool_calls : [];
      called ||= parts.length > 0;
      return [
        ...textPieces(written.push(thought.push(answerText(delta?.content)))),
        ...parts.map(callOf).filter((piece) => piece !== null),
        ...cutPieces(choices?.[0]?.finish_reason),
        ...(usage
          ? [{ type: "usage" as const, prompt_tokens: usage.prompt_tokens, completion_tokens: usage.completion_tokens }]
          : []),
      ];
    },
    end() {
      const rest = textPieces(written.push(thought.end()));
      const { text, calls } = written.end();
      // a server that has read the call itself may send its text as well
      const pieces = called ? [] : calls.map((call, index): ChatPiece => ({ type: "call", index, id: "", ...call }));
      return [...rest, ...textPieces(text), ...pieces];
    },
  };
}
