import type { ServerResponse } from "node:http";
import { complete, type Plan } from "../dialogue/completion.ts";
import type { Clock } from "../../../shared/time/clock.ts";
import { delay, type DelayTimes } from "./delays.ts";
import { errorOf, garbled } from "./faults.ts";
import { sendJson } from "./json-http.ts";
import type { ChatRequest } from "./chat-request.ts";
import type { RequestContext } from "./request-context.ts";
import { watched } from "./request-log.ts";
import { completionBody, streamEvents } from "./chat-response.ts";

/** Answers a chat completion, as slowly and as badly as was ordered. */
export async function answerChat(chat: ChatRequest, response: ServerResponse, context: RequestContext): Promise<void> {
  const fault = context.faults.take("chat");
  const summary = context.requests.open({
    kind: "chat",
    model: chat.model,
    messages: chat.messages.length,
    tools: chat.tools.map(({ name }) => name),
    stream: chat.stream,
    fault: fault?.kind ?? null,
  });
  const gone = watched(response, summary);
  const error = errorOf(fault);
  if (error !== null) throw error;
  if (fault?.kind === "hang") return; // The connection stays open until the client or the server closes it.
  const planned = complete(chat);
  const plan = fault?.kind === "garbage_tool_call" ? garbled(planned, chat) : planned;
  summary.reply = {
    content: plan.content,
    call: plan.call === null ? null : { name: plan.call.name, arguments: plan.call.arguments },
  };
  await delay(context.clock, context.delays.first_token_ms + (fault?.kind === "slow" ? fault.ms : 0), gone);
  await deliver(plan, chat, response, {
    cut: fault?.kind === "cut_stream",
    gone,
    delays: context.delays,
    clock: context.clock,
  });
}

async function deliver(
  plan: Plan,
  chat: ChatRequest,
  response: ServerResponse,
  how: Readonly<{ cut: boolean; gone: AbortSignal; delays: DelayTimes; clock: Clock }>,
): Promise<void> {
  const events = streamEvents(plan, chat);
  if (!chat.stream) {
    await delay(how.clock, how.delays.token_ms * events.filter(({ token }) => token).length, how.gone);
    if (how.cut) return void response.destroy();
    return sendJson(response, 200, completionBody(plan, chat), plan.id);
  }
  response.writeHead(200, {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
    "x-request-id": plan.id,
  });
  const last = how.cut ? Math.ceil(events.length / 2) : events.length;
  let tokens = 0;
  for (const { data, token } of events.slice(0, last)) {
    if (token && tokens > 0) await delay(how.clock, how.delays.token_ms, how.gone);
    if (token) tokens += 1;
    response.write(data);
  }
  if (!how.cut) return void response.end();
  // The half that was written must reach the client before the line is cut.
  response.write("", () => response.destroy());
}
