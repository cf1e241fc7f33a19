import { newResponse, type ModelResponse } from "./model-response.ts";
import { type ResponseQueue } from "./response-queue.ts";

/** A verbatim text is requested once more, where nothing came of it. */
const SAY_TRIES = 2;

/** What verbatim texts report to. `error`: one is tried again. `failed`: one could not be said. */
export interface VerbatimTextEvents {
  error(code: string): void;
  failed(code: string): void;
}

/** Texts that the model says word for word. */
export class VerbatimTexts {
  readonly #responses: Pick<ResponseQueue, "request">;
  readonly #events: VerbatimTextEvents;
  readonly #texts = new Map<ModelResponse, { interruptible: boolean }>();

  constructor(responses: Pick<ResponseQueue, "request">, events: VerbatimTextEvents) {
    this.#responses = responses;
    this.#events = events;
  }

  say(text: string, how: { interruptible: boolean }): void {
    const response = newResponse(text, true);
    this.#texts.set(response, how);
    this.#responses.request(response);
  }

  clear(): void {
    this.#texts.clear();
  }

  /** Whether it may be interrupted; undefined: it is no verbatim text. */
  isInterruptible(response: ModelResponse): boolean | undefined {
    return this.#texts.get(response)?.interruptible;
  }

  /** True where the response was a verbatim text. `code` null: it was said. */
  ended(response: ModelResponse, code: string | null): boolean {
    const how = this.#texts.get(response);
    this.#texts.delete(response);
    if (how && code !== null) this.#retry(response, how, code);
    return how !== undefined;
  }

  #retry(response: ModelResponse, how: { interruptible: boolean }, code: string): void {
    const again = newResponse(response.verbatim, true);
    again.tries = response.tries + 1;
    if (again.tries >= SAY_TRIES || response.text !== "") {
      this.#events.failed("SPEECH_FAILED");
      return;
    }
    this.#events.error(code);
    this.#texts.set(again, how);
    this.#responses.request(again, true);
  }
}
