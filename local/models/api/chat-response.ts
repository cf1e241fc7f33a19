import type { Plan } from "../dialogue/completion.ts";
import type { ChatRequest } from "./chat-request.ts";

/** An answer's two forms on the wire: one body, or server-sent events (API reference, "Chat completion chunk object"). Pure. */

/** Time of creation in every answer, seconds since 1970: fixed, so that the same request gets the same bytes. */
export const CREATED = 1_700_000_000;

const FINGERPRINT = "fp_callagent_sim";
const ARGUMENT_PIECE_CHARACTERS = 8;

/** The whole answer as one chat.completion object. */
export function completionBody(plan: Plan, request: ChatRequest): Readonly<Record<string, unknown>> {
  const call =
    plan.call === null
      ? null
      : { id: plan.call.id, type: "function", function: { name: plan.call.name, arguments: plan.call.arguments } };
  const message = {
    role: "assistant",
    content: plan.content,
    refusal: null,
    ...(call === null ? {} : { tool_calls: [call] }),
  };
  return {
    id: plan.id,
    object: "chat.completion",
    created: CREATED,
    model: request.model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: plan.finish }],
    usage: plan.usage,
    system_fingerprint: FINGERPRINT,
  };
}

/** One event of the stream; `token` marks those that carry a piece of the answer, which simulated latency holds back. */
export type StreamEvent = Readonly<{ data: string; token: boolean }>;

/** The answer as events: role, pieces of text or of one tool call, the reason it ended, usage if asked for, "[DONE]". */
export function streamEvents(plan: Plan, request: ChatRequest): StreamEvent[] {
  const chunk = (choices: readonly unknown[], usage: Plan["usage"] | null): string =>
    `data: ${JSON.stringify({ id: plan.id, object: "chat.completion.chunk", created: CREATED, model: request.model, system_fingerprint: FINGERPRINT, choices, ...(request.includeUsage ? { usage } : {}) })}\n\n`;
  const delta = (piece: unknown, finish: Plan["finish"] | null = null): string =>
    chunk([{ index: 0, delta: piece, logprobs: null, finish_reason: finish }], null);
  const events: StreamEvent[] = deltas(plan).map(({ piece, token }) => ({ data: delta(piece), token }));
  events.push({ data: delta({}, plan.finish), token: false });
  if (request.includeUsage) events.push({ data: chunk([], plan.usage), token: false });
  events.push({ data: "data: [DONE]\n\n", token: false });
  return events;
}

type Delta = Readonly<{ piece: unknown; token: boolean }>;

function deltas(plan: Plan): Delta[] {
  if (plan.call !== null) {
    const { id, name, arguments: text } = plan.call;
    const opening = {
      role: "assistant",
      content: null,
      tool_calls: [{ index: 0, id, type: "function", function: { name, arguments: "" } }],
    };
    const rest = pieces(text).map((part) => ({
      piece: { tool_calls: [{ index: 0, function: { arguments: part } }] },
      token: true,
    }));
    return [{ piece: opening, token: true }, ...rest];
  }
  const words = (plan.content ?? "").match(/\s*\S+\s*$|\s*\S+/g) ?? [];
  return [
    { piece: { role: "assistant", content: "", refusal: null }, token: false },
    ...words.map((word) => ({ piece: { content: word }, token: true })),
  ];
}

function pieces(text: string): string[] {
  return text.match(new RegExp(`[^]{1,${ARGUMENT_PIECE_CHARACTERS}}`, "gu")) ?? [];
}
