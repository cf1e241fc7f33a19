import { createHash } from "node:crypto";
import { andAgain, answerQuestion, askForParameter, regret, replyTo } from "./fact-answer.ts";
import { fillArguments, propertiesOf } from "./tool-arguments.ts";
import type { Schema } from "./tool-arguments.ts";
import { evaluationOf, evaluationTool } from "./evaluation-answer.ts";
import { readPrompt } from "./system-prompt.ts";
import type { Prompt } from "./system-prompt.ts";
import type { Tool } from "./tool-ranking.ts";
import { ApiError } from "../api/chat-request.ts";
import type { ChatRequest, Message } from "../api/chat-request.ts";
import { speakTask } from "./task-speech.ts";
import { fillFor, parameterTopic, rankTools, understand } from "./intent.ts";
import type { Meaning, Situation } from "./intent.ts";

/** What the model answers, whole; how it travels (one body or a stream) is not decided here. */
export type Plan = Readonly<{
  /** "chatcmpl-…", made from the request: the same request gives the same id. */
  id: string;
  content: string | null;
  call: Readonly<{ id: string; name: string; arguments: string }> | null;
  finish: "stop" | "tool_calls" | "length";
  usage: Readonly<{ prompt_tokens: number; completion_tokens: number; total_tokens: number }>;
}>;

/** Longest prompt, in tokens, before the request is refused. */
export const CONTEXT_TOKENS = 128_000;

const CHARACTERS_PER_TOKEN = 4;
const ID_CHARACTERS = 24;

/** Plans the answer to a request. Pure: the same request is answered alike. Throws ApiFault when the context is too long. */
export function complete(request: ChatRequest): Plan {
  const promptTokens = tokensIn(
    [...request.messages.map(({ text }) => text), ...request.tools.map((tool) => JSON.stringify(tool))].join("\n"),
  );
  if (promptTokens > CONTEXT_TOKENS) {
    throw new ApiError(
      400,
      `This model's maximum context length is ${CONTEXT_TOKENS} tokens. However, your messages resulted in ${promptTokens} tokens. Please reduce the length of the messages.`,
      "messages",
      "context_length_exceeded",
    );
  }
  const key = createHash("sha256").update(JSON.stringify(request)).digest("hex").slice(0, ID_CHARACTERS);
  const decision = decide(request);
  if ("tool" in decision) {
    const text = JSON.stringify(decision.values);
    return {
      id: `chatcmpl-${key}`,
      content: null,
      call: { id: `call_${key}`, name: decision.tool.name, arguments: text },
      finish: "tool_calls",
      usage: usage(promptTokens, tokensIn(decision.tool.name + text)),
    };
  }
  const { text, cut } = shorten(untilStop(decision.say, request.stop), request.maxTokens);
  return {
    id: `chatcmpl-${key}`,
    content: text,
    call: null,
    finish: cut ? "length" : "stop",
    usage: usage(promptTokens, tokensIn(text)),
  };
}

type Decision = Readonly<{ say: string }> | Readonly<{ tool: Tool; values: Readonly<Record<string, unknown>> }>;

const EXACTLY = /^Say exactly this and nothing else: (".*")$/su;

/** A text that is to be said word for word, whatever was said before; null: the model is free. */
function dictated(messages: readonly Message[]): string | null {
  const quoted = EXACTLY.exec(messages.find(isSystem)?.text.trim() ?? "")?.[1];
  try {
    return quoted === undefined ? null : String(JSON.parse(quoted));
  } catch {
    return null;
  }
}

const DATA = /^\[data\] (\{.*\})$/su;

/** The messages as they are meant: what stands under a name in a message of data in the place of «name» elsewhere. */
function withValues(messages: readonly Message[]): readonly Message[] {
  const values = new Map<string, string>();
  const others = messages.filter(({ role, text }) => {
    const data = role === "user" ? DATA.exec(text)?.[1] : undefined;
    if (data === undefined) return true;
    for (const [name, value] of Object.entries(JSON.parse(data) as Record<string, unknown>))
      values.set(name, String(value));
    return false;
  });
  const filled = (text: string): string =>
    text.replace(/«(\w+)»/gu, (whole, name: string) => values.get(name) ?? whole);
  return others.map((message) => (isSystem(message) ? { ...message, text: filled(message.text) } : message));
}

function decide(asked: ChatRequest): Decision {
  const request = { ...asked, messages: withValues(asked.messages) };
  const exactly = dictated(request.messages);
  if (exactly !== null) return { say: exactly };
  const evaluation = request.toolChoice === "none" ? null : evaluationTool(request.tools);
  if (evaluation !== null)
    return {
      tool: evaluation,
      values: evaluationOf(evaluation, request.messages.findLast(({ role }) => role === "user")?.text ?? ""),
    };
  const scene = sceneOf(request.messages);
  const forced = forcedTool(request, scene.situation(request.tools));
  if (forced !== null)
    return { tool: forced, values: completed(forced.parameters, fillFor(forced, scene.situation(request.tools))) };
  if (scene.user === null)
    return {
      say:
        scene.failure === null
          ? speakTask(scene.prompt).text
          : andAgain("I am sorry, that did not work.", scene.question),
    };
  const tools = request.toolChoice === "none" ? [] : request.tools;
  const meaning = understand(scene.situation(tools));
  return meaning.kind === "call" ? { tool: meaning.tool, values: meaning.values } : { say: reply(meaning, scene) };
}

function reply(meaning: Exclude<Meaning, { kind: "call" }>, scene: Scene): string {
  switch (meaning.kind) {
    case "missing":
      return askForParameter(parameterTopic(meaning.tool, meaning.parameter));
    case "question":
      return andAgain(answerQuestion(meaning.question, scene.facts), scene.question);
    case "no_such_tool":
      return regret(meaning.concept, scene.question);
    case "repeat":
      return scene.question === null ? speakTask(scene.prompt).text : andAgain("Of course.", scene.question);
    case "voicemail":
      return regret("voicemail", null);
    default:
      return replyTo(meaning.kind, scene.question);
  }
}

type Scene = Readonly<{
  /** The prompt whose task counts now. */
  prompt: Prompt;
  /** All system text: what questions are answered from. */
  facts: Prompt;
  question: string | null;
  /** The words to react to; null when the task is to be spoken. */
  user: string | null;
  /** A tool's error, when the last message reports one. */
  failure: string | null;
  situation: (tools: readonly Tool[]) => Situation;
}>;

function sceneOf(messages: readonly Message[]): Scene {
  const system = messages.filter(isSystem);
  const facts = readPrompt(system.map(({ text }) => text).join("\n"));
  const last = messages.at(-1);
  const task = system.findLast(({ text }) => readPrompt(text).instructions.length > 0) ?? system.at(-1);
  const prompt =
    last !== undefined && isSystem(last) && last.text.trim() !== ""
      ? withFacts(readPrompt(last.text), facts)
      : withFacts(readPrompt(task?.text ?? ""), facts);
  const step = messages.slice(messages.findLastIndex((message) => message.role === "tool" || message.calls) + 1);
  const said = step.filter(({ role }) => role === "user").map(({ text }) => text);
  const user = last?.role === "user" ? last.text : null;
  const asked = step.findLast(({ role, text }) => role === "assistant" && text.trim().endsWith("?"))?.text;
  const question = (asked === undefined ? null : lastQuestion(asked)) ?? speakTask(prompt).question;
  const situation = (tools: readonly Tool[]): Situation => ({
    text: said.at(-1) ?? "",
    earlier: said.slice(0, -1).reverse(),
    tools,
    prompt: facts.text,
    question,
  });
  return { prompt, facts, question, user, failure: last?.role === "tool" ? errorIn(last.text) : null, situation };
}

/** A task given in a later message keeps the role and the facts of the first one. */
function withFacts(prompt: Prompt, all: Prompt): Prompt {
  return prompt.instructions.length === 0 ? prompt : { ...prompt, facts: all.facts, text: all.text };
}

function isSystem(message: Message): boolean {
  return message.role === "system" || message.role === "developer";
}

function lastQuestion(text: string): string | null {
  return (
    text
      .match(/[^.!?]*(?:\.\S[^.!?]*)*\?/g)
      ?.at(-1)
      ?.trim() ?? null
  );
}

function errorIn(result: string): string | null {
  try {
    const parsed: unknown = JSON.parse(result);
    return typeof parsed === "object" && parsed !== null && "error" in parsed ? String(parsed.error) : null;
  } catch {
    return /^error\b/i.test(result.trim()) ? result : null;
  }
}

function forcedTool(request: ChatRequest, situation: Situation): Tool | null {
  const choice = request.toolChoice;
  if (typeof choice === "object") return request.tools.find(({ name }) => name === choice.name) ?? null;
  if (choice !== "required") return null;
  const ranked = rankTools(situation);
  const said = fillable(ranked, situation);
  return said ?? ranked[0] ?? null;
}

function fillable(tools: readonly Tool[], situation: Situation): Tool | undefined {
  return tools.find((tool) => {
    const given = fillFor(tool, situation);
    const required = tool.parameters["required"];
    return !Array.isArray(required) || required.every((name) => typeof name === "string" && name in given);
  });
}

/** A forced call must be made even when an argument was not said: such arguments get the schema's emptiest value. */
function completed(schema: Schema, given: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { missing } = fillArguments(schema, { texts: [], moments: [], keys: null });
  const empty: Record<string, unknown> = {};
  for (const [name, property] of propertiesOf(schema)) {
    if (missing.includes(name) && !(name in given)) empty[name] = emptiest(property);
  }
  return { ...empty, ...given };
}

function emptiest(property: Schema): unknown {
  if (Array.isArray(property["enum"])) return property["enum"][0];
  const least = property["minimum"];
  switch (property["type"]) {
    case "number":
    case "integer":
      return typeof least === "number" ? least : 0;
    case "boolean":
      return false;
    case "array":
      return [];
    case "object":
      return {};
    default:
      return "";
  }
}

function untilStop(text: string, stops: readonly string[]): string {
  const ends = stops.map((stop) => text.indexOf(stop)).filter((at) => at >= 0);
  return ends.length === 0 ? text : text.slice(0, Math.min(...ends));
}

function shorten(text: string, maxTokens: number | null): Readonly<{ text: string; cut: boolean }> {
  if (maxTokens === null || tokensIn(text) <= maxTokens) return { text, cut: false };
  return { text: text.slice(0, maxTokens * CHARACTERS_PER_TOKEN), cut: true };
}

/** Tokens of a text by the rule of thumb of four characters each; at least one for any text. */
export function tokensIn(text: string): number {
  return Math.ceil(text.length / CHARACTERS_PER_TOKEN);
}

function usage(prompt: number, completion: number): Plan["usage"] {
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
}
