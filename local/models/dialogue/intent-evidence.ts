import {
  BARE_NO,
  BARE_YES,
  FALSE_NEGATIONS,
  GREETING,
  IMPATIENT,
  PHRASES,
  PRESENT,
  REPEAT,
  SMALL_TALK,
  UNSURE,
  VOICEMAIL,
} from "./lexicon.ts";
import type { Concept, Weight } from "./lexicon.ts";
import { isOffered, momentsIn } from "./day-and-time.ts";
import type { Moment } from "./day-and-time.ts";
import { clausesOf, normalise, sentencesOf, stem, wordsOf } from "./english.ts";

/** How a person is disposed when the words are no decision; `present` answers "are you there", `voicemail` is a machine. */
export type Mood = "impatient" | "greeting" | "small_talk" | "unsure" | "repeat" | "present" | "voicemail" | "none";

/** What a person's words amount to before any tool is looked at. */
export type Evidence = Readonly<{
  /** Score per concept from explicit phrases; bare yes and no count only where nothing explicit was said. */
  concepts: ReadonlyMap<Concept, number>;
  /** Days and times named. */
  moments: readonly Moment[];
  /** Days and times proposed: not spoken against and not the one already on the table. */
  proposed: readonly Moment[];
  /** Stems of words said without a "not" before them. */
  stems: ReadonlySet<string>;
  /** Questions that want information, not a change. */
  questions: readonly string[];
  mood: Mood;
}>;

const BARE_WEIGHT = 1.5;
const VOICEMAIL_WEIGHT = 4;
const EXPLICIT = 1.5;
const SOFT = 2;
const OTHER_DAY: readonly Weight[] = [
  { concept: "move", weight: 2.5 },
  { concept: "confirm", weight: -1.5 },
];
const NEGATION = /\b(?:not|never|no|no longer|hardly|neither|without|nothing)(?: \w+){0,4} ?$/;
// Suggestions in the form of a question ("why don't we", "what about Friday?") ask for a change, not for a fact.
const SUGGESTION =
  /^(?:(?:and|but|so|well|ok|okay|yes|no|hm+|ah|oh),? )*(?:why (?:do|can|could) not (?:we|you)|what about|how about|would it be possible|is it possible|(?:can|could|may|might|shall|should|would) (?:we|you|i|it)\b|do you have (?:anything|something|another|a)\b)/;
const WH_QUESTION =
  /(?:^|[,;] )(?:(?:and|but|so|well|ok|okay|yes|no|sorry|wait|hello|hi|hm+|ah|oh|excuse me|um),? )*(?:(?:with|at|in|from|for|to|on|by|about) )?(?:who(?:se|m)?|what|why|when|where|which|how)\b(?! about\b)/;
const AUX_QUESTION =
  /^(?:(?:and|but|so|well|ok|okay|sorry|wait|hello|hi|oh),? )*(?:is|are|am|was|were|do|does|did|has|have|will)\b/;

/**
 * Reads a person's words. `offered` is everything already on the table (prompt and last question), so that
 * "Monday is fine" and "Friday is fine" differ. A bare "yes" or "no" says nothing after an open question ("Which day?").
 */
export function weigh(text: string, offered: string, afterOpenQuestion = false): Evidence {
  // A machine's greeting is full of words that would mean something if a person said them ("I can't take your call").
  if (VOICEMAIL.test(normalise(text)))
    return {
      concepts: new Map<Concept, number>([["voicemail", VOICEMAIL_WEIGHT]]),
      moments: [],
      proposed: [],
      stems: new Set(),
      questions: [],
      mood: "voicemail",
    };
  const concepts = new Map<Concept, number>();
  const stems = new Set<string>();
  const questions: string[] = [];
  const bare: Weight[] = [];
  for (const sentence of sentencesOf(text.replace(/([.!?])\s+(?=[a-z])/g, "$1\n"))) {
    if (asksForFacts(sentence)) {
      questions.push(sentence);
      continue;
    }
    const unfinished = sentence.trim().endsWith("?");
    for (const clause of clausesOf(sentence)) weighClause(clause, unfinished, concepts, bare, stems);
  }
  const moments = sentencesOf(text)
    .filter((sentence) => !isChat(sentence))
    .flatMap((sentence) => momentsIn(sentence));
  const proposed = moments.filter((moment) => !moment.excluded && !isOffered(moment, offered));
  if (proposed.some((moment) => moment.day !== null) && questions.length === 0) add(concepts, OTHER_DAY);
  const mood = moodOf(normalise(text), questions.length > 0);
  const decided = [...concepts].some(([, score]) => score >= EXPLICIT);
  const pickedUp =
    /\b(?:hello|hi|hey|good (?:morning|afternoon|evening))\b/.test(normalise(text)) || PRESENT.test(normalise(text));
  if (
    !decided &&
    mood !== "impatient" &&
    mood !== "unsure" &&
    !pickedUp &&
    !afterOpenQuestion &&
    questions.length === 0
  )
    addBare(concepts, bare);
  return { concepts, moments, proposed, stems, questions, mood };
}

function weighClause(
  clause: string,
  unfinished: boolean,
  concepts: Map<Concept, number>,
  bare: Weight[],
  stems: Set<string>,
): void {
  const plain = clause
    .replace(FALSE_NEGATIONS, "sure")
    .replace(/\bi am (doing |very |quite )?(fine|good|great|well|okay|ok)\b(?! with)/g, "");
  if (BARE_NO.test(plain))
    bare.push({ concept: "cancel", weight: BARE_WEIGHT }, { concept: "confirm", weight: -BARE_WEIGHT });
  else if (BARE_YES.test(plain) && !unfinished) bare.push({ concept: "confirm", weight: BARE_WEIGHT });
  for (const { pattern, says, denied } of PHRASES) {
    const match = pattern.exec(plain);
    if (match === null) continue;
    const weights = NEGATION.test(plain.slice(0, match.index)) ? denied : says;
    // "Is that possible?" approves of nothing.
    add(
      concepts,
      unfinished
        ? weights.filter(({ concept, weight }) => concept !== "confirm" || weight < 0 || weight > SOFT)
        : weights,
    );
  }
  for (const match of plain.matchAll(/[a-z0-9]+/g)) {
    if (!NEGATION.test(plain.slice(0, match.index))) stems.add(stem(match[0]));
  }
}

function asksForFacts(sentence: string): boolean {
  const plain = normalise(sentence);
  if (SUGGESTION.test(plain)) return false;
  if (WH_QUESTION.test(plain) && (plain.endsWith("?") || /^(?:who|what|why|when|where|how)\b/.test(plain))) return true;
  return AUX_QUESTION.test(plain) && plain.endsWith("?") && wordsOf(plain).length > 2;
}

function moodOf(plain: string, asking: boolean): Mood {
  if (IMPATIENT.test(plain)) return "impatient";
  if (REPEAT.test(plain.replace(/[^a-z0-9 ]+/g, " ").trim())) return "repeat";
  if (UNSURE.test(plain)) return "unsure";
  if (PRESENT.test(plain)) return "present";
  if (GREETING.test(plain) && /\b(?:hi|hello|hey|good|greetings)\b/.test(plain)) return "greeting";
  return SMALL_TALK.test(plain) && !(asking && !/\bhow (are|is|do)\b/.test(plain)) ? "small_talk" : "none";
}

/** Chat about today's weather or this morning's garden names days that nobody proposes. */
function isChat(sentence: string): boolean {
  const plain = normalise(sentence).replace(/\b(?:hello|hi|hey|good (?:morning|afternoon|evening|day))\b/g, "");
  return SMALL_TALK.test(plain) || /\b(?:was|were|yesterday|ago)\b/.test(plain);
}

/** Several bare answers: the last one counts ("Yes. Well, no."). */
function addBare(concepts: Map<Concept, number>, bare: readonly Weight[]): void {
  const last = bare.at(-1);
  if (last === undefined) return;
  const words = last.weight < 0 ? bare.slice(-2) : [last];
  add(concepts, words);
}

function add(concepts: Map<Concept, number>, weights: readonly Weight[]): void {
  for (const { concept, weight } of weights) concepts.set(concept, (concepts.get(concept) ?? 0) + weight);
}
