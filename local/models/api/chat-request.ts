import type { Schema } from "../dialogue/tool-arguments.ts";
import type { Tool } from "../dialogue/tool-ranking.ts";

/** Reads an OpenAI chat completion request. Pure; field names as in the API reference, "Create chat completion". */

/** One message, its text parts joined. */
export type Message = Readonly<{
  role: "system" | "developer" | "user" | "assistant" | "tool";
  text: string;
  calls: boolean;
}>;

/** What the model may do about tools. */
export type ToolChoice = "auto" | "none" | "required" | Readonly<{ name: string }>;

/** A request the simulator can answer. */
export type ChatRequest = Readonly<{
  model: string;
  messages: readonly Message[];
  tools: readonly Tool[];
  toolChoice: ToolChoice;
  stream: boolean;
  includeUsage: boolean;
  /** Longest answer in tokens, null for the model's own bound. */
  maxTokens: number | null;
  stop: readonly string[];
}>;

/** A refusal in OpenAI's terms, with the HTTP status it is sent with. */
export class ApiError extends Error {
  readonly status: number;
  readonly param: string | null;
  readonly code: string | null;
  constructor(status: number, message: string, param: string | null = null, code: string | null = null) {
    super(message);
    this.status = status;
    this.param = param;
    this.code = code;
  }
}

const ROLES = ["system", "developer", "user", "assistant", "tool"] as const;
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const MOST_TOOLS = 128;
const MOST_STOPS = 4;
const NOT_SIMULATED = ["functions", "function_call", "audio", "logprobs", "prediction", "web_search_options"] as const;

/** Checks a parsed JSON body; throws ApiFault 400 naming the parameter at fault. */
export function readRequest(body: unknown): ChatRequest {
  const fields = record(body, null, "The body must be a JSON object.");
  refuseUnsimulated(fields);
  const model = fields["model"];
  if (typeof model !== "string" || model === "") throw bad("you must provide a model parameter", "model");
  const list = fields["messages"];
  if (!Array.isArray(list))
    throw bad("Missing required parameter: 'messages'.", "messages", "missing_required_parameter");
  if (list.length === 0)
    throw bad(
      "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
      "messages",
      "empty_array",
    );
  const messages = list.map((message, index) => readMessage(message, `messages[${index}]`));
  checkToolAnswers(list);
  const tools = readTools(fields["tools"]);
  const options = optional(fields["stream_options"], "stream_options");
  const stream = flag(fields["stream"], "stream");
  if (options !== null && !stream)
    throw bad("The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options");
  flag(fields["parallel_tool_calls"], "parallel_tool_calls"); // The model makes one call at a time, either way.
  return {
    model,
    messages,
    tools,
    stream,
    toolChoice: readToolChoice(fields["tool_choice"], tools),
    includeUsage: options !== null && flag(options["include_usage"], "stream_options.include_usage"),
    maxTokens:
      limit(fields["max_completion_tokens"], "max_completion_tokens") ?? limit(fields["max_tokens"], "max_tokens"),
    stop: readStop(fields["stop"]),
  };
}

function refuseUnsimulated(fields: Readonly<Record<string, unknown>>): void {
  for (const name of NOT_SIMULATED) {
    const value = fields[name];
    if (value !== undefined && value !== null && value !== false)
      throw bad(`'${name}' is not supported by the model simulator; leave it out.`, name, "unsupported_parameter");
  }
  if (fields["n"] !== undefined && fields["n"] !== null && fields["n"] !== 1)
    throw bad("The model simulator gives one choice: 'n' must be 1.", "n", "unsupported_value");
  const format = optional(fields["response_format"], "response_format");
  if (format !== null && format["type"] !== "text")
    throw bad(
      "The model simulator answers in plain text: 'response_format.type' must be 'text'.",
      "response_format",
      "unsupported_value",
    );
}

function readMessage(value: unknown, path: string): Message {
  const fields = record(value, path, `Invalid type for '${path}': expected an object.`);
  const role = ROLES.find((one) => one === fields["role"]);
  if (role === undefined)
    throw bad(
      `Invalid value for '${path}.role': expected one of ${ROLES.map((one) => `'${one}'`).join(", ")}.`,
      `${path}.role`,
      "invalid_value",
    );
  const calls = fields["tool_calls"];
  if (calls !== undefined && calls !== null && (!Array.isArray(calls) || role !== "assistant"))
    throw bad(
      `Invalid type for '${path}.tool_calls': expected an array in an assistant message.`,
      `${path}.tool_calls`,
      "invalid_type",
    );
  const called = Array.isArray(calls) && calls.length > 0;
  if (role === "tool" && typeof fields["tool_call_id"] !== "string")
    throw bad(
      `Missing required parameter: '${path}.tool_call_id'.`,
      `${path}.tool_call_id`,
      "missing_required_parameter",
    );
  return {
    role,
    text: readContent(fields["content"], `${path}.content`, called || role === "assistant"),
    calls: called,
  };
}

function readContent(content: unknown, path: string, mayLack: boolean): string {
  if (typeof content === "string") return content;
  if (content === null || content === undefined) {
    if (mayLack) return "";
    throw bad(`Invalid value for '${path}': expected a string, got null.`, path, "invalid_type");
  }
  if (!Array.isArray(content))
    throw bad(`Invalid type for '${path}': expected one of a string or array of objects.`, path, "invalid_type");
  const parts = content.map((part, index) => {
    const fields = record(part, `${path}[${index}]`, `Invalid type for '${path}[${index}]': expected an object.`);
    if (fields["type"] !== "text" || typeof fields["text"] !== "string")
      throw bad(
        `The model simulator reads text only: '${path}[${index}].type' must be 'text'.`,
        `${path}[${index}].type`,
        "invalid_value",
      );
    return fields["text"];
  });
  return parts.join("\n");
}

/** Every call of an assistant message must be answered, and nothing else may be, as the API demands. */
function checkToolAnswers(list: readonly unknown[]): void {
  let open = new Set<unknown>();
  list.forEach((value, index) => {
    const fields = record(value, `messages[${index}]`, "");
    if (fields["role"] === "tool") {
      if (!open.delete(fields["tool_call_id"]))
        throw bad(
          "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.",
          `messages[${index}].role`,
        );
      return;
    }
    if (open.size > 0)
      throw bad(
        `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...open].join(", ")}`,
        `messages[${index}].role`,
      );
    const calls = fields["tool_calls"];
    open = new Set(
      Array.isArray(calls)
        ? calls.map((call, at) => record(call, `messages[${index}].tool_calls[${at}]`, "Invalid tool call.")["id"])
        : [],
    );
  });
  if (open.size > 0)
    throw bad(
      `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...open].join(", ")}`,
      "messages",
    );
}

function readTools(value: unknown): Tool[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value))
    throw bad("Invalid type for 'tools': expected an array of objects.", "tools", "invalid_type");
  if (value.length === 0 || value.length > MOST_TOOLS)
    throw bad(
      `Invalid 'tools': expected 1 to ${MOST_TOOLS} items, got ${value.length}.`,
      "tools",
      value.length === 0 ? "empty_array" : "array_above_max_length",
    );
  return value.map((tool, index) => {
    const path = `tools[${index}]`;
    const fields = record(tool, path, `Invalid type for '${path}': expected an object.`);
    if (fields["type"] !== "function")
      throw bad(`Invalid value for '${path}.type': expected 'function'.`, `${path}.type`, "invalid_value");
    const definition = record(
      fields["function"],
      `${path}.function`,
      `Missing required parameter: '${path}.function'.`,
    );
    const { name, description, parameters } = definition;
    if (typeof name !== "string" || !TOOL_NAME.test(name))
      throw bad(
        `Invalid '${path}.function.name': expected a string that matches the pattern '${TOOL_NAME.source}'.`,
        `${path}.function.name`,
        "invalid_value",
      );
    return {
      name,
      description: typeof description === "string" ? description : "",
      parameters: readSchema(parameters, `${path}.function.parameters`, name),
    };
  });
}

function readSchema(value: unknown, path: string, name: string): Schema {
  if (value === undefined || value === null) return {};
  const schema = record(value, path, `Invalid schema for function '${name}': expected an object.`);
  if (schema["type"] !== undefined && schema["type"] !== "object")
    throw bad(
      `Invalid schema for function '${name}': schema must have type 'object'.`,
      path,
      "invalid_function_parameters",
    );
  return schema;
}

function readToolChoice(value: unknown, tools: readonly Tool[]): ToolChoice {
  if (value === undefined || value === null) return tools.length > 0 ? "auto" : "none";
  if (tools.length === 0)
    throw bad(
      "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
      "tool_choice",
    );
  if (value === "auto" || value === "none" || value === "required") return value;
  const choice = optional(value, "tool_choice");
  const name = choice === null ? undefined : optional(choice["function"], "tool_choice.function")?.["name"];
  if (typeof name !== "string" || !tools.some((tool) => tool.name === name))
    throw bad(
      `Invalid value for 'tool_choice': ${typeof name === "string" ? `tool '${name}' is not in 'tools'` : "expected 'none', 'auto', 'required' or a function"}.`,
      "tool_choice",
      "invalid_value",
    );
  return { name };
}

function readStop(value: unknown): string[] {
  if (value === undefined || value === null) return [];
  const list: unknown[] = Array.isArray(value) ? value : [value];
  const stops = list.filter((one): one is string => typeof one === "string" && one !== "");
  if (stops.length !== list.length || stops.length > MOST_STOPS)
    throw bad(`Invalid 'stop': expected a string or an array of up to ${MOST_STOPS} strings.`, "stop", "invalid_type");
  return stops;
}

function limit(value: unknown, name: string): number | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== "number" || !Number.isInteger(value) || value < 1)
    throw bad(`Invalid '${name}': expected an integer of at least 1.`, name, "integer_below_min_value");
  return value;
}

function flag(value: unknown, name: string): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value !== "boolean") throw bad(`Invalid type for '${name}': expected a boolean.`, name, "invalid_type");
  return value;
}

function optional(value: unknown, name: string): Readonly<Record<string, unknown>> | null {
  return value === undefined || value === null
    ? null
    : record(value, name, `Invalid type for '${name}': expected an object.`);
}

function record(value: unknown, param: string | null, message: string): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw bad(message, param, "invalid_type");
  return { ...value };
}

function bad(message: string, param: string | null, code: string | null = null): ApiError {
  return new ApiError(400, message, param, code);
}
