import { sessionFigures } from "../figures.ts";
import type { ResultOf, ServiceDeps } from "../../../shared/bus/bus.ts";
import { DEFAULT_LISTENING } from "../../../shared/contracts/records/listening-settings.ts";
import type { TemplateRecord } from "../../../shared/contracts/records/template.ts";
import type { MediaEnd } from "../../../shared/hangup-source.ts";
import { MS_PER_SECOND } from "../../../shared/time/clock.ts";
import { crashPoint } from "../../../shared/process/crash.ts";
import { errorForLog, type Log } from "../../../shared/process/log.ts";
import {
  newDialogue,
  type DialogueEvent,
  type DialogueState,
  type Effect,
  type StopReason,
} from "../dialogue/dialogue-state.ts";
import { awaitsCallee, collectionOf, finalAnswer, idleMs, isListening } from "../dialogue/flow.ts";
import type { CallEvaluations } from "../evaluation/call-evaluations.ts";
import type { PipelineHost, SpeechEffect, VoicePipeline } from "../pipelines/port.ts";
import type { WebRequester } from "../providers/web-request.ts";
import { holdAttemptLease, type AttemptLease } from "./attempt-lease.ts";
import type { CompiledTemplate } from "./compiled-templates.ts";
import { DialogueLoop, startDeadlines } from "./dialogue-loop.ts";
import { externalEffects, type ExternalEffects } from "./external-effects.ts";
import { progressWriter, type Progress } from "./progress-writer.ts";
import { utterancesOn, type UtteranceEvent, type Utterances } from "../browser/utterances.ts";
import { turnRecord, type TurnRecord } from "../turns/turn-record.ts";
import type { SessionDoc } from "./sessions.model.ts";
import type { StandstillWatch } from "./standstill-watch.ts";
import type { SessionsRepository } from "./sessions.repository.ts";
import { settleSession } from "./conversation-settlement.ts";

/** Gets the words and the node of a conversation whenever they change. */
export type Shown = (state: Pick<DialogueState, "transcript" | "node">) => void;

/** What sessions are run with. */
export interface SessionDeps extends Pick<ServiceDeps, "bus" | "clock" | "env" | "log" | "metrics" | "traces"> {
  sessions: SessionsRepository;
  web: WebRequester;
  evaluations: Pick<CallEvaluations, "settle">;
  standstill: StandstillWatch;
  /** Aborted when this process shuts down and its conversations are over. */
  leaving: AbortSignal;
  /** Absent: nobody watches. */
  shown?: Shown | undefined;
  /** Gets what becomes of the client's utterances; absent: nobody waits for it. */
  spoke?: ((event: UtteranceEvent) => void) | undefined;
}

/** Stops by the end of the media. */
const MEDIA_ENDS: Partial<Record<StopReason, MediaEnd>> = { hung_up: "closed", line_lost: "broken" };

/**
 * The end of a conversation from the carrier's side: how its media ended by it; null: it was not ended so. That the carrier has ended the call may be known before the media end; how
 * they do says by whom.
 */
function farEnd({ stoodStill }: Pick<StandstillWatch, "stoodStill">, clock: ServiceDeps["clock"], max_ms: number) {
  const limitMs = clock.monotonicMs() + max_ms;
  let carriers = false;
  let media: MediaEnd | null = null;
  return {
    stopped(reason: StopReason, wasOver: boolean): void {
      if (!wasOver) carriers = reason in MEDIA_ENDS || reason === "carrier_ended";
      const how = MEDIA_ENDS[reason] ?? null;
      // a socket that is not answered is cut by the other side, whoever ended the call; past its limit the carrier may have ended it
      const tells = how === "broken" ? !stoodStill() : clock.monotonicMs() < limitMs;
      if (carriers && how !== null) media ??= tells ? how : "lost";
    },
    media: (): MediaEnd | null => media,
  };
}

const speechSettingsOf = ({ language, voice, listening }: TemplateRecord): PipelineHost["speechSettings"] => ({
  language,
  voice,
  listening: { ...DEFAULT_LISTENING, ...listening },
});

/** Writes what is known of a conversation. */
const writing =
  ({ sessions, clock, env }: SessionDeps, call_ref: string, known: Parameters<SessionsRepository["progress"]>[1]) =>
  async (): Promise<void> => {
    await sessions.progress(call_ref, known, clock.now());
    if (known.talk.user_turns > 0) crashPoint(env, "K8");
  };

/** Whether the media's name of their call is that of another one than was placed. Names of different length are of different kinds and say nothing: some carriers have several for a call. */
const namesAnother = (call_id: string | null, placed: string | null): boolean =>
  call_id !== null && placed !== null && call_id.length === placed.length && call_id !== placed;

/** Opens the pipeline on media that has joined; never throws. */
export type OpenPipeline = (host: PipelineHost) => VoicePipeline;

/** A signal from outside the conversation: it must end, or voicemail has answered (`machine`), or its beep has sounded. */
export type SessionSignal = StopReason | "machine" | "beep";

/** How the call was answered: when, what the carrier had reported of voicemail by then, and whether it reports a beep. */
export interface AnsweredCall {
  at: Date;
  voicemail: boolean;
  beep: boolean;
  signals_beep: boolean;
  /** The call, of which its lead may not have been told. */
  placed?: ResultOf<"dialer.joined">["placed"] | undefined;
}

/** A live conversation: runs the dialogue on its pipeline, keeps the lease alive, settles exactly once. This process must own the attempt's lease. */
export class ConversationSession {
  readonly call_ref: string;
  readonly utterances: Utterances;
  /** Resolves when the conversation is over and its facts are settled, or left to the sweep. */
  readonly ended: Promise<void>;
  readonly #deps: SessionDeps;
  readonly #doc: SessionDoc;
  readonly #template: CompiledTemplate;
  readonly #answered: AnsweredCall;
  readonly #log: Log;
  readonly #lease: AttemptLease;
  readonly #progress: Progress;
  readonly #turns: TurnRecord;
  readonly #loop: DialogueLoop;
  readonly #external: ExternalEffects;
  readonly #pipeline: VoicePipeline;
  /** Signals of voicemail that came before the leg was ready to speak. */
  readonly #early: ("machine" | "beep")[];
  #call_id: string | null = null;
  #transferred = false;
  #isReady = false;
  #leaseLost = false;
  readonly #far: ReturnType<typeof farEnd>;

  constructor(
    deps: SessionDeps,
    doc: SessionDoc,
    template: CompiledTemplate,
    answered: AnsweredCall,
    open: OpenPipeline,
  ) {
    const { _id: call_ref, lead_id, claim_no } = doc;
    this.call_ref = call_ref;
    this.#deps = deps;
    this.#far = farEnd(deps.standstill, deps.clock, doc.max_call_seconds * MS_PER_SECOND);
    this.#doc = doc;
    this.#template = template;
    this.#answered = answered;
    this.#early = [...(answered.voicemail ? ["machine" as const] : []), ...(answered.beep ? ["beep" as const] : [])];
    this.#log = deps.log.child({ lead_id, claim_no });
    this.#progress = progressWriter(deps.clock, this.#log, { call_ref });
    this.#loop = new DialogueLoop(template.flow, newDialogue(doc.payload, doc.voicemail_action), {
      perform: (pipeline, effect) => this.#perform(pipeline, effect),
      judge: (calls) => template.judge(calls),
      decided: (state) => this.#progress.saveDecision(this.#writing(state)),
      progressed: (before, now, written) => this.#keep(before, now, written),
      failed: (error) =>
        this.#log.error(
          { event: "talk.broken", error: errorForLog(error) },
          "A step of a conversation failed; the call is ended.",
        ),
    });
    const { bus, clock, env, web } = deps;
    this.#turns = turnRecord({ ...deps, log: this.#log, over: this.#loop.ended, lead_id, claim_no }, env.EVENTS_TURNS);
    const dispatch = (event: DialogueEvent): void => this.#loop.dispatch(event);
    this.#external = externalEffects({ bus, web, log: this.#log, doc, dispatch });
    this.#lease = holdAttemptLease({
      bus,
      clock,
      log: this.#log,
      lead_id,
      claim_no,
      lease_seconds: env.LEASE_SECONDS,
      placed: answered.placed,
      leaving: deps.leaving,
      onLost: () => {
        this.#leaseLost = true;
        this.#loop.dispatch({ type: "stopped", reason: "lease_lost" });
      },
    });
    const deadlines = this.#startDeadlines();
    this.#pipeline = open(this.#host());
    this.utterances = utterancesOn(deps, this.#pipeline, this.#loop);
    this.ended = this.#run(deadlines);
    this.#loop.start(this.#pipeline);
  }

  /** Closes its leg now, even in the middle of a goodbye. */
  closeLeg(): void {
    this.#pipeline.closeLeg();
  }

  signal(signal: SessionSignal): void {
    if (signal === "carrier_ended") this.#pipeline.lineEnded();
    else if (signal !== "machine" && signal !== "beep") this.#dispatch({ type: "stopped", reason: signal });
    else if (this.#isReady || this.#doc.voicemail_action !== "leave_message") this.#loop.dispatch({ type: signal });
    else this.#early.push(signal);
  }

  #dispatch(event: DialogueEvent): void {
    const wasOver = this.#loop.ended.aborted;
    if (event.type === "stopped" && !wasOver) this.#far.stopped(event.reason, false);
    this.#loop.dispatch(event);
    // whoever hangs up on our last words has ended the call
    if (event.type === "stopped" && wasOver) this.#far.stopped(event.reason, this.#loop.state.ended_by !== "customer");
    if (event.type === "interrupted") this.utterances.interrupted(event.spoken);
  }

  #startDeadlines(): (() => void)[] {
    const { clock, standstill } = this.#deps;
    const limits = startDeadlines(clock, this.#doc.max_call_seconds * MS_PER_SECOND, {
      setUp: () => this.#isReady || this.#loop.dispatch({ type: "stopped", reason: "media_failed" }),
      timeUp: () => {
        this.#pipeline.interrupt?.();
        this.#loop.dispatch({ type: "time_up" });
      },
      // where the carrier does speech its own limit ends the call: our last words may still be in transit
      over: () => this.#pipeline.interrupt && this.closeLeg(),
    });
    return [...limits, standstill.begin()];
  }

  /** The conversation as its pipeline sees it. */
  #host(): PipelineHost {
    const { template, flow } = this.#template;
    const loop = this.#loop;
    return {
      ready: (call_id) => this.#ready(call_id),
      dispatch: (event) => this.#dispatch(event),
      finality: (event) => finalAnswer(flow, loop.state, event),
      preview: (event) => loop.preview(event),
      listening: () => !loop.isDeciding && isListening(flow, loop.state),
      opening: () => awaitsCallee(flow, loop.state),
      dtmfCollection: () => collectionOf(flow, loop.state.node),
      sendDtmf: (digits) => void this.#external.sendDtmf(digits),
      signals_beep: this.#answered.signals_beep,
      get idle_ms() {
        return idleMs(flow, loop.state, template.limits.idle_seconds);
      },
      speechSettings: speechSettingsOf(template),
      ...sessionFigures(this.#log, this.#deps.metrics),
    };
  }

  #ready(call_id: string | null): void {
    if (this.#isReady) return;
    this.#isReady = true;
    const placed = this.#answered.placed?.call_id ?? null;
    const isAnother = namesAnother(call_id, placed);
    this.#call_id = isAnother ? placed : call_id;
    if (isAnother) {
      this.#loop.dispatch({ type: "stopped", reason: "wrong_call" });
      return;
    }
    // voicemail that was detected earlier gets no greeting
    for (const type of this.#early) this.#loop.dispatch({ type });
    this.#loop.dispatch({ type: "started" });
  }

  #perform(pipeline: VoicePipeline, effect: Effect): void {
    switch (effect.type) {
      case "http":
        void this.#external.request(pipeline, effect, this.#loop.ended);
        return;
      case "transfer":
        void this.#external.transfer(pipeline, effect);
        return;
      case "note_error":
        this.#log.warn({ event: "talk.fault", code: effect.code, flow_node: effect.node }, "An error in the dialogue.");
        return;
      case "end":
        this.#transferred = effect.transferred;
    }
    pipeline.perform(effect satisfies SpeechEffect);
  }

  #writing(state: DialogueState): () => Promise<void> {
    return writing(this.#deps, this.call_ref, { talk: this.#turns.facts(state), call_id: this.#call_id });
  }

  #keep(before: DialogueState, state: DialogueState, written: boolean): void {
    this.#deps.shown?.(state);
    if (!written) this.#progress.save(this.#writing(state));
    const [turn, line] = [state.transcript.length, state.transcript.at(-1)];
    if (turn <= before.transcript.length) return;
    this.#log.info(
      { event: "talk.turn", turn, role: line?.role, chars: line?.content.length, flow_node: state.node },
      "A turn has been added to the transcript.",
    );
  }

  async #run(deadlines: (() => void)[]): Promise<void> {
    await this.#pipeline.closed;
    this.utterances.end();
    for (const cancel of deadlines) cancel();
    // the pipeline has reported that the leg is gone; a transfer under way may still have a result
    await this.#loop.untilEnded();
    const { lead_id, claim_no } = this.#doc;
    await settleSession(
      { ...this.#deps, log: this.#log, lease: this.#lease },
      {
        call_ref: this.call_ref,
        attempt: { lead_id, claim_no },
        template: this.#template.template,
        facts: this.#turns.facts(this.#loop.state),
        call_id: this.#call_id,
        answered_at: this.#answered.at,
        transferred: this.#transferred,
        media: this.#far.media(),
        lease_lost: this.#leaseLost,
        trace: this.#doc.trace,
      },
    );
    await this.#progress.settled(); // last: a write that hangs must hold nothing up
  }
}
