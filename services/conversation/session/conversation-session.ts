import type { Bus } from "../../../shared/bus.ts";
import type { Clock } from "../../../shared/clock.ts";
import { noFacts } from "../../../shared/contracts/attempt.ts";
import { crashPoint } from "../../../shared/crash.ts";
import type { Env } from "../../../shared/env.ts";
import { codeOf } from "../../../shared/errors.ts";
import { errorForLog, type Log } from "../../../shared/log.ts";
import type { CallEvaluations } from "../evaluation/call-evaluations.ts";
import { holdAttemptLease, type AttemptLease } from "./attempt-lease.ts";
import type { SpeechEffect, PipelineHost, TurnLatency, VoicePipeline } from "../pipelines/port.ts";
import { step } from "../dialogue/dialogue-manager.ts";
import { collectionOf, type DtmfCollection } from "../dialogue/flow.ts";
import {
  newDialogue,
  type Effect,
  type StopReason,
  type DialogueEvent,
  type DialogueState,
} from "../dialogue/dialogue-state.ts";
import { conversationFacts } from "../dialogue/conversation-facts.ts";
import type { CompiledTemplate } from "./compiled-templates.ts";
import type { WebRequester } from "../providers/web-request.ts";
import { progressWriter, type Progress } from "./progress-writer.ts";
import type { SessionDoc } from "./sessions.model.ts";
import type { SessionsRepository } from "./sessions.repository.ts";
import { startTimer } from "../timer.ts";

/** The carrier's session must be ready this long after its socket opened. */
const SETUP_MS = 10_000;
/** The goodbye of a talk that has reached its maximal length is begun this long before, so that it is over in time. */
const LAST_WORDS_MS = 4000;
const MS_PER_SECOND = 1000;

/** What talks are held with. */
export interface SessionDeps {
  bus: Bus;
  clock: Clock;
  log: Log;
  sessions: SessionsRepository;
  web: WebRequester;
  evaluations: Pick<CallEvaluations, "settle">;
  env: Env;
}

/** Begins to talk on media that has come; never throws. */
export type OpenPipeline = (host: PipelineHost) => VoicePipeline;

/** What came from outside about a talk: it is to end, or who or what has answered. */
export type SessionSignal = StopReason | "machine" | "beep";

/** How the call was answered: when, what the carrier had told by then of a machine, and whether it will tell of a beep. */
export interface AnsweredCall {
  at: Date;
  voicemail: boolean;
  beep: boolean;
  signals_beep: boolean;
}

/** A live talk. */
export interface ConversationSession {
  readonly call_ref: string;
  /** Tells the talk something from outside. */
  signal(reason: SessionSignal): void;
  /** Closes its leg now: whoever was stopped and is still saying goodbye says no more. */
  closeLeg(): void;
  /** Resolves when the talk is over and its facts are settled, or left to the sweep. */
  readonly ended: Promise<void>;
}

/** One talk: runs the brain's effects against the ports, keeps the lease alive, settles exactly once. */
class Talk implements ConversationSession, PipelineHost {
  readonly call_ref: string;
  readonly idle_ms: number;
  readonly signals_beep: boolean;
  readonly speechSettings: PipelineHost["speechSettings"];
  readonly ended: Promise<void>;
  readonly #shop: SessionDeps;
  readonly #ready: CompiledTemplate;
  readonly #attempt: { lead_id: string; claim_no: number };
  readonly #answered_at: Date;
  readonly #log: Log;
  readonly #baton: AttemptLease;
  readonly #progress: Progress;
  readonly #ended = new AbortController();
  #state: DialogueState;
  #queue: DialogueEvent[] = [];
  #voice: VoicePipeline | null = null;
  #call_id: string | null = null;
  #transferred = false;
  #isReady = false;
  /** What was told of a machine before the leg was ready to speak. */
  #early: ("machine" | "beep")[] = [];
  #leaseLost = false;
  #cancelTimers: (() => void)[] = [];

  constructor(shop: SessionDeps, doc: SessionDoc, ready: CompiledTemplate, answered: AnsweredCall, open: OpenPipeline) {
    this.#shop = shop;
    this.#ready = ready;
    this.#attempt = { lead_id: doc.lead_id, claim_no: doc.claim_no };
    this.#answered_at = answered.at;
    this.signals_beep = answered.signals_beep;
    this.speechSettings = { language: ready.template.language, voice: ready.template.voice };
    this.#early = [...(answered.voicemail ? ["machine" as const] : []), ...(answered.beep ? ["beep" as const] : [])];
    this.call_ref = doc._id;
    this.idle_ms = ready.template.limits.idle_seconds * MS_PER_SECOND;
    this.#state = newDialogue(doc.payload, doc.voicemail_action);
    this.#log = shop.log.child({ lead_id: doc.lead_id, claim_no: doc.claim_no });
    this.#progress = progressWriter(this.#log, { call_ref: doc._id });
    const { bus, clock, env } = shop;
    this.#baton = holdAttemptLease({
      bus,
      clock,
      lease_seconds: env.LEASE_SECONDS,
      log: this.#log,
      lead_id: doc.lead_id,
      claim_no: doc.claim_no,
      onLost: () => {
        this.#leaseLost = true;
        this.dispatch({ type: "stopped", reason: "lease_lost" });
      },
    });
    const max_ms = doc.max_call_seconds * MS_PER_SECOND;
    this.#cancelTimers = [
      startTimer(clock, SETUP_MS, () => {
        if (!this.#isReady) this.dispatch({ type: "stopped", reason: "media_failed" });
      }),
      startTimer(clock, max_ms - Math.min(LAST_WORDS_MS, max_ms / 2), () => {
        this.#voice?.interrupt?.();
        this.dispatch({ type: "time_up" });
      }),
      // where the carrier speaks for us its own limit cuts: our last words may be on their way to it
      startTimer(clock, max_ms, () => {
        if (this.#voice?.interrupt) this.closeLeg();
      }),
    ];
    this.#voice = open(this);
    this.ended = this.#run(this.#voice);
    this.#drain();
  }

  closeLeg(): void {
    this.#voice?.closeLeg();
  }

  signal(reason: SessionSignal): void {
    if (reason !== "machine" && reason !== "beep") this.dispatch({ type: "stopped", reason });
    else if (this.#isReady || this.#state.voicemail_action !== "leave_message") this.dispatch({ type: reason });
    else this.#early.push(reason);
  }

  ready(call_id: string | null): void {
    if (this.#isReady) return;
    this.#isReady = true;
    this.#call_id = call_id;
    // a machine that was known before is not greeted
    for (const type of this.#early) this.dispatch({ type });
    this.dispatch({ type: "started" });
  }

  sendDtmf(digits: string): void {
    // what was pressed may be somebody's secret: it is never logged
    void this.#shop.bus
      .call("dialer.sendDtmf", { call_ref: this.call_ref, digits })
      .catch((error: unknown) =>
        this.#log.warn(
          { event: "talk.keys_not_pressed", code: codeOf(error) },
          "Keys could not be pressed; the talk goes on.",
        ),
      );
  }

  dispatch(event: DialogueEvent): void {
    this.#queue.push(event.said === undefined && this.#voice ? { ...event, said: this.#voice.spokenText() } : event);
    if (this.#queue.length === 1) this.#drain();
  }

  listening(): boolean {
    return this.#state.mode === "listening" && this.#state.node !== "";
  }

  dtmfCollection(): DtmfCollection | null {
    return collectionOf(this.#ready.flow, this.#state.node);
  }

  preview(event: DialogueEvent): readonly Effect[] {
    return step(this.#ready.flow, this.#state, { ...event, said: event.said ?? this.#voice?.spokenText() ?? "" })
      .effects;
  }

  recordLatency(turn: TurnLatency): void {
    this.#log.info({ event: "talk.turn_timed", ...turn }, "A turn has been answered.");
  }

  recordAnswer(answer: Parameters<PipelineHost["recordAnswer"]>[0]): void {
    const { text, calls, ...figures } = answer;
    this.#log.info(
      { event: "talk.thought", ...figures, chars: text.length, calls: calls.length },
      "The model has answered.",
    );
  }

  recordError(code: string): void {
    this.#log.warn({ event: "talk.fault", code }, "Something at the talk's media or models did not go as it should.");
  }

  /** One event at a time: an effect may lead to the next event at once. */
  #drain(): void {
    const voice = this.#voice;
    if (!voice) return;
    for (let event = this.#queue[0]; event; event = this.#queue[0]) {
      const before = this.#state;
      try {
        const { state, effects } = step(this.#ready.flow, before, event);
        this.#state = state;
        for (const effect of effects) this.#perform(voice, effect);
        if (
          state.transcript !== before.transcript ||
          state.traversal !== before.traversal ||
          state.decided !== before.decided
        )
          this.#keep(before);
      } catch (error) {
        this.#breakOff(voice, error);
      }
      this.#queue.shift();
    }
  }

  /** Our own fault: nobody is left on a line that no longer answers. */
  #breakOff(voice: VoicePipeline, error: unknown): void {
    this.#log.error({ event: "talk.broken", error: errorForLog(error) }, "A step of a talk failed; the call is ended.");
    if (this.#ended.signal.aborted) return;
    this.#state = {
      ...this.#state,
      mode: "ended",
      ended_by: "error",
      errors: [...this.#state.errors, { code: "INTERNAL", node: this.#state.node }],
    };
    this.#ended.abort();
    voice.perform({ type: "end", ended_by: "error", goodbye: null, at_once: true, transferred: false });
  }

  #perform(voice: VoicePipeline, effect: Effect): void {
    switch (effect.type) {
      case "http":
        void this.#ask(effect);
        return;
      case "transfer":
        void this.#transfer(voice, effect);
        return;
      case "note_error":
        this.#log.warn(
          { event: "talk.fault", code: effect.code, flow_node: effect.node },
          "Something in the talk did not go as it should.",
        );
        return;
      case "end": {
        this.#transferred = effect.transferred;
        this.#ended.abort();
        break;
      }
    }
    voice.perform(effect satisfies SpeechEffect);
  }

  async #ask(effect: Extract<Effect, { type: "http" }>): Promise<void> {
    this.#voice?.externalWaitStarted?.();
    const { ok, result } = await this.#shop.web(effect, this.#ended.signal);
    this.dispatch({ type: "http_done", call_id: effect.call_id, ok, result });
  }

  async #transfer(voice: VoicePipeline, effect: Extract<Effect, { type: "transfer" }>): Promise<void> {
    const { call_id, to } = effect;
    try {
      await voice.playedOut();
      await this.#shop.bus.call("dialer.transfer", { call_ref: this.call_ref, to });
      this.dispatch({ type: "transfer_done", call_id });
    } catch (error) {
      this.#log.warn(
        { event: "talk.not_transferred", error: errorForLog(error) },
        "The call could not be transferred; the talk goes on.",
      );
      this.dispatch({ type: "transfer_failed", call_id, code: codeOf(error) });
    }
  }

  #keep(before: DialogueState): void {
    const known = { talk: conversationFacts(this.#state), call_id: this.#call_id };
    const now = this.#shop.clock.now();
    this.#progress.save(async () => {
      await this.#shop.sessions.progress(this.call_ref, known, now);
      if (known.talk.user_turns > 0) crashPoint(this.#shop.env, "K8");
    });
    const turns = this.#state.transcript.length;
    if (turns > before.transcript.length) {
      const line = this.#state.transcript.at(-1);
      this.#log.info(
        { event: "talk.turn", turn: turns, role: line?.role, chars: line?.content.length, flow_node: this.#state.node },
        "Somebody has spoken.",
      );
    }
  }

  async #run(voice: VoicePipeline): Promise<void> {
    await voice.closed;
    for (const cancel of this.#cancelTimers) cancel();
    // the engine has told that the leg is gone; a transfer under way may still have to say how it went
    await this.#untilEnded();
    await this.#progress.settled();
    await this.#settle();
  }

  async #untilEnded(): Promise<void> {
    if (this.#ended.signal.aborted) return;
    await new Promise<void>((resolve) => this.#ended.signal.addEventListener("abort", () => resolve(), { once: true }));
  }

  async #settle(): Promise<void> {
    const { sessions, clock, bus } = this.#shop;
    const ended_at = clock.now();
    const talk = conversationFacts(this.#state);
    this.#log.info(
      {
        event: "talk.ended",
        ended_by: talk.ended_by,
        seconds: Math.round((ended_at.getTime() - this.#answered_at.getTime()) / MS_PER_SECOND),
        turns: talk.transcription.length,
        faults: talk.errors.length,
      },
      "The talk is over.",
    );
    // nobody is kept on the line while the talk is judged
    const hungUp = this.#transferred
      ? null
      : this.#quietly("hang up", bus.call("dialer.hangUp", { call_ref: this.call_ref }));
    if (this.#leaseLost) await this.#quietly("close", sessions.close(this.call_ref, ended_at));
    else {
      await this.#quietly("keep", sessions.ended(this.call_ref, { talk, call_id: this.#call_id, ended_at }, ended_at));
      const facts = {
        ...noFacts("completed"),
        call_id: this.#call_id,
        answered_at: this.#answered_at.toISOString(),
        ended_at: ended_at.toISOString(),
        machine: talk.machine,
        talk,
      };
      const over = { ...this.#attempt, template: this.#ready.template, talk };
      const settled = await this.#shop.evaluations.settle(over, (evaluation) =>
        this.#baton.settle(evaluation === null ? facts : { ...facts, evaluation }),
      );
      if (settled) await this.#quietly("close", sessions.close(this.call_ref, clock.now()));
      this.#baton.drop();
    }
    await hungUp;
  }

  /** What may fail without harm: the sweep and the carrier's own time limit stand behind it. */
  async #quietly(what: string, work: Promise<unknown>): Promise<void> {
    await work.catch((error: unknown) =>
      this.#log.warn(
        { event: "talk.cleanup_failed", what, error: errorForLog(error) },
        "Something at the end of a talk did not work; the sweep will see to it.",
      ),
    );
  }
}

/** Starts a talk on its media; the baton must have been taken. */
export const startSession = (
  shop: SessionDeps,
  doc: SessionDoc,
  ready: CompiledTemplate,
  answered: AnsweredCall,
  open: OpenPipeline,
): ConversationSession => new Talk(shop, doc, ready, answered, open);
