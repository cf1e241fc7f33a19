import { sentencesOf } from "./english.ts";

/** A system prompt taken apart: what is so, what is to be said now, and how to behave. */
export type Prompt = Readonly<{
  /** Statements, "You are Mia, the assistant of Northwind." */
  facts: readonly string[];
  /** What to say now, one sentence each, "Greet Ada and ask whether …" */
  instructions: readonly string[];
  /** Rules of conduct, never spoken, "If they ask …", "Keep it short." */
  guidance: readonly string[];
  /** The prompt as it came. */
  text: string;
}>;

/** Verbs that tell the model to say something to the person. */
export const SPEECH_VERBS =
  "greet|welcome|ask|tell|inform|remind|thank|say|wish|explain|apologi[sz]e|offer|introduce|let|mention|announce|invite|suggest|propose|repeat|read|confirm|check|verify|find out|collect|request|obtain|get|assure|congratulate|summari[sz]e|propose|bid|help|describe|advise|point out";
const LEAD_IN =
  "(?:(?:first|then|now|next|finally|please|also|politely|briefly|warmly|kindly|again|your task is to|your task:|task:|you should|you must|you need to|in this step,?)[,:]? )*";
const INSTRUCTION = new RegExp(`^(?:[-*•]|\\d+[.)])?\\s*${LEAD_IN}(?:${SPEECH_VERBS})\\b`, "i");
const GUIDANCE =
  /^(?:[-*•]|\d+[.)])?\s*(?:if|when|whenever|once|unless|should|until|before|after|while|never|always|do not|don't|keep|be|stay|speak|use|call|only|wait|listen|answer|reply|respond|remember|treat|accept|avoid|note|make sure|ensure|take|as soon as|pressing|the keypad|on the keypad|in case)\b/i;
const STATEMENT_VERB = /^(?:confirm|check|verify|help|offer|request|repeat|get|let)\w* (?:is|are|was|means|costs)\b/i;

/** Sorts a system prompt's sentences. Order is kept within each kind. */
export function readPrompt(text: string): Prompt {
  const facts: string[] = [];
  const instructions: string[] = [];
  const guidance: string[] = [];
  for (const sentence of sentencesOf(text)) {
    if (/^#|^[-=*]{3,}$/.test(sentence)) continue;
    if (INSTRUCTION.test(sentence) && !STATEMENT_VERB.test(sentence)) instructions.push(sentence);
    else if (GUIDANCE.test(sentence)) guidance.push(sentence);
    else facts.push(sentence);
  }
  return { facts, instructions, guidance, text };
}

const DIGIT = "(\\d|\\*|#|star|hash|pound)";
const PRESS = new RegExp(
  `\\b(?:press(?:es|ing|ed)?|keypad|key|dial|type|digit)(?: the)?(?: key| digit)? ["'“]?${DIGIT}["'”]?(?:,)?(?: means| is| stands)? ?(?:to|for|if|when|confirms|:|=)? ?([^.;]*?)(?=,? (?:(?:or|and) )?press|,? (?:or|and) (?:key )?["'“]?\\d|[.;]|$)`,
  "gi",
);
// "To confirm, press 1; for another day press 2."
const REVERSED = /\b(?:to|for) ([^.;,]+?),? (?:please )?press (?:the key )?["'“]?(\d)["'”]?(?! (?:to|for|if)\b)/gi;
const SHORT = /\b(?:or|and) ["'“]?(\d)["'”]? (?:to|for|if) ([^.;,]*?)(?=,? (?:or|and) |[.;,]|$)/gi;

/** What each key means according to a text: "press 1 to confirm or 2 to choose another day". */
export function keypadMeanings(text: string): Map<string, string> {
  const meanings = new Map<string, string>();
  if (!/press\w* ["'“]?\d["'”]? (?:to|for|if)\b/i.test(text)) {
    for (const match of text.matchAll(REVERSED)) meanings.set(match[2] ?? "", (match[1] ?? "").trim());
  }
  for (const pattern of [PRESS, SHORT]) {
    for (const match of text.matchAll(pattern)) {
      const key = keyOf(match[1] ?? "");
      const meaning = (match[2] ?? "").trim();
      if (!meanings.has(key) && (meaning !== "" || /confirms/i.test(match[0])))
        meanings.set(key, meaning === "" ? "confirm" : meaning);
    }
  }
  return meanings;
}

function keyOf(said: string): string {
  if (said === "star") return "*";
  return said === "hash" || said === "pound" ? "#" : said;
}

const PRESSED =
  /^\s*(?:[[(]?\s*(?:keypad|dtmf|digits?|key|pressed|keys)\s*[\])]?\s*:?\s*)?["'“]?([0-9*#](?:\s?[0-9*#])*)["'”]?\s*[\])]?\s*$/i;

/** The keys pressed when the user's message is a keypad entry ("[keypad] 1", "DTMF: 42", "1"), else null. */
export function keysPressed(text: string): string | null {
  const match = PRESSED.exec(text) ?? /^\s*i? ?(?:have |just )?press(?:ed)? ["'“]?(\d)["'”]?\W*$/i.exec(text);
  return match === null ? null : (match[1] ?? "").replace(/\s/g, "");
}
