import type { Bus, ResultOf } from "../../../shared/bus.ts";
import type { Clock } from "../../../shared/clock.ts";
import { fail } from "../../../shared/errors.ts";
import { sha256 } from "../../../shared/ids.ts";
import { errorForLog, type Log } from "../../../shared/log.ts";
import type { CompiledTemplates, CompiledTemplate } from "./compiled-templates.ts";
import type { UpgradeRequest } from "../transport/media-server.ts";
import {
  startSession,
  type AnsweredCall,
  type OpenPipeline,
  type ConversationSession,
  type SessionSignal,
  type SessionDeps,
} from "./conversation-session.ts";
import type { SessionDoc } from "./sessions.model.ts";
import type { SessionsRepository } from "./sessions.repository.ts";

/** Tries to ask whether the attempt goes on, and the pause between them. */
const JOIN_TRIES = 3;
const JOIN_PAUSE_MS = 500;
/** Without a goodbye a talk gets this long to end by itself. */
const AT_ONCE_MS = 1000;

/** Media that has come for a talk. */
export interface MediaAttachment {
  /** How one begins to talk on it. NOT_AVAILABLE where the deployment lacks what that needs. */
  openPipeline(ready: CompiledTemplate): OpenPipeline;
  /** Turns it away, politely and within a bound. */
  dismiss(): Promise<void>;
}

/** All live talks of this process. */
export interface LiveConversations {
  /** The session a carrier's socket is for; null: token or signature is wrong. Uses the token up. BUSY: no room. */
  admit(knock: UpgradeRequest): Promise<SessionDoc | null>;
  /** Holds the talk on media that was admitted; never rejects. */
  run(media: MediaAttachment, doc: SessionDoc): Promise<void>;
  /** Tells a talk something from outside, also one whose hand-over is still under way: a verdict on the callee may overtake it. Unknown calls are no fault. */
  signal(call_ref: string, reason: SessionSignal): void;
  /** True when there is room for no more talks. */
  full(): boolean;
  /** Waits until the last talk is over; after `grace_ms` those left are ended, with a goodbye of at most `goodbye_ms` (0: none), and then cut off. */
  drain(grace_ms: number, goodbye_ms: number): Promise<void>;
}

/** What the talks are made with. */
export interface LiveConversationsDeps {
  bus: Bus;
  clock: Clock;
  log: Log;
  node_id: string;
  sessions: SessionsRepository;
  templates: CompiledTemplates;
  sessionDeps: SessionDeps;
  /** Talks held at once, at most. */ most: number;
}

/** Asks the dialler to hand the call over to this node; a passing fault is asked again. */
async function join(
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

/** Resolves when all of them are over, those that begin meanwhile too, or after `ms`. */
async function allOver(held: ReadonlySet<Promise<void>>, clock: Clock, ms: number): Promise<void> {
  const patience = new AbortController();
  const all = async (): Promise<void> => {
    while (held.size > 0) await Promise.all(held);
  };
  await Promise.race([all(), clock.wait(ms, patience.signal)]);
  patience.abort();
}

/** Keeps the talks of a process. */
export function liveConversations({
  bus,
  clock,
  log,
  node_id,
  sessions,
  templates: flows,
  sessionDeps: shop,
  most,
}: LiveConversationsDeps): LiveConversations {
  const live = new Map<string, ConversationSession>();
  /** Talks the dialler has handed over or is handing over, with what was told before they could begin. */
  const joining = new Map<string, SessionSignal[]>();
  const held = new Set<Promise<void>>();
  const full = (): boolean => held.size >= most;

  const talk = async (media: MediaAttachment, doc: SessionDoc): Promise<void> => {
    // the template first: once the baton is taken nothing may stand in the way of settling
    const ready = await flows.get(bus, doc.template_id, doc.template_version);
    const open = media.openPipeline(ready);
    joining.set(doc._id, []);
    const { go, answered_at, machine, beep, tells_beep } = await join({ bus, clock, node_id }, doc._id).catch(
      (error: unknown) => {
        joining.delete(doc._id);
        throw error;
      },
    );
    const told = joining.get(doc._id) ?? [];
    joining.delete(doc._id);
    if (!go) {
      log.info(
        { event: "talk.not_begun", lead_id: doc.lead_id, claim_no: doc.claim_no },
        "Media joined an attempt that is over; hung up.",
      );
      await media.dismiss();
      await sessions.close(doc._id, clock.now());
      return;
    }
    const answered: AnsweredCall = {
      at: answered_at === null ? clock.now() : new Date(answered_at),
      voicemail: machine,
      beep,
      signals_beep: tells_beep,
    };
    const session = startSession(shop, doc, ready, answered, open);
    live.set(doc._id, session);
    for (const word of told) session.signal(word);
    log.info(
      { event: "talk.started", lead_id: doc.lead_id, claim_no: doc.claim_no },
      "Media has joined; the talk begins.",
    );
    await sessions
      .begin(doc._id, answered.at, clock.now())
      .catch((error: unknown) =>
        log.warn(
          { event: "talk.progress_lost", lead_id: doc.lead_id, error: errorForLog(error) },
          "The beginning of a talk could not be written.",
        ),
      );
    await session.ended;
    live.delete(doc._id);
  };

  return {
    async admit({ provider, token, path, headers }) {
      if (full()) fail("BUSY", "This process holds as many talks as it can.");
      const hash = sha256(token);
      if (!(await sessions.peek(hash, provider, clock.now()))) return null;
      // a wrong signature must not use the token up
      const { valid } = await bus.call("dialer.verifyUpgrade", { provider, path, headers });
      return valid ? sessions.redeem(hash, provider, node_id, clock.now()) : null;
    },
    async run(media, doc) {
      const work = talk(media, doc).catch(async (error: unknown) => {
        log.error(
          { event: "talk.failed", lead_id: doc.lead_id, claim_no: doc.claim_no, error: errorForLog(error) },
          "A talk could not be begun as it should; the sweep will see to it.",
        );
        if (!live.has(doc._id)) await media.dismiss();
      });
      held.add(work);
      await work;
      held.delete(work);
    },
    signal(call_ref, reason) {
      const session = live.get(call_ref);
      if (session) session.signal(reason);
      else joining.get(call_ref)?.push(reason);
    },
    full,
    async drain(grace_ms, goodbye_ms) {
      await allOver(held, clock, grace_ms);
      for (const session of live.values()) session.signal(goodbye_ms > 0 ? "shutdown" : "shutdown_now");
      await allOver(held, clock, Math.max(goodbye_ms, AT_ONCE_MS));
      for (const session of live.values()) session.closeLeg();
      while (held.size > 0) await Promise.all(held);
    },
  };
}
