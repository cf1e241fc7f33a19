import { fillArguments, propertiesOf, wantsMoment } from "./tool-arguments.ts";
import type { Schema } from "./tool-arguments.ts";
import type { Evidence } from "./intent-evidence.ts";
import { TOOL_CONCEPTS } from "./lexicon.ts";
import type { Concept } from "./lexicon.ts";
import { clausesOf, contentStems, wordsOf } from "./english.ts";

/** Which tool fits what was said: concepts, values for its parameters, words in common. Pure. */

/** A function the model may call, as listed in the request. */
export type Tool = Readonly<{ name: string; description: string; parameters: Schema }>;

/** A tool is called from this score on: a bare "yes" reaches it, a word in common with a description does not. */
export const CALL_THRESHOLD = 1.5;

const DATE_BONUS = 1;
const ENUM_BONUS = 3;
const NAME_WORD = 0.75;
const DESCRIPTION_WORD = 0.25;
const MOST_OVERLAP = 1.5;

/** A tool with its score for what was said. */
export type Ranked = Readonly<{ tool: Tool; score: number; concept: Concept | null }>;

/** Tools by how well they fit the evidence, best first; equal ones in the order of the request. */
export function rank(tools: readonly Tool[], evidence: Evidence, text: string): Ranked[] {
  const common = wordsInSeveral(tools);
  const ranked = tools.map((tool) => {
    const concept = conceptOf(tool);
    const explicit = concept === null ? 0 : (evidence.concepts.get(concept) ?? 0);
    const denied = explicit < 0;
    return {
      tool,
      concept,
      score: explicit + (denied ? 0 : bonus(tool, concept, evidence, text) + overlap(tool, evidence, common)),
    };
  });
  return ranked.sort((one, other) => other.score - one.score);
}

/** What a tool is for: its name tells, its description where the name is silent. */
export function conceptOf(tool: Tool): Concept | null {
  const name = wordsOf(tool.name).join(" ");
  const description = clausesOf(tool.description)
    .filter((clause) => !/\bnot\b|\bunless\b|\binstead of\b/.test(clause))
    .join(". ");
  for (const text of [name, description]) {
    for (const [concept, words] of TOOL_CONCEPTS) {
      if (words.test(text)) return concept;
    }
  }
  return null;
}

function bonus(tool: Tool, concept: Concept | null, evidence: Evidence, text: string): number {
  const asksFacts = evidence.questions.length > 0;
  let sum = 0;
  for (const [name, property] of propertiesOf(tool.parameters)) {
    const kind = wantsMoment(name, property);
    if (
      kind !== null &&
      !asksFacts &&
      concept !== "confirm" &&
      evidence.proposed.some((moment) => moment[kind] !== null)
    )
      sum += concept === "move" ? DATE_BONUS : DATE_BONUS + CALL_THRESHOLD;
    if (
      Array.isArray(property["enum"]) &&
      !asksFacts &&
      fillArguments({ properties: { [name]: property }, required: [name] }, { texts: [text], moments: [], keys: null })
        .missing.length === 0
    )
      sum += ENUM_BONUS;
  }
  return sum;
}

function overlap(tool: Tool, evidence: Evidence, common: ReadonlySet<string>): number {
  const name = contentStems(tool.name);
  let sum = 0;
  for (const part of name) if (evidence.stems.has(part) && !common.has(part)) sum += NAME_WORD;
  for (const clause of clausesOf(tool.description)) {
    if (/\bnot\b/.test(clause)) continue;
    for (const part of contentStems(clause))
      if (evidence.stems.has(part) && !common.has(part) && !name.has(part)) sum += DESCRIPTION_WORD;
  }
  return Math.min(sum, MOST_OVERLAP);
}

function wordsInSeveral(tools: readonly Tool[]): Set<string> {
  const counts = new Map<string, number>();
  for (const tool of tools)
    for (const part of contentStems(`${tool.name} ${tool.description}`)) counts.set(part, (counts.get(part) ?? 0) + 1);
  return new Set([...counts].filter(([, count]) => count > 1).map(([part]) => part));
}
