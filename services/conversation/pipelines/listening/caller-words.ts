import { languageOf } from "../../../../shared/phrases.ts";
import type { Listening } from "../../../../shared/contracts/records/listening-settings.ts";
import { isBackchannel, wordsOf } from "../../audio/endpointing.ts";
import { CREDIT_BEGINNINGS, DOUBTFUL_PHRASES, PHANTOM_PHRASES } from "./phantom-phrases.ts";

/** Letters of scripts that write no spaces; so many stand for a word. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/gu;
const LETTERS_A_WORD = 3;
/** What recognisers put around a sound that is no speech: [music], (coughs), *sighs*, ♪. */
const SOUND_NOTE = /\[[^\]]*\]|［[^］]*］|\([^)]*\)|（[^）]*）|【[^】]*】|\*[^*]*\*|[♪♫]/gu;
/** A phantom is written over and over where the noise lasts. */
const MOST_REPEATS = 20;
const MAX_CHARS = 2000;
/** Longer than the credits of subtitles. */
const MAX_CREDIT_CHARS = 70;
const SENTENCE_END = /[.!?…।؟。！？\n]+/u;
/** What a recogniser writes or leaves out as it likes: the dot of a Turkish İ, the vowel points and lengths of Arabic and Hebrew. */
const POINTS = /[\u0307\u0640\u0591-\u05C7\u064B-\u0652\u0670]/gu;

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

/** The letters and digits of a text, whatever its case, width, marks and blanks. */
const lettersOf = (text: string): string =>
  text
    .slice(0, MAX_CHARS)
    .normalize("NFKC")
    .toLowerCase()
    .replace(POINTS, "")
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, "");

/** The letters of a text once, where it repeats itself. */
function unitsOf(letters: string): string[] {
  const times = Array.from({ length: MOST_REPEATS }, (_, i) => i + 1).filter((n) => letters.length % n === 0);
  return times
    .map((n) => letters.slice(0, letters.length / n))
    .filter((unit, i) => unit.repeat(times[i] ?? 1) === letters);
}

const CREDITS = CREDIT_BEGINNINGS.map(lettersOf);
const COMMUNITY = lettersOf("amara.org");
const isCredit = (letters: string): boolean =>
  letters.length <= MAX_CREDIT_CHARS &&
  (letters.includes(COMMUNITY) || CREDITS.some((beginning) => letters.startsWith(beginning)));
const ALL_PHANTOMS: ReadonlySet<string> = new Set(Object.values(PHANTOM_PHRASES).flat().map(lettersOf));
const DOUBTFUL: ReadonlySet<string> = new Set(DOUBTFUL_PHRASES.map(lettersOf));
/** Recognisers that are told a language fall back on English ones. */
const phantomsIn = (language: string): readonly string[] => [
  ...(PHANTOM_PHRASES[languageOf(language)] ?? []),
  ...(PHANTOM_PHRASES["en"] ?? []),
];

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
  const own = new Set(phantom_phrases.map(lettersOf));
  const isPhantomPart = (part: string): boolean => {
    const letters = lettersOf(part);
    return (
      letters === "" || isCredit(letters) || unitsOf(letters).some((unit) => ALL_PHANTOMS.has(unit) || own.has(unit))
    );
  };
  const known = [...phantomsIn(language), ...phantom_phrases, ...DOUBTFUL_PHRASES, ...backchannels].map(lettersOf);
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
      const said = lettersOf(text);
      return known.some((phrase) => phrase.startsWith(said));
    },
    isBackchannel: (text) => isBackchannel(text, language, nods),
    isDoubtful: (text) => unitsOf(lettersOf(text)).some((unit) => DOUBTFUL.has(unit)),
    isPhantom(text) {
      const said = text.slice(0, MAX_CHARS).replace(SOUND_NOTE, " ");
      if (lettersOf(said) === "") return text.trim() !== "";
      return isPhantomPart(said) || said.split(SENTENCE_END).every(isPhantomPart);
    },
  };
}
