import { RE2JS } from "re2js";
import { StoreError } from "./errors.ts";

/** Characters of a pattern at most: compiling one stays under a fifth of a second. */
const MAX_PATTERN = 2000;

const FLAGS: Record<string, number> = { i: RE2JS.CASE_INSENSITIVE, m: RE2JS.MULTILINE, s: RE2JS.DOTALL };

/** PCRE's syntax that is no regular language, by what RE2's error quotes of it. */
const NOT_LINEAR: [RegExp, string][] = [
  [/^`\(\?<?[=!]/u, "look-around"],
  [/^`\\(?:[1-9]|[gk])|^`\(\?P=/u, "a back-reference"],
  [/^`\(\?>/u, "an atomic group"],
  [/^`[*+?}][+]/u, "a possessive quantifier"],
  [/^`\(\?(?:[R0-9&+-]|P>)/u, "recursion"],
  [/^`\(\?[(|']/u, "a conditional, a branch reset or a name in quotes"],
  [/^`\\[KGXC]/u, "one of \\K, \\G, \\X and \\C"],
  [/^`\{\d+(?:,\d*)?\}/u, "a repeat count above 1000"],
];

/** What PCRE calls otherwise than RE2: outside of a character class, and in one. */
const ESCAPES: Record<string, { outside: string; inside: string }> = {
  "\\s": { outside: "[\\s\\x0b]", inside: "\\s\\x0b" },
  "\\S": { outside: "[^\\s\\x0b]", inside: "\\S" },
  "\\h": { outside: "[ \\t]", inside: " \\t" },
  "\\e": { outside: "\\x1b", inside: "\\x1b" },
  "\\R": { outside: "(?:\\r\\n|[\\n\\x0b\\f\\r])", inside: "\\R" },
  "\\Z": { outside: "(?:\\n?\\z)", inside: "\\Z" },
};
const TOKEN = /\\Q.*?(?:\\E|$)|\\.|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]|\(\?#[^)]*\)|\$/gsu;
const TOKEN_OR_BLANK = new RegExp(`${TOKEN.source}|\\s|#[^\\n]*`, "gsu");

/** A place in a text where a regular expression matches; a group that took no part is undefined. */
export interface RegexMatch {
  index: number;
  end: number;
  groups: (string | undefined)[];
}

/** A regular expression whose matching takes time in proportion to the text. */
export class Regex {
  /** How much work one character of a text may be. */
  readonly size: number;
  private readonly compiled: RE2JS;
  constructor(compiled: RE2JS) {
    this.compiled = compiled;
    this.size = compiled.programSize();
  }
  /** Whether it matches anywhere in the text. */
  test(text: string): boolean {
    return this.compiled.test(text);
  }
  /** The first match at or behind `from`. */
  find(text: string, from = 0): RegexMatch | undefined {
    const m = this.compiled.matcher(text);
    if (from > text.length || !m.find(from)) return undefined;
    const groups = Array.from({ length: m.groupCount() }, (_, i) => m.group(i + 1) ?? undefined);
    return { index: m.start(), end: m.end(), groups };
  }
}

/** Pattern and options in RE2's syntax. An x leaves out blanks and comments; PCRE's $ also stands before a last line feed. */
function translated(pattern: string, options: string): string {
  const lastLine = options.includes("m") ? "$" : "(?:\\n?\\z)";
  return pattern.replaceAll(options.includes("x") ? TOKEN_OR_BLANK : TOKEN, (token) => {
    const first = token[0] ?? "";
    if (first === "\\") return ESCAPES[token]?.outside ?? token;
    if (first === "[") return token.replaceAll(/\\./gsu, (escape) => ESCAPES[escape]?.inside ?? escape);
    return first === "$" ? lastLine : "";
  });
}

function refusal(error: unknown): StoreError {
  const message = error instanceof Error ? error.message.replace("error parsing regexp: ", "") : String(error);
  const quoted = message.slice(message.indexOf("`"));
  const what = NOT_LINEAR.find(([syntax]) => syntax.test(quoted))?.[1];
  return new StoreError(
    51091,
    what === undefined
      ? `Regular expression is invalid: ${message}`
      : `Regular expression is invalid: ${what} is not in the embedded store, whose regular expressions take linear time (${message}): run a MongoDB`,
  );
}

/** Checks the options of a regular expression. Errors: 51108 for an unknown one. */
export function checkRegexOptions(options: string): void {
  const unknown = [...options].find((option) => !"imsxu".includes(option));
  if (unknown !== undefined) throw new StoreError(51108, `invalid flag in regex options: ${unknown}`);
}

/** Compiles a regular expression (PCRE, options imsxu). Errors: 51108 for an unknown option, 51091 for a pattern that is wrong, too long or not linear. */
export function regexOf(regex: { pattern: string; options: string }): Regex {
  // PCRE allows options at the head of a pattern, (?i)abc, and saying that it is UTF-8.
  const head = /^(?:\(\*UTF8?\))*(?:\(\?([imsx]+)\))?/u.exec(regex.pattern);
  const options = `${regex.options}${head?.[1] ?? ""}`;
  checkRegexOptions(options);
  const pattern = regex.pattern.slice(head?.[0].length ?? 0);
  if (pattern.length > MAX_PATTERN)
    throw new StoreError(
      51091,
      `Regular expression is invalid: the embedded store takes patterns of at most ${MAX_PATTERN} characters: run a MongoDB`,
    );
  const flags = Object.entries(FLAGS).reduce((all, [option, flag]) => (options.includes(option) ? all | flag : all), 0);
  try {
    return new Regex(RE2JS.compile(translated(pattern, options), flags));
  } catch (error) {
    throw refusal(error);
  }
}
