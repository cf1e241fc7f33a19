import { RE2JS } from "re2js";

/**
 * Regular expressions that clients wrote (JavaScript's syntax with the flag u, as JSON Schema asks for), matched in time in proportion to the text: in RE2's
 * syntax by RE2's algorithm. Pure.
 */

/** A pattern whose matching takes time in proportion to the text. */
export interface LinearPattern {
  /** Instructions of its program at most: how much work one character of a text may be. */
  readonly size: number;
  test(text: string): boolean;
}

/** Longest pattern taken, and the most instructions of its program. */
const MAX_CHARS = 2000;
const MAX_SIZE = 5000;

/** Why a pattern can't be matched in linear time, or can't be matched at all. */
class Unusable extends Error {}

/** A part in RE2's syntax, and how many instructions it may become. */
interface Part {
  out: string;
  size: number;
}

const literal = (code: number): string => {
  const char = String.fromCodePoint(code);
  return /[A-Za-z0-9]/.test(char) ? char : `\\x{${code.toString(16)}}`;
};
const BLANKS =
  "\\t\\n\\x0b\\f\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}";
const NO_BLANKS =
  "\\x{0}-\\x{8}\\x{e}-\\x{1f}!-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}";
const CONTROLS: Record<string, number> = { t: 9, n: 10, v: 11, f: 12, r: 13, b: 8 };
/** Instructions that a class of characters may stand for. */
const CLASS_SIZE = 4;

/** Names of Unicode's general categories that JavaScript takes beside the short ones. */
const CATEGORIES: Record<string, string> = {
  Letter: "L",
  Uppercase_Letter: "Lu",
  Lowercase_Letter: "Ll",
  Titlecase_Letter: "Lt",
  Modifier_Letter: "Lm",
  Other_Letter: "Lo",
  Mark: "M",
  Number: "N",
  Decimal_Number: "Nd",
  Punctuation: "P",
  Symbol: "S",
  Currency_Symbol: "Sc",
  Separator: "Z",
  Space_Separator: "Zs",
};

/** The pieces of a pattern that JavaScript takes: an escape, or one character. */
const PIECE =
  /\\u\{[^}]*\}|\\ud[89ab][\da-f]{2}\\ud[c-f][\da-f]{2}|\\u[\da-f]{4}|\\x[\da-f]{2}|\\c[a-z]|\\[pP]\{[^}]*\}|\\k<[^>]*>|\\\d+|\\.|./isuy;
const QUANTIFIER = /(?:[*+?]|\{(\d+)(,?)(\d*)\})\??/y;
const GROUP = /\((?:\?(?:(:)|<[^=!>][^>]*>|(=|!|<=|<!)|([\w-]*:)))?/y;

function propertyOf(escape: string): string {
  const [key, value] = escape.slice(3, -1).split("=") as [string, string | undefined];
  const name = value ?? key;
  const known = value === undefined || ["gc", "General_Category", "sc", "Script"].includes(key);
  if (!known) throw new Unusable(`can't use ${escape}; general categories and scripts can be used`);
  return `\\${escape.charAt(1)}{${CATEGORIES[name] ?? name}}`;
}

/** The character that an escape stands for; null: it stands for a class. */
function codeOf(piece: string): number | null {
  if (!piece.startsWith("\\")) return piece.codePointAt(0) ?? 0;
  const kind = piece.charAt(1);
  const digits = piece.slice(2);
  if (kind === "u" && digits.startsWith("{")) return Number.parseInt(digits.slice(1), 16);
  if (kind === "u")
    return String.fromCharCode(...digits.split(/\\u/i).map((unit) => Number.parseInt(unit, 16))).codePointAt(0) ?? 0;
  if (kind === "x") return Number.parseInt(digits, 16);
  if (kind === "c") return digits.charCodeAt(0) % 32;
  if (kind === "0") return 0;
  if (/[dDwWsSpP]/.test(kind)) return null;
  return CONTROLS[kind] ?? kind.codePointAt(0) ?? 0;
}

const classEscape = (piece: string, inside: boolean): string => {
  if (/^\\p/i.test(piece)) return propertyOf(piece);
  if (piece === "\\s") return inside ? BLANKS : `[${BLANKS}]`;
  if (piece === "\\S") return inside ? NO_BLANKS : `[^${BLANKS}]`;
  return piece;
};

/** Reads a pattern that JavaScript takes, from left to right. */
class Reader {
  readonly #pattern: string;
  #at = 0;
  constructor(pattern: string) {
    this.#pattern = pattern;
  }

  get #ended(): boolean {
    return this.#at >= this.#pattern.length;
  }

  #take(what: RegExp): RegExpExecArray | null {
    what.lastIndex = this.#at;
    const found = what.exec(this.#pattern);
    if (found) this.#at += found[0].length;
    return found;
  }

  /** All alternatives up to the end of the group, or of the pattern. */
  alternatives(): Part {
    const parts: Part[] = [];
    while (!this.#ended && this.#pattern[this.#at] !== ")") {
      const part = this.#atom();
      const repeated = this.#take(QUANTIFIER);
      parts.push(repeated ? this.#repeated(part, repeated) : part);
    }
    this.#at += 1;
    return { out: parts.map(({ out }) => out).join(""), size: parts.reduce((sum, { size }) => sum + size, 1) };
  }

  #repeated({ out, size }: Part, [text, least, comma, most]: RegExpExecArray): Part {
    const times = least === undefined ? 1 : Math.max(Number(least), Number(most ?? 0)) + (comma && !most ? 1 : 0);
    if (size * times > MAX_SIZE) throw new Unusable("repeats too much");
    return { out: out + text, size: size * times + 1 };
  }

  #atom(): Part {
    const next = this.#pattern[this.#at];
    if (next === "(") return this.#group();
    if (next === "[") return this.#class();
    const piece = this.#take(PIECE)?.[0] ?? "";
    if (piece === "|") return { out: "|", size: 1 };
    if (piece === ".") return { out: "[^\\n\\r\\x{2028}\\x{2029}]", size: CLASS_SIZE };
    if (/^[$^]$|^\\b$/i.test(piece)) return { out: piece === "^" ? "\\A" : piece === "$" ? "\\z" : piece, size: 1 };
    if (/^\\[1-9k]/.test(piece)) throw new Unusable("may not refer back to a group");
    const code = codeOf(piece);
    return code === null ? { out: classEscape(piece, false), size: CLASS_SIZE } : { out: literal(code), size: 1 };
  }

  #group(): Part {
    const [, , look, modifiers] = this.#take(GROUP) ?? [];
    if (look) throw new Unusable("may not look ahead or behind");
    if (modifiers) throw new Unusable("may not change its flags");
    const { out, size } = this.alternatives();
    return { out: `(?:${out})`, size };
  }

  #class(): Part {
    this.#at += 1;
    const not = this.#take(/\^/y) ? "^" : "";
    let out = "";
    let size = 1;
    while (this.#pattern[this.#at] !== "]") {
      const piece = this.#take(PIECE)?.[0] ?? "";
      const code = codeOf(piece);
      out += code === null ? classEscape(piece, true) : literal(code);
      size += code === null ? CLASS_SIZE : 1 / CLASS_SIZE;
      if (code !== null && this.#take(/-(?!\])/y)) out += `-${literal(codeOf(this.#take(PIECE)?.[0] ?? "") ?? 0)}`;
    }
    this.#at += 1;
    if (out === "") return { out: not ? "[\\x{0}-\\x{10ffff}]" : "[^\\x{0}-\\x{10ffff}]", size: 1 };
    return { out: `[${not}${out}]`, size };
  }
}

const sentence = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function read(pattern: string, most: number): LinearPattern {
  if (pattern.length > MAX_CHARS) throw new Unusable(`may have at most ${MAX_CHARS} characters`);
  try {
    RegExp(pattern, "u");
  } catch (error) {
    throw new Unusable(`is no regular expression: ${sentence(error).replace(/^Invalid regular expression: /, "")}`);
  }
  const { out, size } = new Reader(pattern).alternatives();
  if (size > most) throw new Unusable("is too large");
  try {
    const compiled = RE2JS.compile(out);
    return { size, test: (text) => compiled.test(text) };
  } catch (error) {
    throw new Unusable(`can't be matched in linear time: ${sentence(error).replace(/^error parsing regexp: /, "")}`);
  }
}

/** The pattern, or what keeps it from being matched in linear time: a text that goes on after its name. `most`: instructions of its program. */
export function linearPattern(pattern: string, most = MAX_SIZE): LinearPattern | string {
  try {
    return read(pattern, most);
  } catch (error) {
    if (error instanceof Unusable) return error.message;
    throw error;
  }
}
