import type { EndpointingInput } from "./port.ts";
import { lexiconFor, type EndpointingLexicon } from "./endpointing-lexicon.ts";

/** Shortest silence that ends a turn, ms: shorter pauses are part of speech. */
export const MIN_WAIT_MS = 300;
/** Longest silence of an unfinished turn, ms. */
export const MAX_WAIT_MS = 2500;
/** No evidence whether the turn is over. */
const UNSURE_WAIT_MS = 500;
/** The last word seldom ends a sentence, and no mark ends it. */
const LOOSE_WAIT_MS = 1500;
/** The same, but the transcript ends with a full stop. */
const LOOSE_END_WAIT_MS = 700;
/** A comma: the sentence continues, or is one that is transcribed with commas alone. */
const COMMA_WAIT_MS = 1500;
/** More digits may follow; less likely where the node expects a number. */
const DIGITS_WAIT_MS = 1500;
const SHORT_DIGITS_WAIT_MS = 1000;

/** Digits of a dictated number that may continue; fewer are a quantity, more are a whole telephone number. */
const DICTATED_FROM = 3;
const DICTATED_BELOW = 10;
/** Words of a short answer. */
const SHORT_WORDS = 3;
/** Longest entry of the word lists. */
const ENTRY_MAX_WORDS = 4;
/** Words of a backchannel; a longer one is a turn. */
const BACKCHANNEL_MAX_WORDS = 6;
/** Characters at the end of a turn that are analysed. */
const TAIL_CHARS = 400;

const TERMINAL = /[.!?।॥؟。！？]["'”’»)]*$/u;
const ASKS = /[!?؟！？]["'”’»)]*$/u;
const TRAILS_OFF = /(?:\.{2,}|…|[-–—:;(])["'”’»]*$/u;
const COMMA = /[,،，、]["'”’»]*$/u;
const NO_WORDS: ReadonlySet<string> = new Set();
/** Hesitations and backchannels of any length. */
const THINKS = /^(?:h?m{2,}|hm+|e+h?m+|u+h*m+|u+h+|ä+h*m*|ö+h*m*|e+u+h+)$/u;
const NODS = /^(?:m+h+m+|m+ h+m+|u+h ?h+u+h|a+h+a+|a+ha+m)$/u;

/** The words of an utterance in lower case, without marks other than apostrophes within words. */
export const wordsOf = (text: string): string[] =>
  text
    .normalize("NFC")
    .toLowerCase()
    .replaceAll("’", "'")
    .split(/[^\p{L}\p{M}\p{N}']+/u)
    .map((w) => w.replace(/^'+/, ""))
    .filter((w) => w !== "");

/** True when the words end with an entry of the list. */
function endsWith(words: readonly string[], list: ReadonlySet<string>): boolean {
  for (let n = 1; n <= Math.min(ENTRY_MAX_WORDS, words.length); n++)
    if (list.has(words.slice(-n).join(" "))) return true;
  return false;
}

/** True when the words consist of matching entries only. */
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

/** The digits at the end of the words and the number of pieces they were said in; "twenty five" are two. */
function dictated(words: readonly string[], numbers: ReadonlySet<string>): { digits: number; pieces: number } {
  let [digits, pieces] = [0, 0];
  for (const word of words.toReversed()) {
    if (!/^\p{Nd}+$/u.test(word) && !numbers.has(word)) break;
    digits += /^\p{Nd}+$/u.test(word) ? word.length : 1;
    pieces += 1;
  }
  return { digits, pieces };
}

/** True when a dictated number may continue. A price, a year or a time has one or two pieces. */
function midNumber(words: readonly string[], known: EndpointingLexicon): boolean {
  const { digits, pieces } = dictated(words, known.numbers);
  if (pieces === 0 || digits < DICTATED_FROM || digits >= DICTATED_BELOW) return false;
  return pieces >= DICTATED_FROM || (pieces === 2 && digits > 4);
}

/** Endpointing by words and punctuation: how long silence must last until the turn is over, ms. A finished turn waits shortly, an unfinished one longer. */
export function turnWaitMs(input: EndpointingInput): number {
  const { endpointing_ms = MIN_WAIT_MS, max_wait_ms = MAX_WAIT_MS } = input;
  const ms = waitMsOf(input);
  if (ms === MIN_WAIT_MS) return endpointing_ms;
  return Math.max(endpointing_ms, ms === MAX_WAIT_MS ? max_wait_ms : Math.min(ms, max_wait_ms));
}

function waitMsOf({ text, language, expects_short }: EndpointingInput): number {
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

/** True when the whole utterance is a backchannel (uh-huh, I see, genau, d'accord), which does not interrupt us. `own`: others, in words of lower case. */
export function isBackchannel(text: string, language: string, own: ReadonlySet<string> = NO_WORDS): boolean {
  const words = wordsOf(text.slice(0, TAIL_CHARS));
  if (own.has(words.join(" "))) return true;
  if (words.length > BACKCHANNEL_MAX_WORDS || /[?？؟]/u.test(text)) return false;
  const { backchannels } = lexiconFor(language);
  return madeOf(
    words,
    (entry) => backchannels.has(entry) || own.has(entry) || NODS.test(entry) || /^h?m+$/.test(entry),
  );
}
