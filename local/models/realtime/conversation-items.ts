import { spokenBy } from "../../speech/modem.ts";
import { ApiError } from "../api/chat-request.ts";
import { fieldsOf } from "./session-settings.ts";
import type { Dialect } from "./session-settings.ts";

/** The items of a realtime conversation, and the same as messages of a chat. */

type Fields = Readonly<Record<string, unknown>>;

/** One item. */
export type Item = {
  readonly id: string;
  status: "in_progress" | "completed" | "incomplete";
  readonly body:
    | Readonly<{ kind: "call"; call_id: string; name: string; arguments: string }>
    | Readonly<{ kind: "output"; call_id: string; output: string }>
    | {
        readonly kind: "message";
        readonly role: "user" | "assistant" | "system";
        readonly sound: boolean;
        text: string;
        /** What of a sound was made, ms. */ made_ms: number;
        truncated: boolean;
      };
};

const MOST_ITEMS = 2000;
/** Stands for sound without words, so that the model asks again. */
const WORDLESS = "[inaudible]";

/** The conversation of one session. */
export class Conversation {
  readonly #items: Item[] = [];

  /** Adds an item at the end, or behind another; gives the id of the one before it. */
  add(item: Item, after?: string | null): string | null {
    if (this.#items.some(({ id }) => id === item.id))
      throw new ApiError(400, `Item with id '${item.id}' already exists.`, "item.id", "item_already_exists");
    if (this.#items.length >= MOST_ITEMS)
      throw new ApiError(400, "The conversation is too long.", null, "conversation_too_long");
    const at =
      after === "root"
        ? 0
        : after === undefined || after === null
          ? this.#items.length
          : this.#indexOf(after, "previous_item_id") + 1;
    this.#items.splice(at, 0, item);
    return this.#items[at - 1]?.id ?? null;
  }

  get(id: unknown): Item {
    const item = this.#items[this.#indexOf(id, "item_id")];
    if (item === undefined) throw new ApiError(400, "No such item.", "item_id", "item_not_found");
    return item;
  }

  delete(id: unknown): void {
    this.#items.splice(this.#indexOf(id, "item_id"), 1);
  }

  /** The id of the item before one; null for the first and for one that is gone. */
  before(id: string): string | null {
    return this.#items[this.#items.findIndex((item) => item.id === id) - 1]?.id ?? null;
  }

  lastId(): string | null {
    return this.#items.at(-1)?.id ?? null;
  }

  hasCall(call_id: string): boolean {
    return this.#items.some(({ body }) => body.kind === "call" && body.call_id === call_id);
  }

  /** Keeps of an answer's sound what was heard; its transcript is gone, the model goes on from what was heard. */
  truncate(id: unknown, audio_end_ms: unknown): number {
    const { body } = this.get(id);
    if (body.kind !== "message" || body.role !== "assistant" || !body.sound)
      throw new ApiError(400, "Only model output audio messages can be truncated.", "item_id", "invalid_value");
    if (typeof audio_end_ms !== "number" || audio_end_ms < 0 || !Number.isInteger(audio_end_ms))
      throw new ApiError(400, "Invalid 'audio_end_ms': expected a whole number.", "audio_end_ms", "invalid_value");
    if (audio_end_ms > body.made_ms)
      throw new ApiError(
        400,
        `Audio content of ${Math.floor(body.made_ms)}ms is already shorter than ${audio_end_ms}ms`,
        "audio_end_ms",
        "invalid_value",
      );
    body.text = spokenBy(body.text, audio_end_ms);
    body.made_ms = audio_end_ms;
    body.truncated = true;
    return audio_end_ms;
  }

  /** The conversation as messages of a chat completion; calls without an answer are left out, answers follow their call. */
  messages(instructions: string): Fields[] {
    const chat = this.#items.flatMap(({ body }): Fields[] => {
      if (body.kind === "message")
        return body.role === "assistant" && body.text === ""
          ? []
          : [{ role: body.role, content: body.text === "" ? WORDLESS : body.text }];
      if (body.kind === "output") return [];
      const answer = this.#items
        .map((item) => item.body)
        .find((other) => other.kind === "output" && other.call_id === body.call_id);
      if (answer?.kind !== "output") return [];
      const call = { id: body.call_id, type: "function", function: { name: body.name, arguments: body.arguments } };
      return [
        { role: "assistant", content: null, tool_calls: [call] },
        { role: "tool", tool_call_id: body.call_id, content: answer.output },
      ];
    });
    return [{ role: "system", content: instructions }, ...chat];
  }

  #indexOf(id: unknown, param: string): number {
    const at = this.#items.findIndex((item) => item.id === id);
    if (at < 0) throw new ApiError(400, `Item with id '${String(id)}' does not exist.`, param, "item_not_found");
    return at;
  }
}

/** An item as events tell it. */
export function itemFields(item: Item, dialect: Dialect): Fields {
  const { id, status, body } = item;
  const common = { id, object: "realtime.item", status };
  if (body.kind === "call")
    return { ...common, type: "function_call", name: body.name, call_id: body.call_id, arguments: body.arguments };
  if (body.kind === "output")
    return { ...common, type: "function_call_output", call_id: body.call_id, output: body.output };
  return {
    ...common,
    type: "message",
    role: body.role,
    content: status === "in_progress" ? [] : [partFields(item, dialect)],
  };
}

/** The content of a message as events tell it. */
export function partFields({ body }: Item, dialect: Dialect): Fields {
  if (body.kind !== "message") return {};
  const prefix = dialect === "ga" ? "output_" : "";
  if (body.sound && body.role === "assistant")
    return { type: `${prefix}audio`, transcript: body.truncated ? "" : body.text };
  if (body.sound) return { type: "input_audio", transcript: null };
  return { type: body.role === "assistant" ? `${prefix}text` : "input_text", text: body.text };
}

/** Reads an item of a client; throws ApiFault 400. */
export function readItem(value: unknown, freshId: () => string, conversation: Conversation): Item {
  const fields = fieldsOf(value, "item");
  const given = fields["id"];
  const text = (name: string): string => {
    const found = fields[name];
    if (typeof found !== "string")
      throw new ApiError(
        400,
        `Missing required parameter: 'item.${name}'.`,
        `item.${name}`,
        "missing_required_parameter",
      );
    return found;
  };
  const make = (body: Item["body"]): Item => ({
    id: typeof given === "string" && given !== "" ? given : freshId(),
    status: "completed",
    body,
  });
  if (fields["type"] === "function_call")
    return make({ kind: "call", call_id: text("call_id"), name: text("name"), arguments: text("arguments") });
  if (fields["type"] === "function_call_output") {
    const call_id = text("call_id");
    if (!conversation.hasCall(call_id))
      throw new ApiError(
        400,
        `Tool call ID '${call_id}' not found in conversation.`,
        "item.call_id",
        "invalid_tool_call_id",
      );
    return make({ kind: "output", call_id, output: text("output") });
  }
  if (fields["type"] !== "message")
    throw new ApiError(
      400,
      "Invalid value for 'item.type': expected 'message', 'function_call' or 'function_call_output'.",
      "item.type",
      "invalid_value",
    );
  const role = (["user", "assistant", "system"] as const).find((one) => one === fields["role"]);
  if (role === undefined) throw new ApiError(400, "Invalid value for 'item.role'.", "item.role", "invalid_value");
  const parts: unknown = fields["content"];
  if (!Array.isArray(parts))
    throw new ApiError(
      400,
      "Missing required parameter: 'item.content'.",
      "item.content",
      "missing_required_parameter",
    );
  const words = parts.map((part, index) => partText(fieldsOf(part, `item.content[${index}]`), role, index)).join(" ");
  return make({ kind: "message", role, sound: false, text: words, made_ms: 0, truncated: false });
}

function partText(part: Fields, role: string, index: number): string {
  const types = role === "assistant" ? ["output_text", "text"] : ["input_text"];
  if (typeof part["type"] !== "string" || !types.includes(part["type"]) || typeof part["text"] !== "string")
    throw new ApiError(
      400,
      `Invalid 'item.content[${index}]': the model simulator takes ${types.join(" or ")}.`,
      `item.content[${index}]`,
      "invalid_value",
    );
  return part["text"];
}
