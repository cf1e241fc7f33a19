import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import type { CallEndEvidence } from "../../../shared/contracts/dialer.ts";
import {
  CALL_ENDED_BY,
  endRowOf,
  hangupSourceOf,
  type HangUpReason,
  type MediaEnd,
} from "../../../shared/hangup-source.ts";
import { MS_PER_SECOND } from "../../../shared/time/clock.ts";
import { within } from "../../../shared/time/deadline.ts";
import { callKey, errorCodeOf } from "../../../shared/tracing/spans.ts";
import { noFacts, type ConversationFacts, type HangupSource } from "../../../shared/contracts/records/attempt.ts";
import type { TemplateRecord } from "../../../shared/contracts/records/template.ts";
import { boundedTalk, cutsIn } from "../../../shared/talk-bounds.ts";
import { errorForLog, type Log } from "../../../shared/process/log.ts";
import type { CallEvaluations } from "../evaluation/call-evaluations.ts";
import type { AttemptLease } from "./attempt-lease.ts";
import type { SessionDoc } from "./sessions.model.ts";
import type { SessionsRepository } from "./sessions.repository.ts";

/** What the dialer knows of a call that the carrier's side ended is waited for this long. */
const KNOWN_MS = 2500;

/** What a settlement is made with. */
export interface SettlementDeps extends Pick<ServiceDeps, "bus" | "clock" | "log" | "traces"> {
  sessions: SessionsRepository;
  evaluations: Pick<CallEvaluations, "settle">;
  lease: AttemptLease;
}

/** A session that has ended. `lease_lost`: another process settles its attempt. `transferred`: the carrier's call goes on. `media`: how the carrier's side of the media ended before the
 *  conversation did; null: the conversation ended first. */
export interface EndedSession {
  call_ref: string;
  attempt: { lead_id: string; claim_no: number };
  template: TemplateRecord;
  facts: ConversationFacts;
  call_id: string | null;
  answered_at: Date;
  transferred: boolean;
  media: MediaEnd | null;
  lease_lost: boolean;
  /** The traceparent of its lead's first span; undefined: it is not traced. */
  trace: string | undefined;
}

/** Waits for a step that may fail: the sweep and the carrier's own time limit cover a failure. */
async function bestEffort(log: Log, what: string, work: Promise<unknown>): Promise<void> {
  await work.catch((error: unknown) =>
    log.warn(
      { event: "talk.cleanup_failed", what, error: errorForLog(error) },
      "A step at the end of a conversation failed; the sweep repeats it.",
    ),
  );
}

/** Hangs up, keeps the facts, settles the attempt with its evaluation and closes the session. Never rejects. */
export async function settleSession(deps: SettlementDeps, session: EndedSession): Promise<void> {
  const { clock, log, sessions } = deps;
  const facts = boundedTalk(session.facts);
  const ended = { ...session, facts };
  const { call_ref, answered_at } = ended;
  const ended_at = clock.now();
  const { lead_id, claim_no } = ended.attempt;
  deps.traces.span(ended.trace, {
    name: "conversation",
    key: `conversation ${call_ref}`,
    parent: callKey(call_ref),
    began: answered_at,
    ended: ended_at,
    attributes: { lead_id, claim_no, ended_by: facts.ended_by, user_turns: facts.user_turns, machine: facts.machine },
    error: facts.ended_by === "error" ? errorCodeOf(facts.errors.at(-1) ?? {}) : undefined,
  });
  const cuts = cutsIn(facts);
  if (cuts.length > 0)
    log.warn(
      { event: "talk.cut", cuts },
      "The conversation left more behind than is kept: the oldest lines of its transcript, or its largest variables, are gone.",
    );
  // the evaluation does not keep the callee waiting
  const end = ended.transferred ? null : endOf(deps, ended);
  const how = knownEnd(deps, ended, end);
  const logged = how.then(({ source, talk }) => logEnd(log, { ...ended, facts: talk }, source, ended_at));
  if (ended.lease_lost) await bestEffort(log, "close", sessions.close(call_ref, ended_at));
  else await settleAttempt(deps, ended, ended_at, { end, how });
  await logged;
  await end?.asked;
}

/** The line that a conversation is over: who ended it is what its lead says. */
const logEnd = (log: Log, { facts, answered_at }: EndedSession, source: HangupSource, ended_at: Date): void =>
  log.info(
    {
      event: "talk.ended",
      ended_by: CALL_ENDED_BY[endRowOf(source)],
      seconds: Math.round((ended_at.getTime() - answered_at.getTime()) / MS_PER_SECOND),
      turns: facts.transcription.length,
      faults: facts.errors.length,
    },
    "The conversation has ended.",
  );

/** Why a conversation that ended by an error ended its call, by the code of its last error. */
const REASONS: Readonly<Record<string, HangUpReason>> = {
  SHUTDOWN: "shutdown",
  LEASE_LOST: "baton_lost",
  MEDIA_FAILED: "media_failed",
  MEDIA_OF_ANOTHER_CALL: "media_failed",
  SPEECH_FAILED: "speech_failed",
};

/** Why the conversation ended its call, where that is not part of a normal course; null: it is, or the conversation did not end it. Pure. */
export function reasonOf({ facts, media }: Pick<EndedSession, "facts" | "media">): HangUpReason | null {
  if (facts.ended_by !== "error" || media !== null) return null;
  return REASONS[String(facts.errors.at(-1)?.["code"])] ?? "conversation_failed";
}

/** What the dialer was asked at the end. `told`: it knows that the call is to end. `known`: what it knows of the call's end, and `machine` whether voicemail answered, once it has answered. */
interface AskedEnd {
  /** It was asked who answered, too. */
  verdict: boolean;
  told(): boolean;
  known(): CallEndEvidence | null;
  machine(): boolean;
  asked: Promise<void>;
}

/** The facts of a conversation whose media failed, with the error that says so: the other side did not end it. */
export function withMediaFault(
  talk: ConversationFacts,
  known: CallEndEvidence | null,
  lost: boolean,
): ConversationFacts {
  const node = talk.node_traversal.at(-1) ?? "";
  const detail = known?.media_fault;
  if (detail !== undefined && talk.ended_by === "customer")
    return { ...talk, ended_by: "error", errors: [...talk.errors, { code: "MEDIA_FAILED", node, detail }] };
  return lost ? { ...talk, errors: [...talk.errors, { code: "MEDIA_LOST", node }] } : talk;
}

/** Answers of a person after which a conversation was no voicemail's, whatever the carrier says. */
const ANSWERS_OF_A_PERSON = 2;

/** Sooner after the answer no carrier knows who answered. */
const VERDICT_MS = 5000;

/** Whether the carrier's word on who answered may change what becomes of the attempt, and should have come. */
const isUnsure = ({ facts: { machine, decided, user_turns }, answered_at }: EndedSession, now: Date): boolean =>
  !machine &&
  decided === null &&
  user_turns < ANSWERS_OF_A_PERSON &&
  now.getTime() - answered_at.getTime() >= VERDICT_MS;

/** Asks the dialer once to end the call. Until it has said that it knows, the settlement says so too: with it the end is owed. */
function endOf({ bus, clock, log }: SettlementDeps, session: EndedSession): AskedEnd {
  const { call_ref, media } = session;
  const verdict = isUnsure(session, clock.now());
  const reason = reasonOf(session);
  let told = false;
  let known: CallEndEvidence | null = null;
  let machine = false;
  const ask = async (): Promise<void> => {
    const answer = await bus.call("dialer.hangUp", {
      call_ref,
      ...(reason === null ? {} : { reason }),
      ...(media === null ? {} : { media }),
      ...(verdict ? { verdict } : {}),
    });
    told = true;
    known = answer.known ?? null;
    machine = answer.machine === true;
  };
  return {
    verdict,
    told: () => told,
    known: () => known,
    machine: () => machine,
    asked: bestEffort(log, "hang up", ask()),
  };
}

/** Who ended the call, from what the conversation saw and the dialer knows. Pure. */
export const sessionHangupSource = (
  session: Pick<EndedSession, "facts" | "media">,
  known: CallEndEvidence | null,
): HangupSource =>
  hangupSourceOf({
    answered: true,
    end: known?.end ?? "completed",
    carrier: known?.carrier ?? null,
    asked: known?.asked ?? (known?.media_fault === undefined ? reasonOf(session) : "media_failed"),
    media: session.media,
    talk: session.facts.ended_by,
  });

/** How a call ended: who ended it, and the facts of its conversation with what only the dialer knows of its media. */
interface KnownEnd {
  source: HangupSource;
  talk: ConversationFacts;
}

/** How the call ended. The dialer may know of an end by us, or by the carrier, that looked like the callee's here, or that voicemail answered: that is waited for. */
async function knownEnd(
  { clock }: Pick<SettlementDeps, "clock">,
  ended: EndedSession,
  end: AskedEnd | null,
): Promise<KnownEnd> {
  if (end !== null && (ended.media !== null || end.verdict)) await within(clock, KNOWN_MS, end.asked);
  const evidence = end?.known() ?? null;
  const source = sessionHangupSource(ended, evidence);
  return { source, talk: withMediaFault(ended.facts, evidence, source.by === "carrier" && ended.media === "broken") };
}

async function settleAttempt(
  deps: SettlementDeps,
  ended: EndedSession,
  ended_at: Date,
  { end, how }: { end: AskedEnd | null; how: Promise<KnownEnd> },
): Promise<void> {
  const { clock, log, sessions, evaluations, lease } = deps;
  const { call_ref, call_id, facts: talk } = ended;
  let kept = false;
  const keep = async (): Promise<void> => {
    if (kept) return;
    await sessions.ended(call_ref, { talk, call_id, ended_at }, ended_at);
    kept = true;
  };
  const tryToKeep = (): Promise<void> => bestEffort(log, "keep", keep());
  await tryToKeep();
  const facts = {
    ...noFacts("completed"),
    call_id,
    answered_at: ended.answered_at.toISOString(),
    ended_at: ended_at.toISOString(),
    machine: talk.machine,
    talk,
  };
  const settled = await evaluations.settle({ ...ended.attempt, template: ended.template, talk }, async (evaluation) => {
    const { source: hangup_source, talk: heard } = await how;
    const known = { ...facts, talk: heard, hangup_source, machine: facts.machine || end?.machine() === true };
    const owesEnd = (): boolean => end !== null && !end.told();
    return lease.settle(evaluation === null ? known : { ...known, evaluation }, owesEnd, tryToKeep);
  });
  if (settled) await bestEffort(log, "close", sessions.close(call_ref, clock.now()));
  lease.drop();
}

/** The facts of a session whose process died before it settled; null: nothing was said. One that was cut off says so. */
export function recoveredFacts(doc: SessionDoc | null): ConversationFacts | null {
  if (!doc?.talk) return null;
  const talk = boundedTalk(doc.talk);
  if (doc.state === "ENDED_UNSETTLED" || doc.state === "CLOSED") return talk;
  const node = talk.node_traversal.at(-1) ?? "";
  return { ...talk, ended_by: "error", errors: [...talk.errors, { code: "TALK_CUT_OFF", node }] };
}
