import { OUTCOME_WORDS } from "../../../shared/contracts/records/attempt.ts";
import type { TemplateInput } from "../../../shared/contracts/records/template.ts";
import type { ValidationIssue } from "../../../shared/errors.ts";
import { functionsOf } from "./template-variables.ts";

/** What is wrong with the words that a template decides with. Pure. */

const OURS: ReadonlySet<string> = new Set(OUTCOME_WORDS);

/** Every place of a template that decides the outcome, and its word. */
function decisions(t: Pick<TemplateInput, "nodes" | "global_functions">): { path: string; word: string | undefined }[] {
  const inNodes = t.nodes.flatMap((node, i) => [
    ...(node.transitions ?? []).map((rule, j) => ({
      path: `nodes.${i}.transitions.${j}.outcome`,
      word: rule.outcome,
    })),
    ...(["on_enter", "on_exit"] as const).flatMap((when) =>
      (node[when] ?? []).map((action, j) => ({
        path: `nodes.${i}.${when}.${j}.outcome`,
        word: action.type === "outcome" ? action.outcome : undefined,
      })),
    ),
  ]);
  return [...functionsOf(t).map(({ path, fn }) => ({ path: `${path}.outcome`, word: fn.outcome })), ...inNodes];
}

/** Decisions with a word that means something else already: what a reader, a report and a retry rule would take for our own. */
export const outcomeIssues = (t: Pick<TemplateInput, "nodes" | "global_functions">): ValidationIssue[] =>
  decisions(t).flatMap(({ path, word }) =>
    word === undefined || !OURS.has(word)
      ? []
      : [
          {
            path,
            message: `${word} is one of the service's own outcomes and says how a call went; choose another word for what the customer decided, such as customer_${word.toLowerCase()}`,
          },
        ],
  );
