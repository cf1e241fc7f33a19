import type { Evaluation } from "../../../shared/contracts/records/attempt.ts";
import type { Clock } from "../../../shared/time/clock.ts";
import { ModelError, type ChatModel } from "../providers/port.ts";
import { startTimer } from "../../../shared/time/timer.ts";
import { argumentsIn, evaluationOf, failedEvaluation } from "./evaluation-result.ts";
import { evaluationPrompt, isEvaluable, type EvaluationInput } from "./evaluation-prompt.ts";

/** Longest evaluation of one conversation. */
export const EVALUATION_LIMIT_MS = 60_000;
/** Most requests of one evaluation: an answer of the wrong form is requested again. */
const ASKED_AT_MOST = 2;

/** Dependencies of an evaluation. */
export interface EvaluationDeps {
  readonly model: ChatModel;
  readonly clock: Clock;
}

async function ask(model: ChatModel, talk: EvaluationInput, signal: AbortSignal): Promise<Evaluation> {
  const question = evaluationPrompt(talk);
  for (let times = 1; ; times++) {
    const given = argumentsIn(await model.answer(question, { signal, onText: () => undefined }));
    if (given) return evaluationOf(talk, given);
    if (times >= ASKED_AT_MOST) return failedEvaluation("NO_ANSWER");
  }
}

/**
 * Has a model answer a template's evaluators and sum up, in one question. Never rejects: `errors` lists what could not be answered.
 * null: there is nothing to evaluate, or the customer said nothing; then no model is asked.
 */
export async function evaluateConversation(
  { model, clock }: EvaluationDeps,
  talk: EvaluationInput,
  signal: AbortSignal,
): Promise<Evaluation | null> {
  if (!isEvaluable(talk)) return null;
  const late = new AbortController();
  const stopTimer = startTimer(clock, EVALUATION_LIMIT_MS, () => late.abort());
  try {
    return await ask(model, talk, AbortSignal.any([signal, late.signal]));
  } catch (error) {
    if (signal.aborted) return failedEvaluation("SHUTDOWN");
    if (late.signal.aborted) return failedEvaluation("TOO_LATE");
    return failedEvaluation(error instanceof ModelError ? error.code : "INTERNAL");
  } finally {
    stopTimer();
  }
}
