import { wordsOf } from "../../audio/endpointing.ts";

/** Fewer words may be an answer that takes up ours. */
const LEAST_WORDS = 3;
/** So much of an echo are our words in their order; a recogniser mistakes some of what comes back. */
const SHARE = 0.75;
const MAX_WORDS = 60;
const MAX_OURS = 300;

/** Length of the longest row of words that stands in both, in order. */
function commonWords(said: readonly string[], ours: readonly string[]): number {
  let row = Array.from({ length: ours.length + 1 }, () => 0);
  for (const word of said) {
    const next = [0];
    for (const [at, our] of ours.entries())
      next.push(word === our ? (row[at] ?? 0) + 1 : Math.max(next[at] ?? 0, row[at + 1] ?? 0));
    row = next;
  }
  return row.at(-1) ?? 0;
}

/** Whether words are mostly those that we have just said: the line returns our own speech. `partial`: more may follow, and the last may be half a word. Pure. */
export function isEchoOf(text: string, ours: string, partial = false): boolean {
  const all = wordsOf(text).slice(0, MAX_WORDS);
  const known = wordsOf(ours).slice(-MAX_OURS);
  const last = all.at(-1) ?? "";
  const cut = partial && known.some((word) => word.startsWith(last));
  const said = cut ? all.slice(0, -1) : all;
  if (said.length < (partial ? 1 : LEAST_WORDS)) return cut && said.length === 0 && last !== "";
  return commonWords(said, known) >= SHARE * said.length;
}
