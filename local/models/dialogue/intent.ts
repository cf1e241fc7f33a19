import { descriptionOf, fillArguments, isFreeText, propertiesOf, wantsMoment } from "./tool-arguments.ts";
import type { Said } from "./tool-arguments.ts";
import { weigh } from "./intent-evidence.ts";
import type { Evidence, Mood } from "./intent-evidence.ts";
import type { Concept } from "./lexicon.ts";
import { keypadMeanings, keysPressed } from "./system-prompt.ts";
import { isOffered, momentsIn } from "./day-and-time.ts";
import type { Moment } from "./day-and-time.ts";
import { CALL_THRESHOLD, rank } from "./tool-ranking.ts";
import type { Ranked, Tool } from "./tool-ranking.ts";
import { wordsOf } from "./english.ts";

/** What is on the table when a person speaks. */
export type Situation = Readonly<{
  /** The person's latest words. */
  text: string;
  /** What the person said earlier in the same step, latest first. */
  earlier: readonly string[];
  tools: readonly Tool[];
  /** The system prompt; keypad meanings and the offered day are read from it. */
  prompt: string;
  /** The question that waits for an answer, null when none. */
  question: string | null;
}>;

/** What the person meant. */
export type Meaning =
  | Readonly<{ kind: "call"; tool: Tool; values: Readonly<Record<string, unknown>> }>
  | Readonly<{ kind: "missing"; tool: Tool; parameter: string }>
  | Readonly<{ kind: "question"; question: string }>
  | Readonly<{ kind: "no_such_tool"; concept: Concept }>
  | Readonly<{ kind: Exclude<Mood, "none"> | "silent" | "unclear" }>;

const SILENCE = /^\s*$|^\s*[[(<][^\])>]*\b(?:silen\w*|no (?:answer|input|speech|reply))\b[^\])>]*[\])>]\s*$/i;
const OPEN_QUESTION = /^(?:which|what|when|where|who|how|why)\b/i;
const KEY_BONUS = 3;

/** Understands what a person said in the light of the tools at hand. Same input, same answer. */
export function understand(situation: Situation): Meaning {
  if (SILENCE.test(situation.text)) return { kind: "silent" };
  const keys = keysPressed(situation.text);
  if (keys !== null) return understandKeys(keys, situation);
  const evidence = weigh(
    situation.text,
    `${situation.prompt}\n${situation.question ?? ""}`,
    OPEN_QUESTION.test(situation.question ?? ""),
  );
  const ranked = rank(situation.tools, evidence, situation.text);
  const best = ranked[0];
  const loudest = loudestConcept(evidence);
  const asking = evidence.questions[0];
  if (best !== undefined && best.score >= CALL_THRESHOLD && !unanswerable(best, loudest))
    return callOrAsk(ranked, saidIn(situation, evidence, null));
  if (asking !== undefined && !["small_talk", "repeat"].includes(evidence.mood))
    return { kind: "question", question: asking };
  if (
    loudest !== null &&
    loudest.score >= CALL_THRESHOLD &&
    evidence.mood !== "voicemail" &&
    (loudest.concept !== "opt_out" || evidence.mood === "none")
  )
    return refusalOf(loudest.concept, situation.tools);
  if (evidence.mood !== "none") return { kind: evidence.mood };
  return freeAnswer(situation, evidence) ?? { kind: "unclear" };
}

/** A person who declines a day while a tool waits for one is asked for another; else no tool fits. */
function refusalOf(concept: Concept, tools: readonly Tool[]): Meaning {
  for (const tool of concept === "move" ? tools : []) {
    const parameter = propertiesOf(tool.parameters).find(
      ([name, property]) => wantsMoment(name, property) === "day",
    )?.[0];
    if (parameter !== undefined) return { kind: "missing", tool, parameter };
  }
  return { kind: "no_such_tool", concept };
}

/** Fills a tool the request insists on (`tool_choice`), leaving out nothing that was said. */
export function fillFor(tool: Tool, situation: Situation): Readonly<Record<string, unknown>> {
  const evidence = weigh(situation.text, situation.prompt);
  return fillArguments(tool.parameters, saidIn(situation, evidence, keysPressed(situation.text))).values;
}

/** Tools by how well they fit the person's words, best first; equal ones in the order of the request. */
export function rankTools(situation: Situation): Tool[] {
  return rank(situation.tools, weigh(situation.text, situation.prompt), situation.text).map(({ tool }) => tool);
}

function loudestConcept(evidence: Evidence): Readonly<{ concept: Concept; score: number }> | null {
  const loudest = [...evidence.concepts].sort((one, other) => other[1] - one[1])[0];
  return loudest === undefined ? null : { concept: loudest[0], score: loudest[1] };
}

/** The person clearly wants something no tool does: the next best tool must not be taken for it. */
function unanswerable(best: Ranked, loudest: Readonly<{ concept: Concept; score: number }> | null): boolean {
  return loudest !== null && best.concept !== null && loudest.concept !== best.concept && loudest.score > best.score;
}

function callOrAsk(ranked: readonly Ranked[], said: Said): Meaning {
  const best = ranked[0];
  if (best === undefined) return { kind: "unclear" };
  const fillings = ranked
    .filter(({ score, concept }) => score >= CALL_THRESHOLD && concept === best.concept)
    .map(({ tool }) => ({ tool, ...fillArguments(tool.parameters, said) }));
  const complete = fillings.find(({ missing }) => missing.length === 0);
  if (complete !== undefined) return { kind: "call", tool: complete.tool, values: complete.values };
  return { kind: "missing", tool: best.tool, parameter: fillings[0]?.missing[0] ?? "" };
}

/** One tool that takes the person's own words, after an open question: the answer is the argument. */
function freeAnswer(situation: Situation, evidence: Evidence): Meaning | null {
  if (
    situation.question === null ||
    !/^(?:which|what|how|why|who|where|could you (?:please )?(?:tell|describe))/i.test(situation.question)
  )
    return null;
  const takers = situation.tools.filter((tool) => {
    const required = tool.parameters["required"];
    return (
      Array.isArray(required) &&
      propertiesOf(tool.parameters).some(([name, property]) => required.includes(name) && isFreeText(name, property))
    );
  });
  const [taker] = takers;
  if (taker === undefined || takers.length > 1) return null;
  const { values, missing } = fillArguments(taker.parameters, saidIn(situation, evidence, null));
  return missing.length === 0 ? { kind: "call", tool: taker, values } : null;
}

/** A key stands for what the prompt or a tool's description says it does. */
function understandKeys(keys: string, situation: Situation): Meaning {
  const described = situation.tools.filter((tool) => keypadMeanings(tool.description).has(keys));
  const meaning = keypadMeanings(situation.prompt).get(keys);
  const evidence = weigh(meaning ?? "", "");
  const ranked = rank(situation.tools, evidence, meaning ?? "")
    .map((one) => ({ ...one, score: one.score + (described.includes(one.tool) ? KEY_BONUS : 0) }))
    .sort((one, other) => other.score - one.score);
  const said: Said = { texts: [], moments: [], keys };
  if (ranked[0] !== undefined && ranked[0].score >= CALL_THRESHOLD) return callOrAsk(ranked, said);
  const takers = situation.tools
    .map((tool) => ({ tool, ...fillArguments(tool.parameters, said) }))
    .filter(({ values, missing }) => missing.length === 0 && Object.keys(values).length > 0);
  const [taker] = takers;
  return taker !== undefined && takers.length === 1
    ? { kind: "call", tool: taker.tool, values: taker.values }
    : { kind: "unclear" };
}

function saidIn(situation: Situation, evidence: Evidence, keys: string | null): Said {
  const offered = `${situation.prompt}\n${situation.question ?? ""}`;
  const before = situation.earlier
    .flatMap((text) => momentsIn(text))
    .filter((moment) => !moment.excluded && !isOffered(moment, offered));
  return { texts: [situation.text, ...situation.earlier], moments: [...wishes(evidence), ...before], keys };
}

/** New days first; the day on the table counts as a wish only when nothing speaks against it. */
function wishes(evidence: Evidence): readonly Moment[] {
  if (evidence.proposed.length > 0 || (evidence.concepts.get("move") ?? 0) > 0) return evidence.proposed;
  return evidence.moments.filter((moment) => !moment.excluded);
}

/** What a missing argument is about, for asking: its description, else its name. */
export function parameterTopic(tool: Tool, parameter: string): string {
  const property = propertiesOf(tool.parameters).find(([name]) => name === parameter)?.[1];
  const described = property === undefined ? "" : descriptionOf(property);
  return described === "" ? wordsOf(parameter).join(" ") : described;
}
