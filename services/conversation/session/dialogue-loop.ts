import { once } from "node:events";
import { step } from "../dialogue/dialogue-manager.ts";
import type { DialogueEvent, DialogueState, Effect, Step } from "../dialogue/dialogue-state.ts";
import type { Flow } from "../dialogue/flow.ts";
import { callsToCheck, UNCHECKED, type ReadCall } from "../dialogue/function-calls.ts";
import type { Clock } from "../../../shared/time/clock.ts";
import { startTimer } from "../../../shared/time/timer.ts";
import type { VoicePipeline } from "../pipelines/port.ts";

/** What a dialogue loop reports to. */
export interface DialogueHooks {
  /** Carries out one effect; may dispatch the next event at once. */
  perform(pipeline: VoicePipeline, effect: Effect): void;
  /** What is wrong with the arguments of each call, in order; null: nobody can say in time. */
  judge(calls: readonly ReadCall[]): Promise<(readonly string[] | null)[]>;
  /** An outcome, or the wish not to be called, is decided: resolves when that is written down, or must be said all the same; never rejects. */
  decided(state: DialogueState): Promise<void>;
  /** Transcript, path, outcome or the wish not to be called have changed; `written`: `decided` had it. */
  progressed(before: DialogueState, now: DialogueState, written: boolean): void;
  /** A step or an effect threw: our own error. */
  failed(error: unknown): void;
}

type Answered = Extract<DialogueEvent, { type: "model_answered" }>;

const decides = (before: DialogueState, { decided, do_not_call }: DialogueState): boolean =>
  decided !== before.decided || do_not_call !== before.do_not_call;

/** Effects by which the customer learns what was decided. */
const TELLING: readonly Effect["type"][] = ["say", "think", "transfer", "await_beep", "end"];
const tells = ({ effects }: Step): boolean => effects.some(({ type }) => TELLING.includes(type));

/** Runs one dialogue against its pipeline: one event at a time, for an effect may lead to the next event at once. */
export class DialogueLoop {
  readonly #flow: Flow;
  readonly #hooks: DialogueHooks;
  readonly #ended = new AbortController();
  readonly #queue: DialogueEvent[] = [];
  #pipeline: VoicePipeline | null = null;
  #state: DialogueState;
  /** The answer whose calls are being checked: nothing else speaks for it meanwhile. */
  #unjudged: Answered | null = null;
  /** A decision is being written: its words, and all that comes, wait for it. */
  #isDeciding = false;

  constructor(flow: Flow, initial: DialogueState, hooks: DialogueHooks) {
    this.#flow = flow;
    this.#state = initial;
    this.#hooks = hooks;
  }

  get state(): DialogueState {
    return this.#state;
  }

  /** A decision is being written: nobody listens, though its words have not begun. */
  get isDeciding(): boolean {
    return this.#isDeciding;
  }

  /** Aborts when the dialogue has come to its end. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** Begins with the events that came before the pipeline was open. */
  start(pipeline: VoicePipeline): void {
    this.#pipeline = pipeline;
    this.#drain();
  }

  dispatch(event: DialogueEvent): void {
    const calls = event.type === "model_answered" ? callsToCheck(this.#flow, this.#state.node, event.calls) : [];
    if (event.type === "model_answered" && calls.length > 0) void this.#judge(event, calls);
    else this.#enqueue(event);
  }

  #enqueue(event: DialogueEvent): void {
    this.#queue.push(this.#isDeciding ? event : this.#asSpoken(event));
    if (this.#queue.length === 1) this.#drain();
  }

  /** The effects that this event would have now; nothing happens. */
  preview(event: DialogueEvent): readonly Effect[] {
    const said = event.said ?? this.#spoken();
    return step(this.#flow, this.#state, { ...event, said }).effects;
  }

  /** What waited for a decision comes after its words began. */
  #asSpoken(event: DialogueEvent): DialogueEvent {
    return event.said === undefined && this.#pipeline ? { ...event, said: this.#spoken() } : event;
  }

  #spoken(): string {
    const { turn, text } = this.#unjudged ?? { turn: null, text: "" };
    return turn === this.#state.turn ? text : (this.#pipeline?.spokenText() ?? "");
  }

  /** An answer waits until its calls' arguments are checked, as if the model had taken longer; what has become of the conversation by then, its turn tells. */
  async #judge(event: Answered, asked: readonly ReadCall[]): Promise<void> {
    this.#unjudged = event;
    const found = await this.#hooks.judge(asked);
    if (this.#unjudged === event) this.#unjudged = null;
    const faults = new Map(asked.map(({ call }, i) => [call, found[i] ?? [UNCHECKED]]));
    const calls = event.calls.map((call) => {
      const told = faults.get(call);
      return told === undefined ? call : { ...call, faults: told };
    });
    this.#enqueue({ ...event, calls });
  }

  /** Resolves at the end of the dialogue. */
  async untilEnded(): Promise<void> {
    if (!this.ended.aborted) await once(this.ended, "abort");
  }

  #drain(): void {
    const pipeline = this.#pipeline;
    if (!pipeline) return;
    for (let event = this.#queue[0]; event; event = this.#queue[0]) {
      const next = this.#attempt(pipeline, () => step(this.#flow, this.#state, this.#asSpoken(event)));
      if (next && decides(this.#state, next.state) && tells(next)) {
        void this.#decide(pipeline, next);
        return;
      }
      if (next) this.#attempt(pipeline, () => this.#take(pipeline, next, false));
      this.#queue.shift();
    }
  }

  /** Does something that may throw, which ends the conversation. */
  #attempt<T>(pipeline: VoicePipeline, what: () => T): T | null {
    try {
      return what();
    } catch (error) {
      this.#hooks.failed(error);
      this.#breakOff(pipeline);
      return null;
    }
  }

  /** The words of a decision begin when it is written: a process that dies behind them leaves what they told. */
  async #decide(pipeline: VoicePipeline, next: Step): Promise<void> {
    this.#isDeciding = true;
    await this.#hooks.decided(next.state);
    this.#isDeciding = false;
    this.#attempt(pipeline, () => this.#take(pipeline, next, true));
    this.#queue.shift();
    this.#drain();
  }

  #take(pipeline: VoicePipeline, { state, effects }: Step, written: boolean): void {
    const before = this.#state;
    this.#state = state;
    for (const effect of effects) {
      if (effect.type === "end") this.#ended.abort();
      this.#hooks.perform(pipeline, effect);
    }
    const differs = state.transcript !== before.transcript || state.traversal !== before.traversal;
    if (differs || decides(before, state)) this.#hooks.progressed(before, state, written);
  }

  /** Hangs up so that the caller is not left in silence. */
  #breakOff(pipeline: VoicePipeline): void {
    if (this.ended.aborted) return;
    const errors = [...this.#state.errors, { code: "INTERNAL", node: this.#state.node }];
    this.#state = { ...this.#state, mode: "ended", ended_by: "error", errors };
    this.#ended.abort();
    pipeline.perform({ type: "end", ended_by: "error", goodbye: null, at_once: true, transferred: false });
  }
}

/** The carrier's session must be ready this long after its socket opened. */
const SETUP_MS = 10_000;
/** The goodbye begins this long before the maximum length of a call, so that it is over in time. */
const LAST_WORDS_MS = 4000;

/** Starts the time limits of a conversation: to be set up, to say its last words, and to be over. Each is cancelled by its function. */
export const startDeadlines = (
  clock: Clock,
  max_ms: number,
  on: Record<"setUp" | "timeUp" | "over", () => unknown>,
): (() => void)[] => [
  startTimer(clock, SETUP_MS, () => void on.setUp()),
  startTimer(clock, max_ms - Math.min(LAST_WORDS_MS, max_ms / 2), () => void on.timeUp()),
  startTimer(clock, max_ms, () => void on.over()),
];
