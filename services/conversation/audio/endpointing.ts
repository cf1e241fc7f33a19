import type { Endpointing, EndpointingInput } from "./port.ts";
import { lexiconFor, type EndpointingLexicon } from "./endpointing-lexicon.ts";

/** Nobody is answered sooner: shorter pauses are part of speech. */
export const MIN_WAIT_MS = 300;
/** Nobody is waited for longer, however unfinished it sounds. */
export const MAX_WAIT_MS = 2500;
/** No mark says that it is over, and nothing that it is not. */
const UNSURE_WAIT_MS = 500;
/** The last word seldom ends a sentence. */
const LOOSE_WAIT_MS = 1500;
/** The same, where the one who wrote it down heard an end. */
const LOOSE_END_WAIT_MS = 700;
/** A comma: the sentence goes on, or was one of those that are written with commas alone. */
const COMMA_WAIT_MS = 1500;
/** More digits may come; where only a number is asked for, most often not. */
const DIGITS_WAIT_MS = 1500;
const SHORT_DIGITS_WAIT_MS = 1000;

/** So many digits, said one by one or in groups, are a number that may go on; fewer are a quantity, more are a whole telephone number. */
const DICTATED_FROM = 3;
const DICTATED_BELOW = 10;
/** Where a short answer is asked for, so few words are one. */
const SHORT_WORDS = 3;
/** Longest entry of the word lists. */
const ENTRY_MAX_WORDS = 4;
/** "Uh huh, right, I see": longer is said to be heard. */
const BACKCHANNEL_MAX_WORDS = 6;
/** What is looked at of a long turn: its end. */
const TAIL_CHARS = 400;

const TERMINAL = /[.!?।॥؟。！？]["'”’»)]*$/u;
const ASKS = /[!?؟！？]["'”’»)]*$/u;
const TRAILS_OFF = /(?:\.{2,}|…|[-–—:;(])["'”’»]*$/u;
const COMMA = /[,،，、]["'”’»]*$/u;
/** Sounds of thinking, and those of a nod; however long they are. */
const THINKS = /^(?:h?m{2,}|hm+|e+h?m+|u+h*m+|u+h+|ä+h*m*|ö+h*m*|e+u+h+)$/u;
const NODS = /^(?:m+h+m+|m+ h+m+|u+h ?h+u+h|a+h+a+|a+ha+m)$/u;

/** The words of an utterance: small letters, no marks but apostrophes within words. */
const wordsOf = (text: string): string[] =>
  text
    .normalize("NFC")
    .toLowerCase()
    .replaceAll("’", "'")
    .split(/[^\p{L}\p{M}\p{N}']+/u)
    .map((w) => w.replace(/^'+/, ""))
    .filter((w) => w !== "");

/** Whether the words end with an entry of the list. */
function endsWith(words: readonly string[], list: ReadonlySet<string>): boolean {
  for (let n = 1; n <= Math.min(ENTRY_MAX_WORDS, words.length); n++)
    if (list.has(words.slice(-n).join(" "))) return true;
  return false;
}

/** Whether the utterance is made of entries of the list and nothing else. */
function madeOf(words: readonly string[], fits: (entry: string) => boolean): boolean {
  let at = 0;
  while (at < words.length) {
    let taken = Math.min(ENTRY_MAX_WORDS, words.length - at);
    while (taken > 0 && !fits(words.slice(at, at + taken).join(" "))) taken--;
    if (taken === 0) return false;
    at += taken;
  }
  return words.length > 0;
}

/** The digits said at the end of the words, and in how many pieces; "twenty five" counts a piece each. */
function dictated(words: readonly string[], numbers: ReadonlySet<string>): { digits: number; pieces: number } {
  let [digits, pieces] = [0, 0];
  for (const word of words.toReversed()) {
    if (!/^\p{Nd}+$/u.test(word) && !numbers.has(word)) break;
    digits += /^\p{Nd}+$/u.test(word) ? word.length : 1;
    pieces += 1;
  }
  return { digits, pieces };
}

/** Whether a number is under way that may go on. A price, a year or a time is one piece, or two. */
function midNumber(words: readonly string[], known: EndpointingLexicon): boolean {
  const { digits, pieces } = dictated(words, known.numbers);
  if (pieces === 0 || digits < DICTATED_FROM || digits >= DICTATED_BELOW) return false;
  return pieces >= DICTATED_FROM || (pieces === 2 && digits > 4);
}

function waitMs({ text, language, expects_short }: EndpointingInput): number {
  const said = text.trim().slice(-TAIL_CHARS);
  const known = lexiconFor(language);
  const words = wordsOf(said);
  if (words.length === 0) return MIN_WAIT_MS;
  const last = words.at(-1) ?? "";
  const terminal = TERMINAL.test(said);
  const goesOn = TRAILS_OFF.test(said) || COMMA.test(said);
  if (!goesOn && madeOf(words, (entry) => known.answers.has(entry) || NODS.test(entry))) return MIN_WAIT_MS;
  if (endsWith(words, known.fillers) || THINKS.test(last)) return MAX_WAIT_MS;
  if (midNumber(words, known)) return expects_short ? SHORT_DIGITS_WAIT_MS : DIGITS_WAIT_MS;
  if (ASKS.test(said) || (!goesOn && dictated(words, known.numbers).pieces === words.length)) return MIN_WAIT_MS;
  if (TRAILS_OFF.test(said) || endsWith(words, known.open)) return MAX_WAIT_MS;
  if (goesOn) return COMMA_WAIT_MS;
  if (endsWith(words, known.loose)) return terminal ? LOOSE_END_WAIT_MS : LOOSE_WAIT_MS;
  return terminal || (expects_short && words.length <= SHORT_WORDS) ? MIN_WAIT_MS : UNSURE_WAIT_MS;
}

/** Judges by words and marks: what sounds finished is answered soon, what sounds unfinished is waited for. */
export const ruleBasedEndpointing = (): Endpointing => ({ waitMs });

/** Whether the whole utterance only says "I am listening" (uh-huh, I see, genau, d'accord): no reason to stop speaking. */
export function isBackchannel(text: string, language: string): boolean {
  const words = wordsOf(text.slice(0, TAIL_CHARS));
  if (words.length > BACKCHANNEL_MAX_WORDS || /[?？؟]/u.test(text)) return false;
  const { backchannels } = lexiconFor(language);
  return madeOf(words, (entry) => backchannels.has(entry) || NODS.test(entry) || /^h?m+$/.test(entry));
}
