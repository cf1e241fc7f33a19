import { toSecondPerson } from "./grammar.ts";
import type { Concept } from "./lexicon.ts";
import type { Prompt } from "./system-prompt.ts";
import { introduction } from "./task-speech.ts";
import { capitalise, contentStems, endWith, normalise, wordsOf } from "./english.ts";

/** What the model says when the person has not decided: answers from the prompt's facts, then the open question again. Pure. */

const ABOUT_CALLER =
  /\b(who (are|is)|who am i|what company|which company|where are you calling|your name|who do you)\b/;
const ABOUT_PURPOSE =
  /\b(what is (this|it|that) (all )?about|what do you want|why (are you|do you)|what (are you calling|for)|purpose|concerning|what order|which order|what appointment|which appointment)\b/;
const ABOUT_MACHINE = /\b(robot|machine|computer|human|real person|recording|bot|ai|artificial)\b/;
const ABOUT_PRESENCE = /\b(anybody|anyone|somebody|are you) (still )?there\b|\bcan you hear\b/;
const SYNONYMS: readonly (readonly [RegExp, readonly string[]])[] = [
  [
    /\b(when|what (day|date|time)|which (day|date|time))\b/,
    [
      "delivery",
      "day",
      "date",
      "on",
      "at",
      "monday",
      "tuesday",
      "wednesday",
      "thursday",
      "friday",
      "saturday",
      "sunday",
      "appointment",
    ],
  ],
  [
    /\b(how much|price|cost|amount|total)\b/,
    ["for", "euros", "dollars", "eur", "usd", "amount", "price", "cost", "costs", "total"],
  ],
  [/\bwhere\b/, ["address", "street", "at", "in"]],
];
const DETAIL = 1;
const FACT_WORDS_NEEDED = 1;

/** Answers a person's question in a sentence or two; says so when the prompt does not tell. */
export function answerQuestion(question: string, prompt: Prompt): string {
  const plain = normalise(question);
  const who = introduction(prompt) ?? "I am an automated assistant.";
  const about = purpose(prompt);
  if (ABOUT_PRESENCE.test(plain)) return "Yes, I am here.";
  if (ABOUT_MACHINE.test(plain)) return `I am an automated assistant. ${who}`;
  if (ABOUT_CALLER.test(plain)) return about === null ? who : `${who} ${about}`;
  if (ABOUT_PURPOSE.test(plain)) return about ?? who;
  return factFor(plain, prompt) ?? "I am afraid I do not have that information.";
}

/** "You are calling about order 7." as "I am calling about order 7."; null when the prompt does not tell. */
function purpose(prompt: Prompt): string | null {
  const match = /\b(?:calling|call|phoning) (?:\S+ )?((?:about|because|regarding|concerning|to)\b [^.!?]+)/i.exec(
    prompt.facts.join(" "),
  );
  return match === null ? null : `I am calling ${toSecondPerson((match[1] ?? "").trim())}.`;
}

/** The fact, or the part of the task, that shares most words with the question. */
function factFor(plain: string, prompt: Prompt): string | null {
  const asked = contentStems(plain);
  const related = SYNONYMS.filter(([pattern]) => pattern.test(plain)).flatMap(([, words]) => words);
  const facts = prompt.facts.filter((fact) => !/^you\b/i.test(fact));
  let best: { text: string; score: number } | null = null;
  for (const text of [...facts, ...details(prompt)]) {
    const stems = contentStems(text);
    const words = new Set(wordsOf(text));
    const score =
      [...asked].filter((part) => stems.has(part)).length + related.filter((word) => words.has(word)).length;
    if (score > FACT_WORDS_NEEDED && (best === null || score > best.score)) best = { text, score };
  }
  return best === null ? null : endWith(capitalise(toSecondPerson(best.text)), ".");
}

/** What the task itself states: "order A-17 for 42 euros with delivery on Monday" in "ask whether they confirm order …". */
function details(prompt: Prompt): string[] {
  return prompt.instructions.flatMap((instruction) => {
    const match =
      /\b(?:whether|if|that) (?:they|he|she|the \w+|you) (?:can |will |would |still )?(?:confirms?|accepts?|come to|keeps?|wants?|have|has|is|are) (.+?)[.?!]*$/i.exec(
        instruction,
      );
    return match?.[DETAIL] === undefined ? [] : [`It is ${match[DETAIL].trim()}`];
  });
}

const CANNOT: Readonly<Record<Concept, string>> = {
  confirm: "I am afraid there is nothing to confirm at the moment.",
  move: "I am afraid I can not change that.",
  cancel: "I am afraid I can not cancel that.",
  wrong_person: "I am sorry for the disturbance.",
  voicemail: "I will call again. Goodbye!",
  human: "I am afraid I can not connect you to a colleague.",
  goodbye: "Goodbye!",
  call_back: "I am afraid I can not arrange another call.",
  opt_out: "I am sorry for the disturbance.",
};
const LAST_WORDS: readonly Concept[] = ["goodbye", "voicemail", "wrong_person", "opt_out"];

/** Says that no tool does what the person wants, and asks the open question again where the conversation goes on. */
export function regret(concept: Concept, question: string | null): string {
  return LAST_WORDS.includes(concept) ? CANNOT[concept] : andAgain(CANNOT[concept], question);
}

const MOOD_REPLIES = {
  greeting: "Hello.",
  impatient: "I am sorry to keep you, it will only take a moment.",
  small_talk: "It is nice to talk to you.",
  unsure: "Of course, take your time.",
  present: "Thank you.",
  silent: "Are you still there?",
  unclear: "I am sorry, I did not understand that.",
} as const;

/** Reply to a mood: a polite word, then the open question. */
export function replyTo(mood: keyof typeof MOOD_REPLIES, question: string | null): string {
  return andAgain(MOOD_REPLIES[mood], question);
}

/** A remark followed by the open question, if one is open. */
export function andAgain(remark: string, question: string | null): string {
  return question === null ? remark : `${remark} ${question}`;
}

/** Asks for a required argument by what its schema calls it. */
export function askForParameter(topic: string): string {
  const plain = normalise(topic).replace(/[.]$/, "");
  const kind = /\b(day|date|time)\b/.exec(plain)?.[1];
  if (kind !== undefined) return `Which ${kind} would suit you?`;
  const words = topic
    .trim()
    .replace(/[.?!]+$/, "")
    .replace(/^(the|a|an|your) /i, "");
  return `Could you tell me ${/^(why|what|which|how|when|where|whether)\b/i.test(words) ? "" : "the "}${words.charAt(0).toLowerCase()}${toSecondPerson(words.slice(1))}, please?`;
}
