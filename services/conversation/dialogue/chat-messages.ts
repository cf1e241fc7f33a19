/** A function call as the model makes it; `arguments` is JSON text. Shapes of OpenAI's chat completions, kept as our own types. */
export interface ToolCall {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; readonly arguments: string };
}

/** One message to the model. */
export type ChatMessage =
  | { readonly role: "system" | "user"; readonly content: string }
  | { readonly role: "assistant"; readonly content: string | null; readonly tool_calls?: readonly ToolCall[] }
  | { readonly role: "tool"; readonly tool_call_id: string; readonly content: string };

/** A function the model may call; `parameters` is a JSON Schema. */
export interface ChatTool {
  readonly type: "function";
  readonly function: {
    readonly name: string;
    readonly description: string;
    readonly parameters: Readonly<Record<string, unknown>>;
  };
}

/** A function call of the model, not validated yet. */
export interface ModelCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
  /** What is wrong with the arguments, where that took time to tell; absent: the flow tells at once. */
  readonly faults?: readonly string[];
}
