import type { DialogueEvent } from "../../dialogue/dialogue-state.ts";
import { ModelError, type ChatModel } from "../../providers/port.ts";
import type { SpeechEffect, PipelineHost } from "../port.ts";
import { plainText } from "../plain-text.ts";

/** A question to the model as the brain asks it. */
export type GenerateEffect = Extract<SpeechEffect, { type: "think" }>;

/** Where a thought's words go. */
export interface TokenSink {
  push(piece: string): void;
  end(): void;
}

interface Generation {
  readonly effect: GenerateEffect;
  readonly key: string;
  readonly abort: AbortController;
  readonly began: number;
  /** What was given to speech; what comes before the thought is wanted waits in `held`. */
  said: string;
  held: string[];
  outlet: TokenSink | null;
  first_token_ms: number | null;
  /** What is to be told once the thought is wanted. */
  result: DialogueEvent | null;
}

/** Thinks one thought at a time, and may begin it before it is certain that it is wanted. */
export interface LlmRunner {
  /** Begins what the talk would think if this was said now. */
  startPreemptive(event: DialogueEvent): void;
  /** The guess is void. */
  cancelPreemptive(): void;
  /** Thinks; a guess at the very same question is taken up where it is. */
  generate(effect: GenerateEffect): void;
  /** Lets go of the thought under way. */
  cancel(): void;
  /** The same for one that was talked over: `tell` may still ask what was said of it, and may lead to the next thought. */
  interrupt(tell: () => void): void;
  /** A thought that is wanted is under way. */
  readonly busy: boolean;
  /** What of it was given to speech. */
  spokenText(): string;
  /** Of the last thought, from the question to its first word; null until there was one. */
  readonly first_token_ms: number | null;
}

/** What thoughts are made with. `outlet` is opened at a thought's first word. */
export interface LlmRunnerOptions {
  model: ChatModel;
  host: PipelineHost;
  now(): number;
  openSink(effect: GenerateEffect): TokenSink;
  dispatch(event: DialogueEvent): void;
}

const keyOf = ({ messages, tools }: GenerateEffect): string => JSON.stringify([messages, tools]);

class SingleLlmRunner implements LlmRunner {
  readonly #o: LlmRunnerOptions;
  #guess: Generation | null = null;
  #thought: Generation | null = null;
  #first: number | null = null;

  constructor(o: LlmRunnerOptions) {
    this.#o = o;
  }

  get busy(): boolean {
    return this.#thought !== null;
  }
  get first_token_ms(): number | null {
    return this.#first;
  }

  spokenText(): string {
    return this.#thought?.said ?? "";
  }

  startPreemptive(event: DialogueEvent): void {
    const effects = this.#o.host.preview(event);
    const think = effects.find((e) => e.type === "think");
    // a step that does more than think is not gone ahead of: only its thought can be taken back
    if (!think || effects.length > 1) {
      this.cancelPreemptive();
      return;
    }
    if (this.#guess?.key === keyOf(think)) return;
    this.cancelPreemptive();
    this.#guess = this.#begin(think);
  }

  cancelPreemptive(): void {
    this.#guess?.abort.abort();
    this.#guess = null;
  }

  generate(effect: GenerateEffect): void {
    this.cancel();
    const guessed = this.#guess?.key === keyOf(effect) && this.#guess.effect.turn === effect.turn ? this.#guess : null;
    if (!guessed) this.cancelPreemptive();
    this.#guess = null;
    const thought = guessed ?? this.#begin(effect);
    this.#thought = thought;
    this.#first = thought.first_token_ms;
    for (const piece of thought.held.splice(0)) this.#speak(thought, piece);
    if (thought.result) this.#finish(thought, thought.result);
  }

  cancel(): void {
    const thought = this.#thought;
    this.#thought = null;
    thought?.abort.abort();
    thought?.outlet?.end();
  }

  interrupt(tell: () => void): void {
    const thought = this.#thought;
    thought?.abort.abort();
    thought?.outlet?.end();
    tell();
    if (this.#thought === thought) this.#thought = null;
  }

  #begin(effect: GenerateEffect): Generation {
    const thought: Generation = {
      effect,
      key: keyOf(effect),
      abort: new AbortController(),
      began: this.#o.now(),
      said: "",
      held: [],
      outlet: null,
      first_token_ms: null,
      result: null,
    };
    void this.#run(thought);
    return thought;
  }

  async #run(thought: Generation): Promise<void> {
    const { effect, abort } = thought;
    const { turn } = effect;
    try {
      const answer = await this.#o.model.answer(effect, {
        signal: abort.signal,
        onText: (piece) => this.#take(thought, piece),
      });
      if (abort.signal.aborted) return;
      this.#o.host.recordAnswer(answer);
      this.#finish(thought, { type: "model_answered", turn, text: "", calls: answer.calls });
    } catch (error) {
      if (abort.signal.aborted) return;
      this.#finish(thought, {
        type: "model_failed",
        turn,
        code: error instanceof ModelError ? error.code : "MODEL_ERROR",
      });
    }
  }

  #take(thought: Generation, piece: string): void {
    const token = plainText(piece);
    if (thought.abort.signal.aborted || token === "") return;
    thought.first_token_ms ??= Math.round(this.#o.now() - thought.began);
    if (this.#thought === thought) this.#speak(thought, token);
    else thought.held.push(token);
  }

  #speak(thought: Generation, token: string): void {
    this.#first ??= thought.first_token_ms;
    thought.outlet ??= this.#o.openSink(thought.effect);
    thought.said += token;
    thought.outlet.push(token);
  }

  /** Tells how the thought ended, or keeps that until the thought is wanted. */
  #finish(thought: Generation, result: DialogueEvent): void {
    if (this.#thought !== thought) {
      thought.result = result;
      return;
    }
    this.#thought = null;
    thought.outlet?.end();
    const { said } = thought;
    this.#o.dispatch(result.type === "model_answered" ? { ...result, text: said } : { ...result, said });
  }
}

/** A thinker that has nothing to think about. */
export const llmRunner = (o: LlmRunnerOptions): LlmRunner => new SingleLlmRunner(o);
