import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import { MS_PER_SECOND } from "../../../shared/time/clock.ts";
import { noFacts, type ConversationFacts } from "../../../shared/contracts/records/attempt.ts";
import type { TemplateRecord } from "../../../shared/contracts/records/template.ts";
import { boundedTalk, cutsIn } from "../../../shared/talk-bounds.ts";
import { errorForLog, type Log } from "../../../shared/process/log.ts";
import type { CallEvaluations } from "../evaluation/call-evaluations.ts";
import type { AttemptLease } from "./attempt-lease.ts";
import type { SessionDoc } from "./sessions.model.ts";
import type { SessionsRepository } from "./sessions.repository.ts";

/** What a settlement is made with. */
export interface SettlementDeps extends Pick<ServiceDeps, "bus" | "clock" | "log"> {
  sessions: SessionsRepository;
  evaluations: Pick<CallEvaluations, "settle">;
  lease: AttemptLease;
}

/** A session that has ended. `lease_lost`: another process settles its attempt. `transferred`: the carrier's call goes on. */
export interface EndedSession {
  call_ref: string;
  attempt: { lead_id: string; claim_no: number };
  template: TemplateRecord;
  facts: ConversationFacts;
  call_id: string | null;
  answered_at: Date;
  transferred: boolean;
  lease_lost: boolean;
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
  log.info(
    {
      event: "talk.ended",
      ended_by: facts.ended_by,
      seconds: Math.round((ended_at.getTime() - answered_at.getTime()) / MS_PER_SECOND),
      turns: facts.transcription.length,
      faults: facts.errors.length,
    },
    "The conversation has ended.",
  );
  const cuts = cutsIn(facts);
  if (cuts.length > 0)
    log.warn(
      { event: "talk.cut", cuts },
      "The conversation left more behind than is kept: the oldest lines of its transcript, or its largest variables, are gone.",
    );
  // the evaluation does not keep the callee waiting
  const end = ended.transferred ? null : endOf(deps, call_ref);
  if (ended.lease_lost) await bestEffort(log, "close", sessions.close(call_ref, ended_at));
  else await settleAttempt(deps, ended, ended_at, () => end !== null && !end.told());
  await end?.asked;
}

/** Asks the dialer once to end the call. Until it has said that it knows, the settlement says so too: with it the end is owed. */
function endOf({ bus, log }: SettlementDeps, call_ref: string): { told(): boolean; asked: Promise<void> } {
  let told = false;
  const ask = async (): Promise<void> => {
    await bus.call("dialer.hangUp", { call_ref });
    told = true;
  };
  return { told: () => told, asked: bestEffort(log, "hang up", ask()) };
}

async function settleAttempt(
  deps: SettlementDeps,
  ended: EndedSession,
  ended_at: Date,
  owesEnd: () => boolean,
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
  const settled = await evaluations.settle({ ...ended.attempt, template: ended.template, talk }, (evaluation) =>
    lease.settle(evaluation === null ? facts : { ...facts, evaluation }, owesEnd, tryToKeep),
  );
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
