import type { Listening } from "../../../../shared/contracts/records/listening-settings.ts";
import { isBackchannel, wordsOf } from "../../audio/endpointing.ts";
import { DOUBTFUL_PHRASES, PHANTOM_PHRASES } from "./phantom-phrases.ts";

/** Letters of scripts that write no spaces; so many stand for a word. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/gu;
const LETTERS_A_WORD = 3;
/** What recognisers put around a sound that is no speech: [music], (coughs), *sighs*, ♪. */
const SOUND_NOTE = /\[[^\]]*\]|\([^)]*\)|\*[^*]*\*|[♪♫]/gu;
/** A phantom is written over and over where the noise lasts. */
const MOST_REPEATS = 20;
const MAX_CHARS = 2000;

/** What the words of the caller are, whoever recognised them. */
export interface CallerWords {
  /** They only show that the caller listens. */
  isBackchannel(text: string): boolean;
  /** The recogniser wrote them where nobody spoke. */
  isPhantom(text: string): boolean;
  /** They may be such words: people say them, too. */
  isDoubtful(text: string): boolean;
  /** What is said into a telephone that was just picked up. `partial`: its last word may go on. */
  isPickUp(text: string, partial?: boolean): boolean;
  /** More words may show that they are a phantom, or a backchannel of the template's own. */
  isUndecided(text: string): boolean;
}

/** Words with which telephones are answered, in any of the languages. */
const PICK_UPS: ReadonlySet<string> = new Set(
  `hello hi hey yes yeah yep speaking good morning afternoon evening this is he she hallo ja guten tag morgen abend am apparat bitte allô allo
  oui bonjour bonsoir hola sí si diga dígame bueno aló buenos días buenas tardes noches pronto sì buongiorno buonasera alô sim oi olá bom dia boa
  tarde goedemorgen goedemiddag met namaste haan ji हाँ हां जी हेलो हैलो नमस्ते`.split(/\s+/u),
);
const PICK_UP_MAX_WORDS = 4;
const beginsPickUp = (begun: string): boolean => [...PICK_UPS].some((word) => word.startsWith(begun));

const inWords = (text: string): string => wordsOf(text.slice(0, MAX_CHARS)).join(" ");

/** How many words a text has; in scripts without spaces by its letters. Pure. */
export const wordCount = (text: string): number =>
  wordsOf(text).reduce(
    (count, word) => count + Math.max(1, Math.ceil((word.match(UNSPACED)?.length ?? 0) / LETTERS_A_WORD)),
    0,
  );

/** Judges by the lists of a language (BCP 47) and those of the template. Pure. */
export function callerWords(
  language: string,
  { backchannels, phantom_phrases }: Pick<Listening, "backchannels" | "phantom_phrases">,
): CallerWords {
  const nods = new Set(backchannels.map(inWords));
  const phantoms = new Set([...PHANTOM_PHRASES, ...phantom_phrases].map(inWords));
  const doubtful = new Set(DOUBTFUL_PHRASES.map(inWords));
  /** Whether the words are one of the phrases, or one that repeats. */
  const isOne = (phrases: ReadonlySet<string>, words: readonly string[]): boolean => {
    for (let times = 1; times <= Math.min(MOST_REPEATS, words.length); times++) {
      const length = words.length / times;
      const first = words.slice(0, length).join(" ");
      if (Number.isInteger(length) && phrases.has(first) && words.join(" ") === `${first} `.repeat(times).trim())
        return true;
    }
    return false;
  };
  const known = [...phantoms, ...doubtful, ...nods];
  return {
    isPickUp(text, partial = false) {
      const said = wordsOf(text.slice(0, MAX_CHARS));
      return (
        said.length > 0 &&
        said.length <= PICK_UP_MAX_WORDS &&
        said.every((word, at) => PICK_UPS.has(word) || (partial && at === said.length - 1 && beginsPickUp(word)))
      );
    },
    isUndecided(text) {
      const said = inWords(text);
      return known.some((phrase) => phrase.startsWith(said));
    },
    isBackchannel: (text) => isBackchannel(text, language, nods),
    isDoubtful: (text) => isOne(doubtful, wordsOf(text.slice(0, MAX_CHARS))),
    isPhantom(text) {
      const words = wordsOf(text.slice(0, MAX_CHARS).replace(SOUND_NOTE, " "));
      return words.length === 0 ? text.trim() !== "" : isOne(phantoms, words);
    },
  };
}
