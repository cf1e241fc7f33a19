/** Plain English, cut into sentences, clauses, words and stems. Pure. */

const CONTRACTIONS: readonly (readonly [RegExp, string])[] = [
  [/\bcan't\b|\bcannot\b|\bcant\b/g, "can not"],
  [/\bwon't\b|\bwont\b/g, "will not"],
  [/\bshan't\b/g, "shall not"],
  [/\bdont\b/g, "do not"],
  [/\bdoesnt\b/g, "does not"],
  [/\b(\w+)n't\b/g, "$1 not"],
  [/\bi'm\b|\bim\b/g, "i am"],
  [/\blet's\b/g, "let us"],
  [/\b(it|that|what|who|he|she|there|here|how|when|where|day|time|one)'s\b/g, "$1 is"],
  [/\b(\w+)'re\b/g, "$1 are"],
  [/\b(\w+)'ll\b/g, "$1 will"],
  [/\b(\w+)'ve\b/g, "$1 have"],
  [/\b(\w+)'d\b/g, "$1 would"],
];

/** Lower case, straight apostrophes, contractions written out ("can't" becomes "can not"), single spaces. */
export function normalise(text: string): string {
  let plain = text.toLowerCase().replace(/[\u2018\u2019\u0060]/g, "'");
  for (const [pattern, full] of CONTRACTIONS) plain = plain.replace(pattern, full);
  return plain.replace(/\s+/g, " ").trim();
}

/** The words of a text, normalised; punctuation dropped, "snake_case" and "camelCase" taken apart. */
export function wordsOf(text: string): string[] {
  const apart = text.replace(/([a-z])([A-Z])/g, "$1 $2").replaceAll("_", " ");
  return normalise(apart).match(/[a-z0-9]+/g) ?? [];
}

const SUFFIXES: readonly (readonly [RegExp, string])[] = [
  [/ies$|ied$/, "y"],
  [/(lation|ation)s?$/, ""],
  [/ings?$/, ""],
  [/ed$/, ""],
  [/(?<=ss|sh|ch|x|z)es$/, ""],
  [/(?<=[^su])s$/, ""],
  [/ly$/, ""],
];
const SHORTEST_STEM = 3;

/** A word without its ending, so that "confirms", "confirmed" and "confirmation" meet. */
export function stem(word: string): string {
  for (const [suffix, replacement] of SUFFIXES) {
    if (!suffix.test(word)) continue;
    const cut = word.replace(suffix, replacement);
    if (cut.length >= SHORTEST_STEM) return bare(cut);
  }
  return bare(word);
}

/** Drops a doubled last consonant and a mute e: "cancell" and "cancel", "schedul" and "schedule". */
function bare(word: string): string {
  const single = word.replace(/([bdglmnprt])\1$/, "$1");
  return single.length > SHORTEST_STEM ? single.replace(/[ey]$/, "") : single;
}

const STOP_WORDS = new Set(
  (
    "a an and any are as at be been but by can could did do does for from had has have he her him his i if in is it its me my not of on or our " +
    "please she should so some that the their them then there they this to us was we were will with would you your when who whom which what where " +
    "why how wants want says say said user customer person caller call calls function tool use used if once only also very just well now here"
  ).split(" "),
);

/** Stems of the words that carry meaning. */
export function contentStems(text: string): Set<string> {
  const meaningful = wordsOf(text).filter((word) => word.length > 1 && !STOP_WORDS.has(word));
  return new Set(meaningful.map(stem));
}

const SENTENCE_END = /(?<=[.!?]["'”’)]?)\s+(?=["'“‘(]?[\p{Lu}\d[{])|\n+/u;
const ABBREVIATION = /\b(?:mr|mrs|ms|dr|prof|st|no|nr|vs|etc|approx|e\.g|i\.e|a\.m|p\.m|inc|ltd|co)\.$/i;

/** Splits into sentences, punctuation kept; "Dr. Ito" and "42.50" stay whole, a line break always ends a sentence. */
export function sentencesOf(text: string): string[] {
  const sentences: string[] = [];
  for (const line of text.split(/\n+/)) {
    let open = "";
    for (const piece of line.split(SENTENCE_END)) {
      open = open === "" ? piece.trim() : `${open} ${piece.trim()}`;
      if (ABBREVIATION.test(open) || quoteIsOpen(open)) continue;
      if (open !== "") sentences.push(open);
      open = "";
    }
    if (open !== "") sentences.push(open);
  }
  return sentences;
}

function quoteIsOpen(text: string): boolean {
  const straight = text.split('"').length - 1;
  return straight % 2 === 1 || text.split("“").length > text.split("”").length;
}

const CLAUSE_BREAK = /[,;:.!?()\u2013\u2014]+(?=\s|$)|\s+-+\s+|\s+(?:but|and|so|because|although|though|then)\s+/;

/** Clauses of a sentence, normalised, without punctuation: the reach of a "not". */
export function clausesOf(sentence: string): string[] {
  return normalise(sentence)
    .split(CLAUSE_BREAK)
    .map((clause) =>
      clause
        .replace(/[^a-z0-9:'/#*+.@ -]/g, " ")
        .replace(/\s+/g, " ")
        .trim(),
    )
    .filter((clause) => clause !== "");
}

/** First letter in upper case. */
export function capitalise(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Ends the text with a mark unless it ends with one already. */
export function endWith(text: string, mark: "." | "?" | "!"): string {
  const trimmed = text.trim().replace(/[,;:]+$/, "");
  return /[.!?]["'”’]?$/.test(trimmed) ? trimmed : `${trimmed}${mark}`;
}
