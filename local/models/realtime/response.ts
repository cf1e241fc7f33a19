import { g711Encode } from "../../speech/g711.ts";
import { encodeSpeech, speechMs } from "../../speech/modem.ts";
import { pcmBytes } from "../../speech/wav.ts";
import type { Clock } from "../../../shared/time/clock.ts";
import { complete, tokensIn } from "../dialogue/completion.ts";
import type { Plan } from "../dialogue/completion.ts";
import { delay } from "../api/delays.ts";
import type { DelayTimes } from "../api/delays.ts";
import { garbled } from "../api/faults.ts";
import type { Fault } from "../api/faults.ts";
import { ApiError, readRequest } from "../api/chat-request.ts";
import type { ChatRequest } from "../api/chat-request.ts";
import { PIECE_EVERY_MS, PIECE_MS } from "../api/speech-endpoint.ts";
import { itemFields, partFields } from "./conversation-items.ts";
import type { Conversation, Item } from "./conversation-items.ts";
import type { Dialect, Settings } from "./session-settings.ts";

/** One answer of the model in a realtime session: planned like a chat completion, then told as events. */

/** Everything an answer needs of its session. */
export interface AnswerHost {
  readonly dialect: Dialect;
  readonly conversation: Conversation;
  readonly delays: DelayTimes;
  readonly clock: Clock;
  /** Sends an event, its id added. */
  send(event: Readonly<Record<string, unknown>>): void;
  itemId(): string;
  /** Tells that an item is in the conversation. */
  added(item: Item, previous: string | null): void;
  /** Cuts the line. */
  cut(): void;
}

/** An answer on its way. */
export type Answer = {
  readonly id: string;
  readonly chat: ChatRequest;
  readonly settings: Settings;
  /** Not for the conversation. */ readonly aside: boolean;
  /** Given back as it came. */ readonly metadata: unknown;
  readonly fault: Fault | null;
  item: Item | null;
};

/** The plan of an answer: decided exactly as a chat completion is. Throws ApiFault. */
export function planned(answer: Pick<Answer, "chat" | "fault">): Plan {
  const plan = complete(answer.chat);
  return answer.fault?.kind === "garbage_tool_call" ? garbled(plan, answer.chat) : plan;
}

/** What the chat completion would be asked that this answer stands for. Throws ApiFault where a tool or a choice is wrong. */
export function chatOf(settings: Settings, conversation: Conversation): ChatRequest {
  const tools = settings.tools.map((tool) => ({ type: "function", function: tool }));
  const choice = settings.tool_choice;
  const forced =
    typeof choice === "object" && choice !== null && "name" in choice
      ? { type: "function", function: { name: choice.name } }
      : choice;
  return readRequest({
    model: settings.model,
    messages: conversation.messages(settings.instructions),
    stream: true,
    ...(tools.length === 0 ? {} : { tools, tool_choice: forced }),
    ...(settings.max_output_tokens === "inf" ? {} : { max_tokens: settings.max_output_tokens }),
  });
}

/** Speaks or calls. Rejects when the signal aborts; what was begun is brought to its events' end even then. */
export async function sendAnswer(answer: Answer, plan: Plan, host: AnswerHost, signal: AbortSignal): Promise<void> {
  await delay(host.clock, host.delays.first_token_ms + (answer.fault?.kind === "slow" ? answer.fault.ms : 0), signal);
  if (plan.call !== null) return await sendFunctionCall(answer, plan.call, host, signal);
  if (answer.settings.modality === "audio") await delay(host.clock, host.delays.first_audio_ms, signal);
  const sound = answer.settings.modality === "audio";
  const body = { kind: "message" as const, role: "assistant" as const, sound, text: "", made_ms: 0, truncated: false };
  const item = begin(answer, { id: host.itemId(), status: "in_progress", body }, host);
  const where = { response_id: answer.id, item_id: item.id, output_index: 0, content_index: 0 };
  host.send({ type: "response.content_part.added", ...where, part: partFields(item, host.dialect) });
  const names = eventNames(host.dialect);
  let whole = false;
  try {
    if (sound) await sendAudio(plan.content ?? "", { answer, body, where, host, signal });
    else await sendText(plan.content ?? "", { body, where, host, signal });
    whole = plan.finish === "stop";
  } finally {
    if (sound) host.send({ type: `${names.audio}.done`, ...where });
    host.send(
      sound
        ? { type: `${names.transcript}.done`, ...where, transcript: body.text }
        : { type: `${names.text}.done`, ...where, text: body.text },
    );
    host.send({ type: "response.content_part.done", ...where, part: partFields(item, host.dialect) });
    end(answer, item, whole ? "completed" : "incomplete", host);
  }
}

/** Names of the events that the dialects tell apart. */
function eventNames(dialect: Dialect): Readonly<{ audio: string; transcript: string; text: string }> {
  const prefix = dialect === "ga" ? "response.output_" : "response.";
  return { audio: `${prefix}audio`, transcript: `${prefix}audio_transcript`, text: `${prefix}text` };
}

function begin(answer: Answer, item: Item, host: AnswerHost): Item {
  answer.item = item;
  host.send({
    type: "response.output_item.added",
    response_id: answer.id,
    output_index: 0,
    item: itemFields(item, host.dialect),
  });
  if (!answer.aside) host.added(item, host.conversation.add(item));
  return item;
}

function end(answer: Answer, item: Item, status: Item["status"], host: AnswerHost): void {
  item.status = status;
  if (host.dialect === "ga" && !answer.aside)
    host.send({
      type: "conversation.item.done",
      previous_item_id: host.conversation.before(item.id),
      item: itemFields(item, host.dialect),
    });
  host.send({
    type: "response.output_item.done",
    response_id: answer.id,
    output_index: 0,
    item: itemFields(item, host.dialect),
  });
}

type ContentPart = Readonly<{
  body: { text: string; made_ms: number; truncated: boolean };
  where: Readonly<Record<string, unknown>>;
  host: AnswerHost;
  signal: AbortSignal;
}>;

async function sendText(text: string, { body, where, host, signal }: ContentPart): Promise<void> {
  for (const [index, word] of wordsWithBlanks(text).entries()) {
    if (index > 0) await delay(host.clock, host.delays.token_ms, signal);
    body.text += word;
    host.send({ type: `${eventNames(host.dialect).text}.delta`, ...where, delta: word });
  }
}

async function sendAudio(text: string, telling: ContentPart & Readonly<{ answer: Answer }>): Promise<void> {
  const { answer, body, where, host, signal } = telling;
  const names = eventNames(host.dialect);
  const { law, rate } = answer.settings.output;
  const pcm = encodeSpeech(text, rate);
  const words = wordsWithBlanks(text);
  const cutAt_ms = answer.fault?.kind === "cut_stream" ? speechMs(text) / 2 : Infinity;
  const piece = (PIECE_MS * rate) / 1000;
  let told = 0;
  for (let from = 0; from < pcm.length; from += piece) {
    if (from > 0) await delay(host.clock, PIECE_EVERY_MS, signal);
    const until = Math.min(from + piece, pcm.length);
    const until_ms = (until * 1000) / rate;
    // Words go before the sound they begin in.
    for (; told < words.length && speechMs(words.slice(0, told).join("")) < until_ms; told += 1) {
      if (!body.truncated) body.text += words[told] ?? "";
      host.send({ type: `${names.transcript}.delta`, ...where, delta: words[told] });
    }
    const sound = pcm.subarray(from, until);
    if (!body.truncated) body.made_ms = until_ms;
    host.send({
      type: `${names.audio}.delta`,
      ...where,
      delta: (law === null ? pcmBytes(sound) : Buffer.from(g711Encode(law, sound))).toString("base64"),
    });
    if (until_ms <= cutAt_ms) continue;
    host.cut();
    throw new ApiError(500, "The line was cut, as ordered.");
  }
}

async function sendFunctionCall(
  answer: Answer,
  call: NonNullable<Plan["call"]>,
  host: AnswerHost,
  signal: AbortSignal,
): Promise<void> {
  const { id: call_id, name } = call;
  const item = begin(
    answer,
    { id: host.itemId(), status: "in_progress", body: { kind: "call", call_id, name, arguments: call.arguments } },
    host,
  );
  const where = { response_id: answer.id, item_id: item.id, output_index: 0, call_id };
  for (const [index, delta] of (call.arguments.match(/[^]{1,8}/gu) ?? []).entries()) {
    if (index > 0) await delay(host.clock, host.delays.token_ms, signal);
    host.send({ type: "response.function_call_arguments.delta", ...where, delta });
  }
  host.send({ type: "response.function_call_arguments.done", ...where, name, arguments: call.arguments });
  end(answer, item, "completed", host);
}

function wordsWithBlanks(text: string): string[] {
  return text.match(/\s*\S+\s*$|\s*\S+/g) ?? [];
}

/** Tokens of an answer, by the rule of thumb. */
export function usageOf(plan: Plan | null): Readonly<Record<string, unknown>> {
  const output = plan === null ? 0 : tokensIn(plan.content ?? plan.call?.arguments ?? "");
  const input = plan?.usage.prompt_tokens ?? 0;
  return {
    total_tokens: input + output,
    input_tokens: input,
    output_tokens: output,
    input_token_details: { text_tokens: input, audio_tokens: 0, cached_tokens: 0 },
    output_token_details: { text_tokens: output, audio_tokens: 0 },
  };
}
