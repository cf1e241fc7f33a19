import type { IncomingMessage, ServerResponse } from "node:http";
import { systemClock, type Clock } from "../../shared/time/clock.ts";
import { answerChat } from "./api/chat-endpoint.ts";
import { Delays, type DelayTimes } from "./api/delays.ts";
import { Faults } from "./api/faults.ts";
import { readBytes, readJson, sendError, sendJson } from "./api/json-http.ts";
import { ApiError, readRequest } from "./api/chat-request.ts";
import { Requests } from "./api/request-log.ts";
import { answerSpeech, readSpeechRequest } from "./api/speech-endpoint.ts";
import { CREATED } from "./api/chat-response.ts";
import { answerTranscription, MOST_UPLOAD_BYTES, readTranscriptionRequest } from "./api/transcription-endpoint.ts";
import type { RequestContext } from "./api/request-context.ts";

const DEFAULT_MODEL = "callagent-sim";

/** The simulator behind its HTTP server: who may ask for what, and what tests order. */
export class Simulator {
  readonly #key: string | undefined;
  readonly #models: readonly string[];
  readonly #delays: Delays;
  readonly context: RequestContext;

  constructor(options: Readonly<{ key?: string; model?: string; delays: Partial<DelayTimes>; clock?: Clock }>) {
    const { clock = systemClock } = options;
    this.#key = options.key;
    this.#models = (options.model ?? DEFAULT_MODEL)
      .split(",")
      .map((name) => name.trim())
      .filter((name) => name !== "");
    this.#delays = new Delays(options.delays);
    this.context = { faults: new Faults(), requests: new Requests(), delays: this.#delays.now, clock };
  }

  /** Answers one HTTP request; every failure ends as an error body in OpenAI's shape. */
  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await this.#route(request, response);
    } catch (error) {
      if (response.destroyed) return; // An abort ends the generation; there is nobody left to tell.
      const fault =
        error instanceof ApiError ? error : new ApiError(500, "The model simulator failed on this request.");
      if (!(error instanceof ApiError)) console.error(error);
      if (response.headersSent) response.destroy();
      else sendError(response, fault);
    }
  }

  async #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const route = `${request.method ?? ""} ${(request.url ?? "").split("?")[0] ?? ""}`;
    if (await this.#control(route, request, response)) return;
    this.authorise(request);
    if (route === "GET /v1/models")
      return sendJson(response, 200, { object: "list", data: this.#models.map(modelRecord) });
    if (route.startsWith("GET /v1/models/")) {
      const name = decodeURIComponent(route.slice("GET /v1/models/".length));
      this.#checkModel(name, this.#models);
      return sendJson(response, 200, modelRecord(name));
    }
    if (route === "POST /v1/chat/completions") {
      const chat = readRequest(await readJson(request));
      this.#checkModel(chat.model, this.#models);
      return await answerChat(chat, response, this.context);
    }
    if (route === "POST /v1/audio/speech") {
      const speech = readSpeechRequest(await readJson(request));
      this.checkSoundModel(speech.model);
      return await answerSpeech(speech, response, this.context);
    }
    if (route === "POST /v1/audio/transcriptions") {
      const asked = await readTranscriptionRequest(
        await readBytes(request, MOST_UPLOAD_BYTES),
        request.headers["content-type"] ?? "",
      );
      this.checkSoundModel(asked.model);
      return await answerTranscription(asked, response, this.context);
    }
    throw new ApiError(404, `Invalid URL (${route})`);
  }

  /** What tests ask and order; no key needed. */
  async #control(route: string, request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    if (route === "POST /faults") this.context.faults.order(await readJson(request));
    if (route === "POST /delays") this.#delays.order(await readJson(request));
    const body = {
      "GET /requests": { requests: this.context.requests.list() },
      "GET /faults": { faults: this.context.faults.list() },
      "GET /delays": this.#delays.now,
    };
    const asked = Object.entries(body).find(([path]) => path === route.replace(/^POST \/(?=faults$|delays$)/, "GET /"));
    if (asked === undefined) return false;
    sendJson(response, 200, asked[1]);
    return true;
  }

  /** Throws ApiFault 401 without the key. */
  authorise(request: IncomingMessage): void {
    const key = /^Bearer\s+(\S+)$/i.exec(request.headers.authorization ?? "")?.[1];
    if (key === undefined)
      throw new ApiError(
        401,
        "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
        null,
        "invalid_api_key",
      );
    if (this.#key !== undefined && key !== this.#key)
      throw new ApiError(401, "Incorrect API key provided.", null, "invalid_api_key");
  }

  /** Models that speak and listen also go by the simulator's own name. */
  checkSoundModel(name: string): void {
    this.#checkModel(name, [...this.#models, DEFAULT_MODEL]);
  }

  #checkModel(name: string, names: readonly string[]): void {
    if (!names.includes(name))
      throw new ApiError(
        404,
        `The model '${name}' does not exist or you do not have access to it.`,
        "model",
        "model_not_found",
      );
  }
}

function modelRecord(id: string): Readonly<Record<string, unknown>> {
  return { id, object: "model", created: CREATED, owned_by: "callagent" };
}
