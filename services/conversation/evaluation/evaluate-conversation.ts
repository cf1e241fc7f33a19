import type { Evaluation } from "../../../shared/contracts/records/attempt.ts";
import type { Clock } from "../../../shared/time/clock.ts";
import { ModelError, type ChatModel } from "../providers/port.ts";
import { startDeadline } from "../../../shared/time/deadline.ts";
import { argumentsIn, evaluationOf, failedEvaluation } from "./evaluation-result.ts";
import { evaluationPrompt, type EvaluationInput } from "./evaluation-prompt.ts";

/** Longest evaluation of one conversation. */
export const EVALUATION_LIMIT_MS = 60_000;
/** Most requests of one evaluation: an answer of the wrong form is requested again. */
const ASKED_AT_MOST = 2;

async function ask(model: ChatModel, talk: EvaluationInput, signal: AbortSignal): Promise<Evaluation> {
  const question = evaluationPrompt(talk);
  for (let times = 1; ; times++) {
    const given = argumentsIn(await model.answer(question, { signal, onText: () => undefined }));
    if (given) return evaluationOf(talk, given);
    if (times >= ASKED_AT_MOST) return failedEvaluation("NO_ANSWER");
  }
}

/** Has a model answer a template's evaluators and sum up, in one question. Never rejects: `errors` lists what could not be answered. */
export async function evaluateConversation(
  { model, clock }: { model: ChatModel; clock: Clock },
  talk: EvaluationInput,
  signal: AbortSignal,
): Promise<Evaluation> {
  const limit = startDeadline(clock, EVALUATION_LIMIT_MS, signal);
  try {
    return await ask(model, talk, limit.signal);
  } catch (error) {
    if (signal.aborted) return failedEvaluation("SHUTDOWN");
    if (limit.expired) return failedEvaluation("TOO_LATE");
    return failedEvaluation(error instanceof ModelError ? error.code : "INTERNAL");
  } finally {
    limit.clear();
  }
}
