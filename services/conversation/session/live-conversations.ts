import type { ResultOf, ServiceDeps } from "../../../shared/bus/bus.ts";
import { taskSet, within, type TaskSet } from "../../../shared/time/deadline.ts";
import { fail } from "../../../shared/errors.ts";
import { sha256 } from "../../../shared/ids.ts";
import { errorForLog } from "../../../shared/process/log.ts";
import type { UpgradeRequest } from "../transport/media-server.ts";
import type { CompiledTemplate, CompiledTemplates } from "./compiled-templates.ts";
import {
  type AnsweredCall,
  ConversationSession,
  type OpenPipeline,
  type SessionDeps,
  type SessionSignal,
} from "./conversation-session.ts";
import type { PreparedSessions } from "./prepared-sessions.ts";
import type { SessionDoc } from "./sessions.model.ts";

/** Tries to take a call over from the dialer, and the pause between them. */
const JOIN_TRIES = 3;
const JOIN_PAUSE_MS = 500;
/** How often a shutdown looks whether calls are left. */
const LOOK_EVERY_MS = 100;
/** Without a goodbye a conversation gets this long to end by itself. */
const AT_ONCE_MS = 1000;

/** Media that has joined for a conversation. */
export interface MediaAttachment {
  /** How its pipeline is opened. NOT_AVAILABLE where the deployment lacks what that needs. */
  openPipeline(template: CompiledTemplate): OpenPipeline;
  /** Rejects the media politely and within a time limit. */
  dismiss(): Promise<void>;
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

/** Asks the dialer to hand the call over to this node; a transient error is tried again. */
async function joinCall(
  { bus, clock, node_id }: Pick<LiveConversationsDeps, "bus" | "clock" | "node_id">,
  call_ref: string,
): Promise<ResultOf<"dialer.joined">> {
  for (let tries = 1; ; tries++) {
    try {
      return await bus.call("dialer.joined", { call_ref, node_id });
    } catch (error) {
      if (tries >= JOIN_TRIES) throw error;
      await clock.wait(JOIN_PAUSE_MS);
    }
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
});

/** The conversations of a process, by their call_ref. */
interface Here {
  live: Map<string, ConversationSession>;
  /** Calls that the dialer is handing over, with the signals that came before the session could begin. */
  handingOver: Map<string, SessionSignal[]>;
}

/** Takes the call over and leads its conversation to the end. */
async function converse(
  deps: LiveConversationsDeps,
  { live, handingOver }: Here,
  media: MediaAttachment,
  doc: SessionDoc,
): Promise<void> {
  // the template first: after the lease is taken, no error may prevent settling
  const template = await deps.templates.get(deps.bus, doc.template_id, doc.template_version);
  const open = media.openPipeline(template);
  const signals: SessionSignal[] = [];
  handingOver.set(doc._id, signals);
  const joined = await joinCall(deps, doc._id).finally(() => handingOver.delete(doc._id));
  if (!joined.go) return turnAway(deps, media, doc);
  const answered = answeredCall(joined, deps.clock);
  const session = new ConversationSession(deps, doc, template, answered, open);
  live.set(doc._id, session);
  for (const signal of signals) session.signal(signal);
  await markBegun(deps, doc, answered.at);
  await session.ended;
  live.delete(doc._id);
}

/** How the conversations of a process end when it shuts down. `calls`: those under way, and those that may still join. */
const ending = ({ clock, leave }: LiveConversationsDeps, { live }: Here, running: TaskSet, calls: () => number) => ({
  /** Waits until the last conversation is over and no prepared call can join any more, for at most `grace_ms`. */
  async quiet(grace_ms: number): Promise<void> {
    const untilMs = clock.monotonicMs() + grace_ms;
    for (let left = grace_ms; calls() > 0 && left > 0; left = untilMs - clock.monotonicMs())
      await clock.wait(Math.min(left, LOOK_EVERY_MS));
  },
  /** Ends the conversations that are left with a goodbye of at most `goodbye_ms` (0: none), then cuts them off; resolves when all are settled. */
  async end(goodbye_ms: number): Promise<void> {
    for (const session of live.values()) session.signal(goodbye_ms > 0 ? "shutdown" : "shutdown_now");
    await within(clock, Math.max(goodbye_ms, AT_ONCE_MS), running.drain());
    for (const session of live.values()) session.closeLeg();
    leave();
    await running.drain();
  },
});

/** All live conversations of this process. */
export function liveConversations(deps: LiveConversationsDeps) {
  const { bus, clock, log, node_id, sessions, prepared, most } = deps;
  const here: Here = { live: new Map(), handingOver: new Map() };
  const { live, handingOver } = here;
  const running = taskSet();
  /** True when there is room for no more conversations. */
  const full = (): boolean => running.size >= most;
  /** Calls under way, those included that ring and may join here. */
  const calls = (): number => running.size + prepared.count();

  return {
    /** The session a carrier's socket is for; null: token or signature is wrong. Consumes the token. BUSY: no room. */
    async admit({ provider, token, path, headers }: UpgradeRequest): Promise<SessionDoc | null> {
      if (full()) fail("BUSY", "This process runs as many conversations as it can.");
      const hash = sha256(token);
      if (!(await sessions.peek(hash, provider, clock.now()))) return null;
      // a wrong signature must not consume the token
      const { valid } = await bus.call("dialer.verifyUpgrade", { provider, path, headers });
      return valid ? sessions.redeem(hash, provider, node_id, clock.now()) : null;
    },
    /** Runs the conversation on media that was admitted; never rejects. */
    async run(media: MediaAttachment, doc: SessionDoc): Promise<void> {
      const conversation = converse(deps, here, media, doc).catch(async (error: unknown) => {
        log.error(
          { event: "talk.failed", lead_id: doc.lead_id, claim_no: doc.claim_no, error: errorForLog(error) },
          "A conversation could not begin; the sweep recovers its attempt.",
        );
        if (!live.has(doc._id)) await media.dismiss();
      });
      running.add(conversation);
      prepared.drop(doc._id);
      await conversation;
    },
    /** Signals a conversation, also one whose hand-over is still under way: voicemail detection may overtake it. Unknown calls are ignored. */
    signal(call_ref: string, signal: SessionSignal): void {
      const session = live.get(call_ref);
      if (session) session.signal(signal);
      else handingOver.get(call_ref)?.push(signal);
    },
    full,
    calls,
    /** Whether this call's conversation is here: being handed over, under way, or writing down its end. */
    has: (call_ref: string): boolean => live.has(call_ref) || handingOver.has(call_ref),
    ...ending(deps, here, running, calls),
  };
}

/** The live conversations of a process. */
export type LiveConversations = ReturnType<typeof liveConversations>;
