import type { DialogueEvent } from "../dialogue/dialogue-state.ts";
import { ModelError, type ChatModel } from "../providers/port.ts";
import type { TextFilter } from "../../../shared/speakable/character-filter.ts";
import { namesIn } from "../../../shared/speakable/role-labels.ts";
import { speakableAnswer } from "../../../shared/speakable/speakable-text.ts";
import type { GenerateEffect, PipelineHost } from "./port.ts";

/** Where an answer's tokens go. `end` may be called again. */
export interface TokenSink {
  push(token: string): void;
  end(): void;
}

interface Generation {
  readonly effect: GenerateEffect;
  readonly key: string;
  readonly abort: AbortController;
  readonly began_ms: number;
  /** What of the model's text is for the customer. */
  readonly spoken: TextFilter;
  /** The text handed to speech; tokens of a preemptive generation wait in `held`. */
  said: string;
  held: string[];
  sink: TokenSink | null;
  first_token_ms: number | null;
  /** How a preemptive generation ended. */
  result: DialogueEvent | null;
}

/** What generations are made with. `openSink` is called at the first token. */
export interface LlmRunnerOptions {
  model: ChatModel;
  host: Pick<PipelineHost, "preview" | "recordAnswer">;
  now(): number;
  openSink(effect: GenerateEffect): TokenSink;
  dispatch(event: DialogueEvent): void;
}

const filterFor = ({ messages }: GenerateEffect): TextFilter => speakableAnswer(namesIn(messages[0]?.content ?? ""));

const keyOf = ({ messages, tools }: GenerateEffect): string => JSON.stringify([messages, tools]);

/** Generates one answer at a time, and may begin it before it is certain that the caller's turn is over. */
export class LlmRunner {
  readonly #o: LlmRunnerOptions;
  #preemptive: Generation | null = null;
  #current: Generation | null = null;
  #firstTokenMs: number | null = null;

  constructor(o: LlmRunnerOptions) {
    this.#o = o;
  }

  /** A generation that is not preemptive is under way. */
  get busy(): boolean {
    return this.#current !== null;
  }
  /** Of the last generation, from the request to its first token, ms; null until there was one. */
  get first_token_ms(): number | null {
    return this.#firstTokenMs;
  }

  /** The part of the generation under way that was handed to speech. */
  spokenText(): string {
    return this.#current?.said ?? "";
  }

  /** Begins what the dialogue would generate if this happened now. */
  startPreemptive(event: DialogueEvent): void {
    const effects = this.#o.host.preview(event);
    const effect = effects.find((e) => e.type === "think");
    // only a generation can be cancelled: a step with more effects is not anticipated
    if (!effect || effects.length > 1) {
      this.cancelPreemptive();
      return;
    }
    if (this.#preemptive?.key === keyOf(effect)) return;
    this.cancelPreemptive();
    this.#preemptive = this.#begin(effect);
  }

  cancelPreemptive(): void {
    this.#preemptive?.abort.abort();
    this.#preemptive = null;
  }

  /** Generates; a preemptive generation of the very same request is continued. */
  generate(effect: GenerateEffect): void {
    this.cancel();
    const early = this.#preemptive;
    const same = early?.effect.turn === effect.turn && early.key === keyOf(effect);
    if (!same) this.cancelPreemptive();
    this.#preemptive = null;
    const generation = same ? early : this.#begin(effect);
    this.#current = generation;
    this.#firstTokenMs = generation.first_token_ms;
    for (const token of generation.held.splice(0)) this.#speak(generation, token);
    if (generation.result) this.#finish(generation, generation.result);
  }

  /** Aborts the generation under way. */
  cancel(): void {
    const generation = this.#current;
    this.#current = null;
    generation?.abort.abort();
    generation?.sink?.end();
  }

  /** The same where the caller has interrupted it: `report` may still ask for the spoken text, and may start the next generation. */
  interrupt(report: () => void): void {
    const generation = this.#current;
    generation?.abort.abort();
    generation?.sink?.end();
    report();
    if (this.#current === generation) this.#current = null;
  }

  #begin(effect: GenerateEffect): Generation {
    const generation: Generation = {
      effect,
      key: keyOf(effect),
      abort: new AbortController(),
      began_ms: this.#o.now(),
      spoken: filterFor(effect),
      said: "",
      held: [],
      sink: null,
      first_token_ms: null,
      result: null,
    };
    void this.#run(generation);
    return generation;
  }

  async #run(generation: Generation): Promise<void> {
    const { effect, abort } = generation;
    const { turn } = effect;
    try {
      const answer = await this.#o.model.answer(effect, {
        signal: abort.signal,
        onText: (piece) => this.#take(generation, generation.spoken.push(piece)),
      });
      if (abort.signal.aborted) return;
      this.#take(generation, generation.spoken.end());
      const { calls, cut } = answer;
      this.#o.host.recordAnswer(answer);
      this.#finish(generation, { type: "model_answered", turn, text: "", calls, ...(cut && { cut }) });
    } catch (error) {
      if (abort.signal.aborted) return;
      const code = error instanceof ModelError ? error.code : "MODEL_ERROR";
      this.#finish(generation, { type: "model_failed", turn, code });
    }
  }

  #take(generation: Generation, token: string): void {
    if (generation.abort.signal.aborted || token === "") return;
    generation.first_token_ms ??= Math.round(this.#o.now() - generation.began_ms);
    if (this.#current === generation) this.#speak(generation, token);
    else generation.held.push(token);
  }

  #speak(generation: Generation, token: string): void {
    this.#firstTokenMs ??= generation.first_token_ms;
    generation.sink ??= this.#o.openSink(generation.effect);
    generation.said += token;
    generation.sink.push(token);
  }

  /** Reports how the generation ended; of a preemptive one, once it is generated for good. */
  #finish(generation: Generation, result: DialogueEvent): void {
    if (this.#current !== generation) {
      generation.result = result;
      return;
    }
    this.#current = null;
    generation.sink?.end();
    const { said } = generation;
    this.#o.dispatch(result.type === "model_answered" ? { ...result, text: said } : { ...result, said });
  }
}
