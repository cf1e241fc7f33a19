/** What a recogniser expects to hear: a bigram model of sentences, in the ARPA format that CMU's tools read. */

/** The share of a word's seen successors that is left to all others. */
const UNSEEN = 0.4;

/** The words of a text as pronunciation dictionaries write them. */
export const wordsIn = (text: string): string[] =>
  text
    .toLowerCase()
    .replaceAll("’", "'")
    .split(/[^a-z']+/)
    .filter((word) => word !== "");

const log10 = (share: number): string => Math.log10(share).toFixed(4);

function counted(sentences: readonly string[]): {
  words: Map<string, number>;
  pairs: Map<string, Map<string, number>>;
} {
  const words = new Map<string, number>();
  const pairs = new Map<string, Map<string, number>>();
  for (const sentence of sentences) {
    const said = ["<s>", ...wordsIn(sentence), "</s>"];
    for (const [at, word] of said.entries()) {
      words.set(word, (words.get(word) ?? 0) + 1);
      const next = said[at + 1];
      if (next === undefined) continue;
      const after = pairs.get(word) ?? new Map<string, number>();
      pairs.set(word, after.set(next, (after.get(next) ?? 0) + 1));
    }
  }
  return { words, pairs };
}

/** A bigram model of the sentences, with a share of each word's successors left to words that never followed it. */
export function bigramModel(sentences: readonly string[]): string {
  const { words, pairs } = counted(sentences);
  const all = [...words.values()].reduce((a, b) => a + b, 0);
  const share = (word: string): number => (words.get(word) ?? 0) / all;
  const unigrams: string[] = [];
  const bigrams: string[] = [];
  for (const word of words.keys()) {
    const after = pairs.get(word);
    const seen = [...(after?.keys() ?? [])].reduce((sum, next) => sum + share(next), 0);
    const rest = after === undefined ? 1 : UNSEEN / Math.max(UNSEEN, 1 - seen);
    unigrams.push(`${word === "<s>" ? "-99" : log10(share(word))} ${word} ${log10(rest)}`);
    const total = [...(after?.values() ?? [])].reduce((a, b) => a + b, 0);
    for (const [next, count] of after ?? []) bigrams.push(`${log10(((1 - UNSEEN) * count) / total)} ${word} ${next}`);
  }
  const parts = [["1-grams", unigrams] as const, ["2-grams", bigrams] as const];
  const counts = parts.map(([, lines], n) => `ngram ${n + 1}=${lines.length}`);
  return [
    "\\data\\",
    ...counts,
    ...parts.flatMap(([name, lines]) => ["", `\\${name}:`, ...lines]),
    "",
    "\\end\\",
    "",
  ].join("\n");
}
