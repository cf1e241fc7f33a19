import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { complete } from "./completion.ts";
import type { Plan } from "./completion.ts";
import { errorOf, Faults, garbled } from "./faults.ts";
import type { FaultKind } from "./faults.ts";
import { readJson, sendError, sendJson } from "./http.ts";
import { ApiFault, readRequest } from "./request.ts";
import type { ChatRequest } from "./request.ts";
import { completionBody, CREATED, streamEvents } from "./sse.ts";

/** How to run the model simulator. */
export type ModelsOptions = Readonly<{
  /** TCP port; 0 takes a free one. */
  port: number;
  /** Address to listen on; default this machine only. */
  host?: string;
  /** The only accepted API key; without it any non-empty key will do. */
  key?: string;
  /** Accepted model names, separated by commas; default "callagent-sim". */
  model?: string;
  /** Time to the first token, in milliseconds. */
  firstTokenMs?: number;
  /** Time between tokens, in milliseconds. */
  tokenMs?: number;
}>;

/** What a request asked for and got, for tests. */
export type RequestSummary = {
  model: string; messages: number; tools: string[]; stream: boolean; fault: FaultKind | null;
  /** The text spoken or the call made; null while an ordered fault keeps it back. */
  reply: Readonly<{ content: string | null; call: Readonly<{ name: string; arguments: string }> | null }> | null;
  /** "sent" once the last byte went out, "aborted" when the client went away first. */
  end: "open" | "sent" | "aborted";
};

const DEFAULT_MODEL = "callagent-sim";
const MOST_SUMMARIES = 500;

/** Starts the OpenAI-compatible server; `url` is the base URL for the openai package (ends in /v1). Rejects when the port is taken. */
export async function startModels(options: ModelsOptions): Promise<{ url: string; close: () => Promise<void> }> {
  const simulator = new Simulator(options);
  const server = createServer((request, response) => void simulator.answer(request, response));
  const host = options.host ?? "127.0.0.1";
  const port = await listen(server, options.port, host);
  return { url: `http://${host}:${port}/v1`, close: () => shut(server) };
}

async function listen(server: Server, port: number, host: string): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => resolve());
  });
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : port;
}

async function shut(server: Server): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

class Simulator {
  readonly #options: ModelsOptions;
  readonly #models: readonly string[];
  readonly #faults = new Faults();
  readonly #summaries: RequestSummary[] = [];

  constructor(options: ModelsOptions) {
    this.#options = options;
    const names = (options.model ?? DEFAULT_MODEL).split(",").map((name) => name.trim());
    this.#models = names.filter((name) => name !== "");
  }

  /** Answers one HTTP request; every failure ends as an error body in OpenAI's shape. */
  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await this.#route(request, response);
    } catch (error) {
      const fault = error instanceof ApiFault ? error : new ApiFault(500, "The model simulator failed on this request.");
      if (!(error instanceof ApiFault) && !response.destroyed) console.error(error);
      if (response.headersSent || response.destroyed) response.destroy();
      else sendError(response, fault);
    }
  }

  async #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const route = `${request.method ?? ""} ${(request.url ?? "").split("?")[0] ?? ""}`;
    if (route === "GET /requests") return sendJson(response, 200, { requests: this.#summaries });
    if (route === "GET /faults") return sendJson(response, 200, { faults: this.#faults.list() });
    if (route === "POST /faults") {
      this.#faults.order(await readJson(request));
      return sendJson(response, 200, { faults: this.#faults.list() });
    }
    this.#authorise(request);
    if (route === "GET /v1/models") return sendJson(response, 200, { object: "list", data: this.#models.map(modelRecord) });
    if (route.startsWith("GET /v1/models/")) {
      const name = decodeURIComponent(route.slice("GET /v1/models/".length));
      this.#checkModel(name);
      return sendJson(response, 200, modelRecord(name));
    }
    if (route !== "POST /v1/chat/completions") throw new ApiFault(404, `Invalid URL (${route})`);
    const chat = readRequest(await readJson(request));
    this.#checkModel(chat.model);
    await this.#converse(chat, response);
  }

  #authorise(request: IncomingMessage): void {
    const key = /^Bearer\s+(\S+)$/i.exec(request.headers.authorization ?? "")?.[1];
    if (key === undefined) throw new ApiFault(401, "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).", null, "invalid_api_key");
    if (this.#options.key !== undefined && key !== this.#options.key) throw new ApiFault(401, "Incorrect API key provided.", null, "invalid_api_key");
  }

  #checkModel(name: string): void {
    if (!this.#models.includes(name)) throw new ApiFault(404, `The model '${name}' does not exist or you do not have access to it.`, "model", "model_not_found");
  }

  async #converse(chat: ChatRequest, response: ServerResponse): Promise<void> {
    const fault = this.#faults.take();
    const summary = this.#record(chat, fault);
    const gone = new AbortController();
    response.once("close", () => {
      summary.end = response.writableFinished ? "sent" : "aborted";
      gone.abort();
    });
    const error = errorOf(fault);
    if (error !== null) throw error;
    if (fault === "hang") return; // The connection stays open until the client or the server closes it.
    const planned = complete(chat);
    const plan = fault === "garbage_tool_call" ? garbled(planned, chat) : planned;
    summary.reply = { content: plan.content, call: plan.call === null ? null : { name: plan.call.name, arguments: plan.call.arguments } };
    try {
      await this.#deliver(plan, chat, response, { cut: fault === "cut_stream", gone: gone.signal });
    } catch (failure) {
      if (!gone.signal.aborted) throw failure; // An abort ends the generation; there is nobody left to tell.
    }
  }

  async #deliver(plan: Plan, chat: ChatRequest, response: ServerResponse, how: Readonly<{ cut: boolean; gone: AbortSignal }>): Promise<void> {
    const { firstTokenMs = 0, tokenMs = 0 } = this.#options;
    if (firstTokenMs > 0) await pause(firstTokenMs, undefined, { signal: how.gone });
    const events = streamEvents(plan, chat);
    if (!chat.stream) {
      const waited = tokenMs * events.filter(({ token }) => token).length;
      if (waited > 0) await pause(waited, undefined, { signal: how.gone });
      if (how.cut) return void response.destroy();
      return sendJson(response, 200, completionBody(plan, chat), plan.id);
    }
    response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache", "x-request-id": plan.id });
    const last = how.cut ? Math.ceil(events.length / 2) : events.length;
    let tokens = 0;
    for (const { data, token } of events.slice(0, last)) {
      if (token && tokens > 0 && tokenMs > 0) await pause(tokenMs, undefined, { signal: how.gone });
      if (token) tokens += 1;
      response.write(data);
    }
    if (!how.cut) return void response.end();
    // The half that was written must reach the client before the line is cut.
    response.write("", () => response.destroy());
  }

  #record(chat: ChatRequest, fault: FaultKind | null): RequestSummary {
    const summary: RequestSummary = { model: chat.model, messages: chat.messages.length, tools: chat.tools.map(({ name }) => name), stream: chat.stream, fault, reply: null, end: "open" };
    this.#summaries.push(summary);
    if (this.#summaries.length > MOST_SUMMARIES) this.#summaries.shift();
    return summary;
  }
}

function modelRecord(id: string): Readonly<Record<string, unknown>> {
  return { id, object: "model", created: CREATED, owned_by: "callagent" };
}
