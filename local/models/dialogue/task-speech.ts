import { escapePattern, openQuestion, toSecondPerson, yesNoQuestion } from "./grammar.ts";
import { SPEECH_VERBS } from "./system-prompt.ts";
import type { Prompt } from "./system-prompt.ts";
import { capitalise, endWith } from "./english.ts";

/** Turns a node's task ("Greet Ada and ask whether …") into what a caller would say. Pure. */

/** What to say now, and the question in it that waits for an answer (null when there is none). */
export type Speech = Readonly<{ text: string; question: string | null }>;

type Scene = Readonly<{ name: string | null; prompt: Prompt }>;
type Rule = Readonly<{ pattern: RegExp; say: (match: RegExpExecArray, scene: Scene) => string }>;

const WHOM =
  "(?:(?:them|him|her|you|the (?:customer|caller|person|patient|client|user|recipient|guest)|[A-Z][\\w'’-]*(?: [A-Z][\\w'’-]*)*) )?";
const ADVERBS = "(?:again |once more |politely |kindly |briefly |warmly |shortly )?";
const DAY_THAT_SUITS =
  /^(?:the|a|another|which|what)? ?(?:new |other |better |different )?(?:delivery |appointment )?(day|date|time|moment)(?: of delivery)?(?: (?:that|which)? ?(?:you )?(?:would |will |might )?(?:suits?|works?|fits?|prefers?|likes?|convenient|is (?:best|better)).*)?$/i;

const heard = (match: RegExpExecArray, scene: Scene, group = 1): string =>
  toSecondPerson((match[group] ?? "").trim(), scene.name);
const rule = (pattern: string, say: Rule["say"]): Rule => ({ pattern: new RegExp(`^${pattern}$`, "i"), say });
// The object of a verb may be a name, which only its capital letter tells apart, so these rules mind the case.
const exact = (pattern: string, say: Rule["say"]): Rule => ({ pattern: new RegExp(`^${pattern}$`), say });

const RULES: readonly Rule[] = [
  rule(`(?:say|ask|tell \\w+)[^"“]*?["“]([^"”]+)["”].*`, (match) => (match[1] ?? "").trim()),
  rule(`say: ?(.+)`, (match) => endWith(match[1] ?? "", ".")),
  rule(`(?:greet|welcome) (.+)`, (match, scene) =>
    scene.name === null || !(match[1] ?? "").includes(scene.name) ? "Hello." : `Hello ${scene.name}.`,
  ),
  rule(`introduce yourself.*`, (_match, scene) => introduction(scene.prompt) ?? "I am an automated assistant."),
  rule(`thank \\S+(?: \\S+)? for (.+)`, (match, scene) => `Thank you for ${heard(match, scene)}.`),
  rule(`thank\\b.*`, () => "Thank you."),
  rule(`(?:say (?:good ?bye|bye)|bid .* (?:good ?bye|farewell))\\b.*`, () => "Goodbye!"),
  rule(`wish ${WHOM}(.+)`, (match) => `Have ${match[1] ?? ""}!`),
  rule(`apologi[sz]e(?: to \\w+)?(?: (for|that) (.+))?`, (match, scene) =>
    match[1] === undefined ? "I am sorry." : `I am sorry ${match[1]} ${heard(match, scene, 2)}.`,
  ),
  exact(`[Aa]sk ${WHOM}${ADVERBS}(?:whether|if) (.+)`, (match, scene) => yesNoQuestion(heard(match, scene))),
  exact(`[Aa]sk ${WHOM}${ADVERBS}for (.+)`, (match, scene) => askFor(heard(match, scene))),
  exact(`[Aa]sk ${WHOM}${ADVERBS}to (.+)`, (match, scene) => `Could you please ${heard(match, scene)}?`),
  exact(`[Aa]sk ${WHOM}${ADVERBS}about (.+)`, (match, scene) => `Could you tell me about ${heard(match, scene)}?`),
  exact(`[Aa]sk ${WHOM}${ADVERBS}((?:which|what|when|where|who|whom|whose|why|how)\\b.+)`, (match, scene) =>
    wh(heard(match, scene)),
  ),
  exact(
    `[Rr]emind ${WHOM}(of|about|to) (.+)`,
    (match, scene) => `I would like to remind you ${match[1] ?? "of"} ${heard(match, scene, 2)}.`,
  ),
  exact(
    `(?:[Tt]ell|[Ii]nform|[Aa]dvise) ${WHOM}(?:about|of) (.+)`,
    (match, scene) => `I am calling about ${heard(match, scene)}.`,
  ),
  exact(`(?:[Tt]ell|[Aa]dvise|[Ii]nvite) ${WHOM}to (.+)`, (match, scene) => `Please ${heard(match, scene)}.`),
  exact(`(?:[Tt]ell|[Ii]nform|[Rr]emind|[Aa]ssure|[Aa]dvise|[Ll]et) ${WHOM}(?:know )?(?:that )?(.+)`, (match, scene) =>
    statement(heard(match, scene)),
  ),
  rule(`(?:say|explain|mention|announce|point out|confirm|repeat|state)(?: to \\w+)? that (.+)`, (match, scene) =>
    statement(heard(match, scene)),
  ),
  rule(`offer to (.+)`, (match, scene) => `I can ${heard(match, scene)}.`),
  rule(
    `(?:offer|suggest|propose) (?:them |him |her )?(.+)`,
    (match, scene) => `Would you like ${heard(match, scene)}?`,
  ),
  rule(`(?:collect|request|obtain|get|find out|check|verify) (whether|if) (.+)`, (match, scene) =>
    yesNoQuestion(heard(match, scene, 2)),
  ),
  rule(`(?:find out|check) ((?:which|what|when|where|who|how)\\b.+)`, (match, scene) => wh(heard(match, scene))),
  rule(`(?:collect|request|obtain|get|find out) (.+)`, (match, scene) => askFor(heard(match, scene))),
  rule(`confirm (.+?)(?: with (?:them|him|her))?`, (match, scene) => `Do you confirm ${heard(match, scene)}?`),
];

const CONJUNCT = new RegExp(
  `(?:,? (?:and|then|and then)(?: (?:then|also|politely|briefly|finally))?|[,;]) (?=(?:${SPEECH_VERBS})\\b(?! (?:is|are|or|and)\\b))`,
  "i",
);
const LEADING =
  /^(?:[-*•]|\d+[.)])?\s*(?:(?:first|then|now|next|finally|please|also|politely|briefly|warmly|kindly|your task is to|your task:|task:|you should|you must|you need to|in this step)[,:]? )*/i;

/**
 * Speaks a prompt's task. A quoted sentence after "say" is spoken as it stands; several instructions follow each
 * other; a prompt without any instruction is paraphrased from its last statement.
 */
export function speakTask(prompt: Prompt): Speech {
  const scene: Scene = { name: personGreeted(prompt), prompt };
  const spoken = prompt.instructions.flatMap((instruction) => speakInstruction(instruction, scene));
  if (spoken.length === 0) spoken.push(paraphrase(prompt, scene));
  const text = [...new Set(spoken)].join(" ");
  return { text, question: spoken.findLast((sentence) => sentence.endsWith("?")) ?? null };
}

function speakInstruction(instruction: string, scene: Scene): string[] {
  const plain = instruction
    .trim()
    .replace(LEADING, "")
    .replace(/[.!]+$/, "");
  const quoted = /^(?:say|ask|tell \w+)[^"“]*["“]/i.test(plain);
  const parts = quoted ? [plain] : plain.split(CONJUNCT);
  return parts.map((part) => speakPart(part.trim().replace(LEADING, ""), scene)).filter((part) => part !== "");
}

function speakPart(part: string, scene: Scene): string {
  for (const { pattern, say } of RULES) {
    const match = pattern.exec(part);
    if (match !== null) return say(match, scene).replace(/\s+/g, " ").trim();
  }
  return `I would like to ${part.charAt(0).toLowerCase()}${toSecondPerson(part.slice(1), scene.name)}.`;
}

function paraphrase(prompt: Prompt, scene: Scene): string {
  const last = prompt.facts.findLast((fact) => !/^(?:you|your)\b/i.test(fact)) ?? prompt.facts.at(-1);
  if (last === undefined) return "How can I help you?";
  if (/^you are\b/i.test(last)) return `${introduction(prompt) ?? "Hello."} How can I help you?`;
  return endWith(capitalise(toSecondPerson(last, scene.name)), ".");
}

function askFor(what: string): string {
  const day = DAY_THAT_SUITS.exec(what);
  if (day !== null) return `Which ${(day[1] ?? "day").toLowerCase()} would suit you?`;
  return `Could you tell me ${what}, please?`;
}

function wh(clause: string): string {
  const day = DAY_THAT_SUITS.exec(clause);
  return day !== null && /suit|work|fit/i.test(clause)
    ? `Which ${(day[1] ?? "day").toLowerCase()} would suit you?`
    : openQuestion(clause);
}

function statement(clause: string): string {
  return endWith(capitalise(clause.replace(/ and that /g, " and ")), ".");
}

/** "Mia, the voice assistant of Northwind" out of "You are Mia, …", as a sentence; null when the prompt names nobody. */
export function introduction(prompt: Prompt): string | null {
  for (const fact of prompt.facts) {
    const match = /^You(?: are|'re|’re) (?!calling|on the phone|talking|speaking)(.+?)[.!]?$/i.exec(fact);
    if (match !== null)
      return /^(?:an?|the) /i.test(match[1] ?? "") ? `I am ${match[1] ?? ""}.` : `This is ${match[1] ?? ""}.`;
  }
  const company = /\b(?:calling|call) (?:from|for|on behalf of) ([^.,;]+)/i.exec(prompt.text);
  return company === null ? null : `I am calling on behalf of ${company[1] ?? ""}.`;
}

/** The name in "Greet Ada Lovelace and …"; null when the greeting names nobody ("Greet the customer"). */
function personGreeted(prompt: Prompt): string | null {
  for (const instruction of prompt.instructions) {
    const greeted =
      /\b(?:greet|welcome|ask|tell|remind|thank|inform) (\p{Lu}[\p{L}'’.-]*(?: \p{Lu}[\p{L}'’.-]*)*)/u.exec(
        capitalLater(instruction),
      );
    const name = greeted?.[1];
    if (name !== undefined && new RegExp(`^${escapePattern(name)}$`).test(name)) return name.replace(/[.]$/, "");
  }
  return null;
}

/** Lower-cases the first letter, so that only names keep their capital. */
function capitalLater(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
