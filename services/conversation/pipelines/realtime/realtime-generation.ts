import { speakable } from "../../../../shared/speakable/speakable-text.ts";
import type { GenerateEffect } from "../port.ts";
import type { ProcessorContext } from "../voice-processor.ts";
import type { ResponseAudio } from "./response-audio.ts";
import { newResponse, type ModelResponse } from "./model-response.ts";
import { type ResponseEnd, type ResponseQueue } from "./response-queue.ts";
import type { SessionSync } from "./session-sync.ts";

/** Stands for the caller's words while they are not known. */
const UNKNOWN_WORDS = "…";

/** What generations are made with. */
export interface RealtimeGenerationDeps {
  readonly context: ProcessorContext;
  readonly session: SessionSync;
  readonly responses: ResponseQueue;
  readonly audio: ResponseAudio;
}

/** The model's answer to the dialogue: the one under way, and one begun before the caller's words are known. */
export class RealtimeGeneration {
  readonly #deps: RealtimeGenerationDeps;
  #current: { response: ModelResponse; effect: GenerateEffect } | null = null;
  #preemptive: ModelResponse | null = null;
  #firstTokenMs: number | null = null;

  constructor(deps: RealtimeGenerationDeps) {
    this.#deps = deps;
  }

  get active(): boolean {
    return this.#current !== null;
  }
  get first_token_ms(): number | null {
    return this.#firstTokenMs;
  }
  get text(): string {
    return speakable(this.#current?.response.text ?? "");
  }

  /** Whether a response's speech may be interrupted. */
  isInterruptible(response: ModelResponse): boolean {
    return this.#isCurrent(response) ? (this.#current?.effect.interruptible ?? true) : true;
  }

  generate(effect: GenerateEffect): void {
    const { session, responses, context } = this.#deps;
    this.cancel();
    const changed = session.sync(effect);
    const early = changed ? null : this.#preemptive;
    if (early === null) this.cancelPreemptive();
    this.#preemptive = null;
    const response = early ?? newResponse(null, true);
    this.#current = { response, effect };
    this.#firstTokenMs = null;
    context.events.synthesisRequested();
    if (early) responses.claim(early);
    else responses.request(response);
  }

  /** Begins the answer to words that are not known yet, where that is the dialogue's only effect: only a generation can be cancelled. */
  startPreemptive(): void {
    const { session, responses, context } = this.#deps;
    const effects = context.host.preview({ type: "heard", text: UNKNOWN_WORDS });
    const effect = effects.find((e) => e.type === "think");
    if (!effect || effects.length > 1) return;
    session.syncInstructions(effect);
    this.#preemptive = newResponse(null, false);
    responses.request(this.#preemptive);
  }

  cancelPreemptive(): void {
    const response = this.#preemptive;
    this.#preemptive = null;
    if (response) this.#deps.responses.cancel(response);
  }

  preemptiveFailed(response: ModelResponse): void {
    if (this.#preemptive === response) this.#preemptive = null;
  }

  /** Cancels the generation under way; what was said of it stays said. */
  cancel(): void {
    const current = this.#current;
    this.#current = null;
    if (current === null) return;
    this.#deps.audio.keep(current.response);
    this.#deps.responses.cancel(current.response);
  }

  /** Drops both: the connection is lost. */
  clear(): void {
    this.#preemptive = this.#current = null;
  }

  /** Releases the generation under way once its interruption is reported, unless the report has started the next one. */
  interrupt(report: () => void): void {
    const current = this.#current;
    report();
    if (this.#current === current) this.#current = null;
  }

  /** Text or audio of a response has come. */
  outputArrived(response: ModelResponse): void {
    if (this.#isCurrent(response)) this.#firstTokenMs ??= response.first_ms;
  }

  audioArrived(response: ModelResponse): void {
    this.outputArrived(response);
    if (this.#isCurrent(response)) this.#deps.context.events.synthesisStarted();
  }

  /** Reports how the generation ended. */
  ended(response: ModelResponse, end: ResponseEnd): void {
    const current = this.#current;
    if (current?.response !== response) return;
    this.outputArrived(response);
    this.#current = null;
    const { host } = this.#deps.context;
    const { turn } = current.effect;
    const { calls } = response;
    const text = speakable(response.text);
    if (end.code !== null) {
      host.dispatch({ type: "model_failed", turn, code: end.code, said: response.sounded ? text : "" });
      return;
    }
    host.recordAnswer({
      text,
      calls,
      first_token_ms: response.first_ms ?? 0,
      total_ms: Math.round(this.#deps.context.now() - response.asked_at),
      prompt_tokens: end.tokens_in,
      completion_tokens: end.tokens_out,
      tries: 1,
    });
    host.dispatch({ type: "model_answered", turn, text, calls, ...(end.cut ? { cut: end.cut } : {}) });
  }

  #isCurrent(response: ModelResponse): boolean {
    return this.#current?.response === response;
  }
}
