/** The words of a text that were heard when speech stopped after this share of it, whole words only. */
export function heardPrefix(text: string, share: number): string {
  if (share >= 1) return text;
  const chars = Math.floor(text.length * share);
  return /\s/u.test(text[chars] ?? " ") ? text.slice(0, chars).trimEnd() : text.slice(0, chars).replace(/\S*$/u, "").trimEnd();
}
