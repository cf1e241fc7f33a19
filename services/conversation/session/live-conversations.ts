import type { ResultOf, ServiceDeps } from "../../../shared/bus/bus.ts";
import { taskSet, within, type TaskSet } from "../../../shared/time/deadline.ts";
import { codeOf, fail } from "../../../shared/errors.ts";
import { errorForLog } from "../../../shared/process/log.ts";
import { exponentialMs } from "../../../shared/time/backoff.ts";
import { mediaAdmission, type Admission } from "./media-admission.ts";
import type { CompiledTemplate, CompiledTemplates } from "./compiled-templates.ts";
import {
  type AnsweredCall,
  ConversationSession,
  type OpenPipeline,
  type SessionDeps,
  type SessionSignal,
  type Shown,
} from "./conversation-session.ts";
import type { SpeakRequest } from "../browser/utterances.ts";
import type { PreparedSessions } from "./prepared-sessions.ts";
import type { PlannedSession, SessionDoc } from "./sessions.model.ts";

/** Tries to take a call over from the dialer, and the pause between them. */
const JOIN_TRIES = 3;
const JOIN_PAUSE_MS = 500;
/** The dialer is told for so long that a call has not begun, with pauses that grow between these bounds, ms. */
const TELL_FOR_MS = 600_000;
const TELL_BASE_MS = 250;
const TELL_MAX_MS = 5000;
/** How often a shutdown looks whether calls are left. */
const LOOK_EVERY_MS = 100;
/** Without a goodbye a conversation gets this long to end by itself. */
const AT_ONCE_MS = 1000;

/** Media that has joined for a conversation. */
export interface MediaAttachment {
  /** How its pipeline is opened. NOT_AVAILABLE where the deployment lacks what that needs. */
  openPipeline(template: CompiledTemplate): OpenPipeline;
  /** Shows the other side the words and the node of its conversation; absent: it has no eyes for them. */
  show?: Shown | undefined;
  /** Tells the other side what becomes of an utterance of its own. */
  tell?: SessionDeps["spoke"];
  /** Gets the utterances that the other side wants to be spoken; null: it leads nothing. */
  hear?: (speak: ((request: SpeakRequest) => void) | null) => void;
  /** Rejects the media without a word, within a time limit. */
  dismiss(): Promise<void>;
  /** Says that something went wrong, in the template's language, and ends the call; within a time limit. */
  farewell(template: CompiledTemplate | null): Promise<void>;
}

/** What conversations are run with. */
export interface LiveConversationsDeps extends SessionDeps {
  node_id: string;
  templates: CompiledTemplates;
  prepared: PreparedSessions;
  /** Conversations at once, at most. */
  most: number;
  /** Aborts `leaving`. */
  leave(): void;
}

/** Asks the dialer to hand the call over to this node; a transient error is tried again, until it is too late for a conversation. */
async function joinCall(
  { bus, clock, node_id }: Pick<LiveConversationsDeps, "bus" | "clock" | "node_id">,
  call_ref: string,
  late: AbortSignal,
): Promise<ResultOf<"dialer.joined">> {
  for (let tries = 1; ; tries++) {
    try {
      return await bus.call("dialer.joined", { call_ref, node_id, tells_placed: true });
    } catch (error) {
      if (tries >= JOIN_TRIES || late.aborted) throw error;
      await clock.wait(JOIN_PAUSE_MS, late);
    }
  }
}

/** Ends a call whose conversation could not begin in time: a goodbye, and the dialer is told until it knows. */
async function endUnbegun(
  { bus, clock, log, leaving, templates }: LiveConversationsDeps,
  media: MediaAttachment,
  planned: PlannedSession | null,
  code: string,
): Promise<void> {
  log.error(
    { event: "talk.not_begun_in_time", lead_id: planned?.lead_id, claim_no: planned?.claim_no, code },
    "A conversation could not begin in time; its call is ended with a goodbye.",
  );
  await media.farewell(planned && templates.known(planned.template_id, planned.template_version));
  if (planned === null) return;
  const { _id: call_ref } = planned;
  const untilMs = clock.monotonicMs() + TELL_FOR_MS;
  for (let tries = 0; !leaving.aborted && clock.monotonicMs() < untilMs; tries++) {
    const told = await bus.call("dialer.hangUp", { call_ref, reason: "not_begun" }).then(
      () => true,
      () => false,
    );
    if (told) return;
    await clock.wait(exponentialMs(tries, TELL_BASE_MS, TELL_MAX_MS), leaving);
  }
}

/** The attempt has ended before its media joined. */
async function turnAway({ sessions, clock, log }: LiveConversationsDeps, media: MediaAttachment, doc: SessionDoc) {
  log.info(
    { event: "talk.not_begun", lead_id: doc.lead_id, claim_no: doc.claim_no },
    "Media joined an attempt that is over; hung up.",
  );
  await media.dismiss();
  await sessions.close(doc._id, clock.now());
}

/** Keeps in the document that the conversation has begun; it goes on where that fails. */
async function markBegun({ sessions, clock, log }: LiveConversationsDeps, doc: SessionDoc, at: Date): Promise<void> {
  log.info(
    { event: "talk.started", lead_id: doc.lead_id, claim_no: doc.claim_no },
    "Media has joined; the conversation begins.",
  );
  await sessions
    .begin(doc._id, at, clock.now())
    .catch((error: unknown) =>
      log.warn(
        { event: "talk.progress_lost", lead_id: doc.lead_id, error: errorForLog(error) },
        "The beginning of a conversation could not be written.",
      ),
    );
}

const answeredCall = (joined: ResultOf<"dialer.joined">, clock: ServiceDeps["clock"]): AnsweredCall => ({
  at: joined.answered_at === null ? clock.now() : new Date(joined.answered_at),
  voicemail: joined.machine,
  beep: joined.beep,
  signals_beep: joined.tells_beep,
  placed: joined.placed,
});

/** The conversations of a process, by their call_ref. */
interface Here {
  live: Map<string, ConversationSession>;
  /** Calls that the dialer is handing over, with the signals that came before the session could begin. */
  handingOver: Map<string, SessionSignal[]>;
}

/** What a conversation is begun with. */
interface TakenOver {
  template: CompiledTemplate;
  open: OpenPipeline;
  joined: ResultOf<"dialer.joined">;
  signals: readonly SessionSignal[];
}

/** Takes the call over from the dialer. */
async function takeOver(
  deps: LiveConversationsDeps,
  handingOver: Here["handingOver"],
  media: MediaAttachment,
  doc: SessionDoc,
  late: AbortSignal,
): Promise<TakenOver | null> {
  // the template first: after the lease is taken, no error may prevent settling
  const compiled = await deps.templates.get(deps.bus, doc.template_id, doc.template_version);
  const template = doc.client_led ? { ...compiled, flow: { ...compiled.flow, client_led: true } } : compiled;
  if (late.aborted) return null;
  const open = media.openPipeline(template);
  const signals: SessionSignal[] = [];
  handingOver.set(doc._id, signals);
  const joined = await joinCall(deps, doc._id, late).finally(() => handingOver.delete(doc._id));
  return { template, open, joined, signals };
}

/** Takes the call over and leads its conversation to the end. `due_ms`: when it is too late for a conversation, monotonic. */
async function converse(
  deps: LiveConversationsDeps,
  { live, handingOver }: Here,
  media: MediaAttachment,
  doc: SessionDoc,
  due_ms: number,
): Promise<void> {
  const late = new AbortController();
  const taking = takeOver(deps, handingOver, media, doc, late.signal);
  const inTime = await within(deps.clock, due_ms - deps.clock.monotonicMs(), taking).catch((error: unknown) => error);
  late.abort(null);
  const taken = inTime === true ? await taking : null;
  if (taken === null) return endUnbegun(deps, media, doc, inTime === false ? "TIMEOUT" : codeOf(inTime));
  const { template, open, joined, signals } = taken;
  if (!joined.go) return turnAway(deps, media, doc);
  const answered = answeredCall(joined, deps.clock);
  const session = new ConversationSession(
    { ...deps, shown: media.show, spoke: media.tell },
    doc,
    template,
    answered,
    open,
  );
  live.set(doc._id, session);
  media.hear?.(doc.client_led ? (request) => void session.utterances.speak(request) : null);
  for (const signal of signals) session.signal(signal);
  await markBegun(deps, doc, answered.at);
  await session.ended;
  live.delete(doc._id);
}

/** How the conversations of a process end when it shuts down. `calls`: those under way, and those that may still join. */
const ending = (
  { clock, leave }: LiveConversationsDeps,
  { live, handingOver }: Here,
  running: TaskSet,
  calls: () => number,
) => ({
  /** Waits until the last conversation is over and no prepared call can join any more, for at most `grace_ms`. */
  async quiet(grace_ms: number): Promise<void> {
    const untilMs = clock.monotonicMs() + grace_ms;
    for (let left = grace_ms; calls() > 0 && left > 0; left = untilMs - clock.monotonicMs())
      await clock.wait(Math.min(left, LOOK_EVERY_MS));
  },
  /** Ends the conversations that are left with a goodbye of at most `goodbye_ms` (0: none), then cuts them off; resolves when all are settled. */
  async end(goodbye_ms: number): Promise<void> {
    const signal = goodbye_ms > 0 ? "shutdown" : "shutdown_now";
    for (const session of live.values()) session.signal(signal);
    for (const signals of handingOver.values()) signals.push(signal);
    await within(clock, Math.max(goodbye_ms, AT_ONCE_MS), running.drain());
    for (const session of live.values()) {
      // one that began meanwhile and goes on is ended by us: its leg would seem to have been closed by the callee
      session.signal("shutdown_now");
      session.closeLeg();
    }
    leave();
    await running.drain();
  },
});

/** All live conversations of this process. */
export function liveConversations(deps: LiveConversationsDeps) {
  const { log, prepared, most } = deps;
  const here: Here = { live: new Map(), handingOver: new Map() };
  const { live, handingOver } = here;
  const running = taskSet();
  /** Calls whose media is here, from the first moment: before their conversation begins and while one that could not begin is ended. */
  const attending = new Set<string>();
  /** True when there is room for no more conversations. */
  const full = (): boolean => running.size >= most;
  /** Calls under way, those included that ring and may join here. */
  const calls = (): number => running.size + prepared.count();

  /** Does something with media; never rejects. */
  const attend = async (call_ref: string | undefined, conversation: Promise<void>): Promise<void> => {
    const attended = conversation.catch((error: unknown) =>
      log.error(
        { event: "talk.failed", call_ref, error: errorForLog(error) },
        "A conversation broke off; the sweep recovers its attempt.",
      ),
    );
    running.add(attended);
    if (call_ref !== undefined) {
      attending.add(call_ref);
      prepared.drop(call_ref);
    }
    await attended;
    if (call_ref !== undefined) attending.delete(call_ref);
  };

  return {
    admit: mediaAdmission({ ...deps, full }),
    /** Runs the conversation on media that were admitted, or ends their call with a goodbye; never rejects. */
    run: (media: MediaAttachment, admission: Admission): Promise<void> =>
      admission.session === null
        ? attend(admission.planned?._id, endUnbegun(deps, media, admission.planned, "TIMEOUT"))
        : attend(admission.session._id, converse(deps, here, media, admission.session, admission.due_ms)),
    /** Signals a conversation, also one whose hand-over is still under way: voicemail detection may overtake it. Unknown calls are ignored. */
    signal(call_ref: string, signal: SessionSignal): void {
      const session = live.get(call_ref);
      if (session) session.signal(signal);
      else handingOver.get(call_ref)?.push(signal);
    },
    /** Has a text spoken in a session that its client leads. SESSION_OVER, RATE_LIMITED, VALIDATION_FAILED. */
    speak: (call_ref: string, request: SpeakRequest) =>
      live.get(call_ref)?.utterances.speak(request) ?? fail("SESSION_OVER", "The session has ended."),
    full,
    calls,
    /** Whether this call is in this process's hands: its conversation about to begin, under way, or ending, or its goodbye owed. */
    has: (call_ref: string): boolean => attending.has(call_ref) || live.has(call_ref),
    ...ending(deps, here, running, calls),
  };
}

/** The live conversations of a process. */
export type LiveConversations = ReturnType<typeof liveConversations>;
