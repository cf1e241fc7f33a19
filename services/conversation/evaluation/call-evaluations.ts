import { exponentialMs } from "../../../shared/backoff.ts";
import type { Bus } from "../../../shared/bus.ts";
import type { Clock } from "../../../shared/clock.ts";
import type { Evaluation, ConversationFacts } from "../../../shared/contracts/attempt.ts";
import type { TemplateRecord } from "../../../shared/contracts/template.ts";
import { errorForLog, type Log } from "../../../shared/log.ts";
import type { ChatModel } from "../providers/port.ts";
import { evaluateConversation } from "./evaluate-conversation.ts";
import { failedEvaluation } from "./evaluation-result.ts";
import { isEvaluable, type EvaluationInput } from "./evaluation-prompt.ts";

/** Evaluations under way in one process, at most; talks beyond that are not judged. */
const MOST_AT_ONCE = 200;
/** At the end, answers on their way get this long; then their questions are taken back. */
const PATIENCE_MS = 1200;
/** What was taken back is told within this. */
const FAREWELL_MS = 800;
const TELL_TRIES = 3;
const TELL_BASE_MS = 250;
const TELL_MAX_MS = 2000;
const MS_PER_SECOND = 1000;

/** A talk that is over. */
export interface EvaluatedCall {
  readonly lead_id: string;
  readonly claim_no: number;
  readonly template: TemplateRecord;
  readonly talk: ConversationFacts;
}

/** What follows a talk: its evaluation, in time or later. */
export interface CallEvaluations {
  /**
   * Begins to evaluate the talk, waits for the answer as long as the template allows, and settles with what is there (null: nothing). What comes later is added to the lead,
   * once `settle` has told that the attempt is settled. Gives what `settle` gives; rejects only as it does.
   */
  settle(over: EvaluatedCall, settle: (evaluation: Evaluation | null) => Promise<boolean>): Promise<boolean>;
  /** From now on no talk waits for its evaluation, which is added later: the process goes down. */
  stopWaiting(): void;
  /** Ends what is under way: answers that are not there within 2 s are given up, and their leads are told so. */
  close(): Promise<void>;
}

/** What evaluations are made with. `model`: the one that judges talks of this template. `most`: evaluations under way at once. */
export interface CallEvaluationsDeps {
  bus: Bus;
  clock: Clock;
  log: Log;
  model(template: TemplateRecord): ChatModel;
  most?: number;
}

const questionAbout = ({ template, talk }: EvaluatedCall): EvaluationInput => ({
  evaluators: template.evaluators,
  summary: template.summary,
  language: template.language,
  transcription: talk.transcription,
  node_traversal: talk.node_traversal,
  decided: talk.decided,
});

/** True when the talk was held with a person, and its template wants it judged. */
const isJudged = (over: EvaluatedCall): boolean =>
  !over.talk.machine && over.talk.user_turns > 0 && isEvaluable(questionAbout(over));

/** An answer, or null when it is not there after `ms`, or once nobody waits any more. */
async function within(
  answer: Promise<Evaluation>,
  clock: Clock,
  ms: number,
  hurried: AbortSignal,
): Promise<Evaluation | null> {
  if (ms <= 0 || hurried.aborted) return null;
  const enough = new AbortController();
  try {
    return await Promise.race([answer, clock.wait(ms, AbortSignal.any([enough.signal, hurried])).then(() => null)]);
  } finally {
    enough.abort();
  }
}

/** Has one talk judged, and says so in the log: counts, never a word. Never rejects. */
async function judge(
  { clock, log, model }: Pick<CallEvaluationsDeps, "clock" | "log" | "model">,
  over: EvaluatedCall,
  closing: AbortSignal,
): Promise<Evaluation> {
  const { lead_id, claim_no, template } = over;
  const began = clock.monotonicMs();
  try {
    const evaluation =
      (await evaluateConversation({ model: model(template), clock }, questionAbout(over), closing)) ??
      failedEvaluation("NO_ANSWER");
    const { trace_scores, summary, errors } = evaluation;
    log.info(
      {
        event: "talk.evaluated",
        lead_id,
        claim_no,
        ms: Math.round(clock.monotonicMs() - began),
        scores: Object.keys(trace_scores).length,
        summary: summary !== null,
        ...(errors.length === 0 ? {} : { faults: errors.map((e) => e["reason"]) }),
      },
      errors.length === 0 ? "The talk has been judged." : "The talk could not be judged in full; its lead says why.",
    );
    return evaluation;
  } catch (error) {
    // a model that can't even be made is a fault of the evaluation, not of the talk
    log.warn(
      { event: "talk.not_evaluated", lead_id, claim_no, error: errorForLog(error) },
      "The talk could not be judged.",
    );
    return failedEvaluation("INTERNAL");
  }
}

/** Adds a late answer to its lead. Never rejects. */
async function tell(
  { bus, clock, log }: Pick<CallEvaluationsDeps, "bus" | "clock" | "log">,
  { lead_id, claim_no }: EvaluatedCall,
  evaluation: Evaluation,
  closed: AbortSignal,
): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      const { done } = await bus.call("leads.annotate", { lead_id, claim_no, evaluation });
      log.info(
        { event: "talk.evaluation_added", lead_id, claim_no, done },
        done
          ? "What a model made of the talk has been added to its lead."
          : "The lead has gone on to another attempt; what a model made of the talk is dropped.",
      );
      return;
    } catch (error) {
      if (tries >= TELL_TRIES || closed.aborted) {
        log.warn(
          { event: "talk.evaluation_lost", lead_id, claim_no, error: errorForLog(error) },
          "What a model made of a talk could not be added to its lead.",
        );
        return;
      }
      await clock.wait(exponentialMs(tries - 1, TELL_BASE_MS, TELL_MAX_MS), closed);
    }
  }
}

/** Keeps the evaluations of a process. */
export function callEvaluations(parts: CallEvaluationsDeps): CallEvaluations {
  const { clock, most = MOST_AT_ONCE } = parts;
  const late = new Set<Promise<void>>();
  const hurried = new AbortController();
  const closing = new AbortController();
  const closed = new AbortController();
  let underWay = 0;

  const begin = async (over: EvaluatedCall): Promise<Evaluation> => {
    if (closing.signal.aborted) return failedEvaluation("SHUTDOWN");
    if (underWay >= most) return failedEvaluation("TOO_MANY");
    underWay++;
    try {
      return await judge(parts, over, closing.signal);
    } finally {
      underWay--;
    }
  };

  return {
    async settle(over, settle) {
      if (!isJudged(over)) return settle(null);
      const answer = begin(over);
      const inTime = await within(answer, clock, over.template.evaluation_wait_seconds * MS_PER_SECOND, hurried.signal);
      const settled = await settle(inTime);
      // what was told before the attempt is settled would be overwritten by it
      if (inTime === null && settled) {
        const work: Promise<void> = answer
          .then((evaluation) => tell(parts, over, evaluation, closed.signal))
          .finally(() => late.delete(work));
        late.add(work);
      }
      return settled;
    },
    stopWaiting: () => hurried.abort(),
    async close() {
      hurried.abort();
      const enough = new AbortController();
      const all = async (): Promise<void> => {
        while (late.size > 0) await Promise.all(late);
      };
      await Promise.race([all(), clock.wait(PATIENCE_MS, enough.signal)]);
      closing.abort();
      await Promise.race([all(), clock.wait(FAREWELL_MS, enough.signal)]);
      closed.abort();
      enough.abort();
    },
  };
}
