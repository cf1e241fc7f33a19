import { MAX_SUMMARY_CHARS, type Evaluation } from "../../../shared/contracts/records/attempt.ts";
import { recordIn } from "../../../shared/json.ts";
import type { ModelAnswer } from "../providers/port.ts";
import { ANSWER_TOOL, scaleOf, SUMMARY_ARGUMENT, type EvaluationInput } from "./evaluation-prompt.ts";

/** Why an answer is missing: the model's error code, or ours. */
export type EvaluationReason =
  | "NO_ANSWER"
  | "MISSING"
  | "OUT_OF_SCALE"
  | "TOO_MANY"
  | "TOO_LATE"
  | "SHUTDOWN"
  | (string & {});

/** An entry of an evaluation's errors; `evaluator` absent: it is about all that was asked. */
export const evaluationError = (reason: EvaluationReason, evaluator?: string): Record<string, unknown> => ({
  code: "EVALUATION_FAILED",
  reason,
  ...(evaluator === undefined ? {} : { evaluator }),
});

/** An evaluation of which nothing came. */
export const failedEvaluation = (reason: EvaluationReason): Evaluation => ({
  trace_scores: {},
  summary: null,
  errors: [evaluationError(reason)],
});

/** JSON in an answer of words: alone, or in a fence. */
const OBJECT_IN_TEXT = /\{[\s\S]*\}/;
const NUMBER_IN_TEXT = /^\s*-?\d{1,9}(?:\.\d{1,9})?\s*$/;

/** The arguments a model answered with; null when it did not answer what was asked. Some models write the call down instead of making it. */
export function argumentsIn({ calls, text }: Pick<ModelAnswer, "calls" | "text">): Record<string, unknown> | null {
  const call = calls.find((c) => c.name === ANSWER_TOOL);
  if (call) return recordIn(call.arguments);
  return recordIn(OBJECT_IN_TEXT.exec(text)?.[0] ?? "");
}

const numberOf = (value: unknown): number | null => {
  const number = typeof value === "string" && NUMBER_IN_TEXT.test(value) ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : null;
};

/** Scores and summary out of what a model answered: what is missing or off its scale is an error, never a score. */
export function evaluationOf(
  { evaluators, summary }: Pick<EvaluationInput, "evaluators" | "summary">,
  given: Readonly<Record<string, unknown>>,
): Evaluation {
  const of = (name: string): unknown => (Object.hasOwn(given, name) ? given[name] : undefined);
  const errors: Record<string, unknown>[] = [];
  const scores = new Map<string, number>();
  for (const evaluator of evaluators) {
    const score = numberOf(of(evaluator.name));
    const { min, max } = scaleOf(evaluator);
    if (score === null) errors.push(evaluationError("MISSING", evaluator.name));
    else if (score < min || score > max) errors.push(evaluationError("OUT_OF_SCALE", evaluator.name));
    else scores.set(evaluator.name, score);
  }
  const told = of(SUMMARY_ARGUMENT);
  const words = summary && typeof told === "string" ? told.trim().slice(0, MAX_SUMMARY_CHARS) : "";
  if (summary && words === "") errors.push(evaluationError("MISSING", SUMMARY_ARGUMENT));
  return { trace_scores: Object.fromEntries(scores), summary: words === "" ? null : words, errors };
}
