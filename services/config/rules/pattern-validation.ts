/** Whether a pattern is safe to match against speech and DTMF of customers: by its own shape it can't take long. Pure. */

/** Values that patterns are tried on are at most as long. */
const MAX_VALUE_CHARS = 200;
/** Most ways in which a value may be divided among the parts of a pattern. */
const MAX_WAYS = 1_000_000;

const REPEATED = /^(?:[*+]|\{(\d*)(,?)(\d*)\})\??/;
const ATOM = /^(?:\\.|\[(?:\\.|[^\]\\])*\]|[^()|?*+{}[\]\\])/u;

/** In how many ways a repetition can be read. */
function waysOf([whole, least, comma, most]: RegExpExecArray): number {
  if (!whole.startsWith("{")) return MAX_VALUE_CHARS;
  if (comma === "") return 1;
  return most === "" || most === undefined
    ? MAX_VALUE_CHARS
    : Math.max(1, Math.min(Number(most), MAX_VALUE_CHARS) - Number(least) + 1);
}

/** The ways of all parts together; a text says what is not allowed. Ways of alternatives in a row multiply. */
function waysThrough(pattern: string): number | string {
  let rest = pattern;
  let ways = 1;
  while (rest !== "") {
    const piece = ATOM.exec(rest)?.[0] ?? rest.slice(0, 1);
    if (/^\\[1-9k]/.test(piece)) return "may not refer back to a group";
    if (/^\(\?(?!:)/.test(rest)) return "may hold only plain groups, ( ) and (?: )";
    const isGroup = piece === ")";
    if (piece === "|") ways *= 2;
    rest = rest.slice(rest.startsWith("(?:") ? 3 : piece.length);
    const repeated = REPEATED.exec(rest);
    if (repeated && isGroup) return "may not repeat a group; repeat single characters and classes, as in [0-9]{4}";
    if (repeated) {
      ways *= waysOf(repeated);
      rest = rest.slice(repeated[0].length);
    } else if (rest.startsWith("?") && piece !== "(") {
      ways *= 2;
      rest = rest.slice(1);
    }
  }
  return ways;
}

/** What is wrong with a pattern; null when it can be used. */
export function patternIssue(pattern: string): string | null {
  try {
    RegExp(`^(?:${pattern})$`, "iu");
    RegExp(pattern, "iu"); // what closes our own group and opens another is no pattern either
  } catch (error) {
    return `is no regular expression: ${error instanceof Error ? error.message.replace(/^Invalid regular expression: /, "") : String(error)}`;
  }
  const ways = waysThrough(pattern);
  return typeof ways === "string" ? ways : waysIssue(ways);
}

const waysIssue = (ways: number): string | null =>
  ways > MAX_WAYS ? "repeats too many parts: a customer's words could keep the process busy" : null;

/** What is wrong with usable patterns that one value after the other is tried on, all together; null: nothing. */
export const patternsIssue = (patterns: readonly string[]): string | null =>
  waysIssue(patterns.map(waysThrough).reduce<number>((sum, ways) => sum + Number(ways), 0));
