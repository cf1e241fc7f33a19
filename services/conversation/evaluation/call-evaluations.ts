import { exponentialMs } from "../../../shared/time/backoff.ts";
import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import { MS_PER_SECOND, type Clock } from "../../../shared/time/clock.ts";
import type { Evaluation, ConversationFacts } from "../../../shared/contracts/records/attempt.ts";
import { taskSet, within } from "../../../shared/time/deadline.ts";
import type { TemplateRecord } from "../../../shared/contracts/records/template.ts";
import { errorForLog } from "../../../shared/process/log.ts";
import type { ChatModel } from "../providers/port.ts";
import { evaluateConversation } from "./evaluate-conversation.ts";
import { failedEvaluation } from "./evaluation-result.ts";
import { isEvaluable, type EvaluationInput } from "./evaluation-prompt.ts";

/** Evaluations under way in one process, at most; conversations beyond that are not evaluated. */
const MOST_AT_ONCE = 200;
/** At shutdown, answers on their way get this long; then their requests are aborted. */
const FINISH_MS = 1200;
/** Their leads are annotated within this. */
const ABORTED_MS = 800;
const ANNOTATE_TRIES = 3;
const ANNOTATE_BASE_MS = 250;
const ANNOTATE_MAX_MS = 2000;

/** A conversation that is over, and its attempt. */
export interface EvaluatedCall {
  readonly lead_id: string;
  readonly claim_no: number;
  readonly template: TemplateRecord;
  readonly talk: ConversationFacts;
}

/** What evaluations are made with. `model`: the one that evaluates conversations of this template. `most`: evaluations under way at once. */
export interface CallEvaluationsDeps extends Pick<ServiceDeps, "bus" | "clock" | "log"> {
  model(template: TemplateRecord): ChatModel;
  most?: number;
}

const inputOf = ({ template, talk }: EvaluatedCall): EvaluationInput => ({
  evaluators: template.evaluators,
  summary: template.summary,
  language: template.language,
  transcription: talk.transcription,
  node_traversal: talk.node_traversal,
  decided: talk.decided,
});

/** True when a person took part, and the template has something to evaluate. */
const isEvaluated = (call: EvaluatedCall): boolean =>
  !call.talk.machine && call.talk.user_turns > 0 && isEvaluable(inputOf(call));

/** An answer, or null when it is not there after `ms`, or once waiting is over. */
async function answerWithin(
  answer: Promise<Evaluation>,
  clock: Clock,
  ms: number,
  waitingOver: AbortSignal,
): Promise<Evaluation | null> {
  if (ms <= 0 || waitingOver.aborted) return null;
  const enough = new AbortController();
  try {
    return await Promise.race([answer, clock.wait(ms, AbortSignal.any([enough.signal, waitingOver])).then(() => null)]);
  } finally {
    enough.abort();
  }
}

/** Evaluates one conversation and logs counts, never a word of it. Never rejects. */
async function evaluate(
  { clock, log, model }: Pick<CallEvaluationsDeps, "clock" | "log" | "model">,
  call: EvaluatedCall,
  closing: AbortSignal,
): Promise<Evaluation> {
  const { lead_id, claim_no, template } = call;
  const began = clock.monotonicMs();
  try {
    const evaluation = await evaluateConversation({ model: model(template), clock }, inputOf(call), closing);
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
      errors.length === 0
        ? "The conversation has been evaluated."
        : "The conversation could not be evaluated in full; its lead says why.",
    );
    return evaluation;
  } catch (error) {
    // a model that can't even be made is an error of the evaluation, not of the conversation
    log.warn(
      { event: "talk.not_evaluated", lead_id, claim_no, error: errorForLog(error) },
      "The conversation could not be evaluated.",
    );
    return failedEvaluation("INTERNAL");
  }
}

/** Adds a late answer to its lead. Never rejects. */
async function annotate(
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
          ? "The evaluation has been added to its lead."
          : "The lead has gone on to another attempt; the evaluation is dropped.",
      );
      return;
    } catch (error) {
      if (tries >= ANNOTATE_TRIES || closed.aborted) {
        log.warn(
          { event: "talk.evaluation_lost", lead_id, claim_no, error: errorForLog(error) },
          "An evaluation could not be added to its lead.",
        );
        return;
      }
      await clock.wait(exponentialMs(tries - 1, ANNOTATE_BASE_MS, ANNOTATE_MAX_MS), closed);
    }
  }
}

/** Evaluates conversations once they are over, before the settlement or after it. */
export function callEvaluations(parts: CallEvaluationsDeps) {
  const { clock, most = MOST_AT_ONCE } = parts;
  const late = taskSet();
  const waitingOver = new AbortController();
  const closing = new AbortController();
  const closed = new AbortController();
  let underWay = 0;

  const begin = async (call: EvaluatedCall): Promise<Evaluation> => {
    if (closing.signal.aborted) return failedEvaluation("SHUTDOWN");
    if (underWay >= most) return failedEvaluation("TOO_MANY");
    underWay++;
    try {
      return await evaluate(parts, call, closing.signal);
    } finally {
      underWay--;
    }
  };

  return {
    /**
     * Begins to evaluate the conversation, waits for the answer as long as the template allows, and settles with what is there (null: nothing). What comes later is added to the lead,
     * once `settle` has settled the attempt. Gives what `settle` gives; rejects only as it does.
     */
    async settle(call: EvaluatedCall, settle: (evaluation: Evaluation | null) => Promise<boolean>): Promise<boolean> {
      if (!isEvaluated(call)) return settle(null);
      const answer = begin(call);
      const inTime = await answerWithin(
        answer,
        clock,
        call.template.evaluation_wait_seconds * MS_PER_SECOND,
        waitingOver.signal,
      );
      const settled = await settle(inTime);
      // the settlement would overwrite an annotation that is written before it
      if (inTime === null && settled) {
        late.add(answer.then((evaluation) => annotate(parts, call, evaluation, closed.signal)));
      }
      return settled;
    },
    /** From now on no conversation waits for its evaluation, which is added later: the process shuts down. */
    stopWaiting: (): void => waitingOver.abort(),
    /** Ends what is under way: requests without an answer within 2 s are aborted, and their leads record it. */
    async close(): Promise<void> {
      waitingOver.abort();
      await within(clock, FINISH_MS, late.drain());
      closing.abort();
      await within(clock, ABORTED_MS, late.drain());
      closed.abort();
    },
  };
}

/** The evaluations of a process. */
export type CallEvaluations = ReturnType<typeof callEvaluations>;
