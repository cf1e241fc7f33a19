import { errorType } from "../api/json-http.ts";
import { ApiError } from "../api/chat-request.ts";
import type { RequestSummary } from "../api/request-log.ts";
import type { RequestContext } from "../api/request-context.ts";
import type { Plan } from "../dialogue/completion.ts";
import { chatOf, planned, sendAnswer, usageOf, type Answer, type AnswerHost } from "./response.ts";
import { itemFields } from "./conversation-items.ts";
import { fieldsOf, formatFields, modalityOf, toolsOf, type Settings } from "./session-settings.ts";

/** The answers of a session: one at a time, from its order to its last event. */

type Reason = "client_cancelled" | "turn_detected";

type Active = { readonly answer: Answer; readonly stop: AbortController; reason: Reason | null };

const ANSWER_FAULTS = ["hang", "garbage_tool_call", "cut_stream", "slow", "drop", "error_event"] as const;

/** Gives answers one at a time. */
export class ResponseQueue {
  readonly #host: AnswerHost;
  readonly #context: RequestContext;
  readonly #responseId: () => string;
  #active: Active | null = null;
  #over: Promise<void> = Promise.resolve();

  constructor(host: AnswerHost, context: RequestContext, responseId: () => string) {
    this.#host = host;
    this.#context = context;
    this.#responseId = responseId;
  }

  get active(): boolean {
    return this.#active !== null;
  }

  /** Resolves when the answer on its way has told its last event. */
  get over(): Promise<void> {
    return this.#over;
  }

  /** Begins an answer; throws ApiFault where the order is wrong or another answer is on its way. */
  create(settings: Settings, order: unknown): void {
    if (this.#active !== null)
      throw new ApiError(
        400,
        `Conversation already has an active response in progress: ${this.#active.answer.id}. Wait until the response is finished before creating a new one.`,
        null,
        "conversation_already_has_active_response",
      );
    const own = ordered(settings, order, this.#host.dialect === "beta");
    const chat = chatOf(own.settings, this.#host.conversation);
    const fault = this.#context.faults.take("realtime", ANSWER_FAULTS);
    const answer: Answer = {
      id: this.#responseId(),
      chat,
      settings: own.settings,
      aside: own.aside,
      metadata: own.metadata,
      fault,
      item: null,
    };
    const summary = this.#context.requests.open({
      kind: "realtime",
      model: chat.model,
      messages: chat.messages.length,
      tools: chat.tools.map(({ name }) => name),
      stream: true,
      fault: fault?.kind ?? null,
    });
    const active: Active = { answer, stop: new AbortController(), reason: null };
    this.#active = active;
    this.#host.send({ type: "response.created", response: this.#fields(answer, "in_progress", null, null) });
    this.#over = this.#run(active, summary);
  }

  /** Ends the answer that is on its way; false when there is none. */
  cancel(reason: Reason, id?: unknown): boolean {
    if (this.#active === null || (id !== undefined && id !== this.#active.answer.id)) return false;
    this.#active.reason ??= reason;
    this.#active.stop.abort();
    return true;
  }

  async #run(active: Active, summary: RequestSummary): Promise<void> {
    const { answer, stop } = active;
    let plan: Plan | null = null;
    try {
      if (answer.fault?.kind === "drop") this.#host.cut();
      if (answer.fault?.kind === "drop" || answer.fault?.kind === "hang")
        await new Promise((_resolve, reject) => stop.signal.addEventListener("abort", reject, { once: true }));
      if (answer.fault?.kind === "error_event")
        throw new ApiError(
          500,
          "The server had an error while processing your request. Sorry about that!",
          null,
          "server_error",
        );
      plan = planned(answer);
      summary.reply = {
        content: plan.content,
        call: plan.call === null ? null : { name: plan.call.name, arguments: plan.call.arguments },
      };
      await sendAnswer(answer, plan, this.#host, stop.signal);
      summary.end = "sent";
      this.#active = null;
      const cut = plan.finish === "length";
      this.#done(
        answer,
        cut ? "incomplete" : "completed",
        cut ? { type: "incomplete", reason: "max_output_tokens" } : null,
        plan,
      );
    } catch (error) {
      summary.end = "aborted";
      this.#active = null;
      if (stop.signal.aborted)
        return this.#done(
          answer,
          "cancelled",
          { type: "cancelled", reason: active.reason ?? "client_cancelled" },
          plan,
        );
      const fault =
        error instanceof ApiError
          ? error
          : new ApiError(500, "The model simulator failed on this answer.", null, "server_error");
      if (!(error instanceof ApiError)) console.error(error);
      const told = { type: errorType(fault.status), code: fault.code, message: fault.message };
      this.#host.send({ type: "error", error: { ...told, param: fault.param, event_id: null } });
      this.#done(answer, "failed", { type: "failed", error: told }, plan);
    }
  }

  #done(answer: Answer, status: string, details: Readonly<Record<string, unknown>> | null, plan: Plan | null): void {
    this.#host.send({ type: "response.done", response: this.#fields(answer, status, details, plan) });
  }

  #fields(
    answer: Answer,
    status: string,
    details: Readonly<Record<string, unknown>> | null,
    plan: Plan | null,
  ): Readonly<Record<string, unknown>> {
    const { settings } = answer;
    const ga = this.#host.dialect === "ga";
    const manner = ga
      ? {
          output_modalities: [settings.modality],
          max_output_tokens: settings.max_output_tokens,
          audio: { output: { format: formatFields(settings.output), voice: settings.voice } },
        }
      : {
          modalities: settings.modality === "audio" ? ["audio", "text"] : ["text"],
          max_output_tokens: settings.max_output_tokens,
          voice: settings.voice,
        };
    return {
      id: answer.id,
      object: "realtime.response",
      status,
      status_details: details,
      conversation_id: answer.aside ? null : "conv_1",
      metadata: answer.metadata,
      ...manner,
      output: answer.item === null || status === "in_progress" ? [] : [itemFields(answer.item, this.#host.dialect)],
      usage: status === "in_progress" ? null : usageOf(plan),
    };
  }
}

/** The session's settings with what one order says otherwise. */
function ordered(
  settings: Settings,
  order: unknown,
  beta: boolean,
): { settings: Settings; aside: boolean; metadata: unknown } {
  const fields = fieldsOf(order ?? {}, "response");
  if (fields["input"] !== undefined)
    throw new ApiError(
      400,
      "'response.input' is not supported by the model simulator; leave it out.",
      "response.input",
      "unsupported_parameter",
    );
  const modalities = fields[beta ? "modalities" : "output_modalities"];
  return {
    aside: fields["conversation"] === "none",
    metadata: fields["metadata"] ?? null,
    settings: {
      ...settings,
      ...(typeof fields["instructions"] === "string" ? { instructions: fields["instructions"] } : {}),
      ...(modalities === undefined ? {} : { modality: modalityOf(modalities) }),
      ...(fields["tools"] === undefined ? {} : { tools: toolsOf(fields["tools"]) }),
      ...(fields["tool_choice"] === undefined ? {} : { tool_choice: fields["tool_choice"] }),
    },
  };
}
