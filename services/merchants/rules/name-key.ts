/** A name as it is searched by: one spelling of what looks the same, without upper case or blanks at the ends. */
export const nameKey = (name: string): string => name.normalize("NFKC").toLowerCase().trim();

/** Above every character of a name that can be stored. */
const LAST = "\u{10FFFF}";

/** The range of keys of the names that begin so; null where nothing was typed. */
export function prefixRange(start: string | undefined): { $gte: string; $lte: string } | null {
  const key = start === undefined ? "" : nameKey(start);
  return key === "" ? null : { $gte: key, $lte: `${key}${LAST}` };
}
