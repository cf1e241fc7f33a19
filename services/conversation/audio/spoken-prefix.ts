/** The first characters of a text, ended at a word. */
export const wordPrefix = (text: string, chars: number): string =>
  chars >= text.length ? text : text.slice(0, chars + 1).replace(/\s*\S*$/u, "");

/** The words of a text that were heard when speech stopped after this share of it, whole words only. */
export const spokenPrefix = (text: string, share: number): string =>
  wordPrefix(text, share >= 1 ? text.length : Math.floor(text.length * share));
