import { propertiesOf } from "./tool-arguments.ts";
import type { Schema } from "./tool-arguments.ts";
import type { Tool } from "./tool-ranking.ts";

/** Evaluates a conversation that is over, as the model is asked to after it: the same transcript always gets the same scores. Pure. */

/** The function that such a judgement is given through. */
const ANSWER_TOOL = "report_evaluation";
const SUMMARY = "_summary";
const LEAST = 0;
const MOST = 10;

/** The tool to answer with, where all that is offered is the one for judgements. */
export const evaluationTool = (tools: readonly Tool[]): Tool | null =>
  tools.length === 1 && tools[0]?.name === ANSWER_TOOL ? tools[0] : null;

/** Its arguments: full marks where the conversation reached an outcome, else the middle of each scale, rounded down; the summary gives the customer's last words and the outcome. */
export function evaluationOf(tool: Tool, question: string): Readonly<Record<string, unknown>> {
  const outcome = /^Outcome: (.+?)\.?$/m.exec(question)?.[1] ?? "none was reached";
  const reached = outcome !== "none was reached";
  const last = [...question.matchAll(/^CUSTOMER: (.*)$/gm)].at(-1)?.[1] ?? "";
  return Object.fromEntries(
    propertiesOf(tool.parameters).map(([name, property]) => [
      name,
      name === SUMMARY ? `The customer said: «${last}». Outcome: ${outcome}.` : mark(property, reached),
    ]),
  );
}

function mark(property: Schema, reached: boolean): number {
  const least = typeof property["minimum"] === "number" ? property["minimum"] : LEAST;
  const most = typeof property["maximum"] === "number" ? property["maximum"] : Math.max(least, MOST);
  if (reached) return most;
  // of a scale that only knows yes and no, no
  return Math.max(least, Math.floor((least + most) / 2));
}
