import type { TextFilter } from "./character-filter.ts";

/** Emoji with their modifiers and flags: a voice would read their names aloud. © ® ™ can be spoken. */
const EMOJI = /(?![©®™])[\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Regional_Indicator}\u20E3]+/uy;
/** Text without a mark, a blank or an emoji. */
const PLAIN = /[^\s[\]!`*_~#<>|\\&\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Regional_Indicator}\u20E3]+/uy;
/** Makes an emoji of a key. */
const KEYCAP = "\u20E3";
const BLANKS = /\s+/y;
const WORD = /[\p{L}\p{N}]/u;
const DIGIT = /\p{Nd}/u;
/** What a blank that markup has left is not written before, and behind. */
const CLOSES = /^[.,;:!?…)\]}»”’%。！？，、।]/u;
const OPENS = /[([{«“‘¿¡]$/u;

const LINK_TEXT_MAX = 300;
/** The address behind the text of a link. */
const ADDRESS =
  /\]\((?:<[^<>\n]{0,500}>|(?:[^()\s]|\([^()\s]{0,100}\)){0,500})(?:\s{1,3}(?:"[^"\n]{0,100}"|'[^'\n]{0,100}'))?\s{0,2}\)/y;
const ADDRESS_BEGUN =
  /\](?:\((?:<[^<>\n]{0,500}>?|(?:[^()\s]|\([^()\s]{0,100}\)){0,500}(?:\([^()\s]{0,100})?)(?:\s{1,3}(?:"[^"\n]{0,100}"?|'[^'\n]{0,100}'?)?)?\s{0,2})?$/y;
const REFERENCE = /\]\[[^[\]\n]{0,100}\]/y;
const REFERENCE_BEGUN = /\]\[[^[\]\n]{0,100}$/y;
const FOOTNOTE = /\[\^[\w-]{1,20}\]:?/y;
const DEFINITION = /\[[^[\]\n]{1,100}\]:[ \t]{0,3}<?https?:\/\/\S{0,500}/y;
const DEFINITION_BEGUN = /\[[^[\]\n]{1,100}\](?::[ \t]{0,3}<?\S{0,8})?$/y;
const TAG = /<[a-zA-Z/!?|｜][^<>\n]{0,500}>|<[a-z_]{1,20}[|｜]>/y;
const TAG_BEGUN = /<(?:[a-zA-Z/!?|｜][^<>\n]{0,80}|[a-zA-Z][^<>\n]{0,100}=[^<>\n]{0,400})?$/y;
/** An address in place of a tag. */
const AUTOLINK = /^<((?:https?:\/\/|mailto:)?[\w.+%-]+@?[\w-]+(?:\.[\w-]+)+[^\s<>]*)>$/i;
const COMMENT = "<!--";

/** Lines that separate: a rule, one under a heading, the one under the head of a table. */
const RULER = /[-*_=+|:~ \t]{1,200}/y;
const RULES_MIN = 3;
const FENCE_REST = /[ \t]{0,3}[\w+#.-]{0,20}[ \t]{0,3}/y;
const LIST_MARK = /[-*+•‣–◦▪●·]/u;
const CHECKBOX = /\[[ xX]\][ \t]/y;

/** How many characters to leave out here; `ask`: more text has to tell; 0: none. */
type Skip = number | "ask";

const matchAt = (pattern: RegExp, text: string, at: number): RegExpExecArray | null => {
  pattern.lastIndex = at;
  return pattern.exec(text);
};
const MAX_RUN = 100;
/** Length of the run of one character; a longer one is a run and another. */
function runAt(text: string, at: number): number {
  const most = Math.min(text.length, at + MAX_RUN);
  let end = at;
  while (end < most && text[end] === text[at]) end++;
  return end - at;
}
const isBlank = (char: string): boolean => char === "" || /\s/.test(char);

/** Marks that count at the beginning of a line. `text` from `at` begins with none of its blanks. */
function lineMark(text: string, at: number, last: boolean): Skip {
  const char = text.charAt(at);
  const rest = matchAt(RULER, text, at)?.[0] ?? "";
  const end = at + rest.length;
  if (rest !== "" && end === text.length && !last) return "ask";
  if ((end === text.length || text[end] === "\n") && rest.replace(/[^-*_=]/g, "").length >= RULES_MIN)
    return rest.length;
  if (char === "`") return fence(text, at, last);
  if (char === ">") {
    if (at + 1 === text.length) return last ? 1 : "ask";
    return /[\d=]/.test(text.charAt(at + 1)) ? 0 : 1;
  }
  if (char === "#") return heading(text, at, last);
  if (char === "[") return definition(text, at, last);
  return LIST_MARK.test(char) ? listMark(text, at, last) : 0;
}

function fence(text: string, at: number, last: boolean): Skip {
  const ticks = runAt(text, at);
  if (at + ticks === text.length && !last) return "ask";
  if (ticks < 3) return 0;
  const end = at + ticks + (matchAt(FENCE_REST, text, at + ticks)?.[0].length ?? 0);
  if (end === text.length) return last ? end - at : "ask";
  return text[end] === "\n" || text[end] === "\r" ? end - at : ticks;
}

/** A key stands in front of what it does: "# ends the call". */
function heading(text: string, at: number, last: boolean): Skip {
  const marks = runAt(text, at);
  const next = matchAt(/[ \t]*/y, text, at + marks)?.[0].length ?? 0;
  const begins = at + marks + next;
  if (begins >= text.length) return last ? 0 : "ask";
  const point = String.fromCodePoint(text.codePointAt(begins) ?? 0);
  if (marks > 6 || point === "\n") return 0;
  if (marks === 1) return next > 0 && !/[\p{Ll}\p{P}\p{S}]/u.test(point) ? 1 : 0;
  return next > 0 || /\p{L}/u.test(point) ? marks : 0;
}

function listMark(text: string, at: number, last: boolean): Skip {
  const blanks = matchAt(/[ \t]*/y, text, at + 1)?.[0].length ?? 0;
  const begins = at + 1 + blanks;
  const isKey = text[at] === "*";
  if (begins >= text.length) return last ? (isKey ? 0 : 1) : "ask";
  if (text[begins] === "\n") return isKey ? 0 : 1;
  if (blanks === 0) return 0;
  if (text[begins] === "[" && begins + 4 > text.length && !last) return "ask";
  return 1 + blanks + (matchAt(CHECKBOX, text, begins)?.[0].length ?? 0);
}

function definition(text: string, at: number, last: boolean): Skip {
  const found = matchAt(DEFINITION, text, at);
  if (found === null) return !last && matchAt(DEFINITION_BEGUN, text, at) !== null ? "ask" : 0;
  return at + found[0].length === text.length && !last ? "ask" : found[0].length;
}

/** `[` of a link or a footnote: its address follows its text. */
function bracket(text: string, at: number, last: boolean): Skip {
  const footnote = matchAt(FOOTNOTE, text, at);
  if (footnote !== null) return footnote[0].length;
  if (text.startsWith("[![", at)) return 1;
  const end = text.slice(at + 1, at + LINK_TEXT_MAX + 2).search(/[[\]]/);
  if (end < 0) return !last && text.length - at <= LINK_TEXT_MAX && !text.includes("\n\n", at) ? "ask" : 0;
  const close = at + 1 + end;
  if (text[close] === "[") return 0;
  if (close + 1 === text.length) return last ? 0 : "ask";
  return text[close + 1] === "(" || text[close + 1] === "[" ? 1 : 0;
}

/** `]` with the address of its link. */
function closing(text: string, at: number, last: boolean): Skip {
  const found = matchAt(ADDRESS, text, at) ?? matchAt(REFERENCE, text, at);
  if (found !== null) return found[0].length;
  if (matchAt(ADDRESS_BEGUN, text, at) === null && matchAt(REFERENCE_BEGUN, text, at) === null) return 0;
  if (!last) return "ask";
  // the answer was cut in the address
  return matchAt(/\]\(<?(?:https?:|www\.|mailto:|tel:)/iy, text, at) === null ? 0 : text.length - at;
}

/** The DTMF digit * stands alone, in front of digits or between them; the marks of stress stand at words. */
function star(text: string, at: number, before: string, last: boolean): Skip {
  if (at + 1 === text.length && !last) return "ask";
  const next = text.charAt(at + 1);
  if (next === KEYCAP) return 0;
  if (DIGIT.test(next)) {
    if (DIGIT.test(before)) return 0;
    if (WORD.test(before)) return 1;
    const digits = matchAt(/\d{1,15}/y, text, at + 1)?.[0].length ?? 0;
    const end = at + 1 + digits;
    if (end + 2 > text.length && !last) return "ask";
    return text[end] === "*" && !/[\d#]/.test(text.charAt(end + 1)) ? 1 : 0;
  }
  const alone = isBlank(before) && (isBlank(next) || /[.,;:!?/)\]]/.test(next));
  const quoted = /["'“‘«([/#]/.test(before) && /["'”’»)\]/#]/.test(next);
  return alone || quoted ? 0 : 1;
}

function underscore(text: string, at: number, before: string, last: boolean): Skip {
  const run = runAt(text, at);
  if (at + run === text.length && !last) return "ask";
  return run === 1 && WORD.test(before) && WORD.test(text.charAt(at + 1)) ? 0 : run;
}

function hashes(text: string, at: number, last: boolean): Skip {
  const run = runAt(text, at);
  if (at + run === text.length && !last) return "ask";
  return run > 1 && !DIGIT.test(text.charAt(at + run)) ? run : 0;
}

/** A mark within a line. `before`: the character in front of it. */
function mark(text: string, at: number, before: string, last: boolean): Skip {
  const isLast = at + 1 === text.length && !last;
  const run = /[*~`|]/.test(text.charAt(at)) ? runAt(text, at) : 1;
  switch (text.charAt(at)) {
    case "[":
      return bracket(text, at, last);
    case "]":
      return closing(text, at, last);
    case "!":
      // an image; behind a word it ends a sentence
      if (!isBlank(before)) return 0;
      return isLast ? "ask" : text[at + 1] === "[" ? 1 : 0;
    case "*":
      return run > 1 ? run : star(text, at, before, last);
    case "_":
      return underscore(text, at, before, last);
    case "#":
      return hashes(text, at, last);
    case "~":
      return run > 1 ? run : isLast ? "ask" : 0;
    case "\\":
      return isLast ? "ask" : /[!-/:-@[-`{-~]/.test(text.charAt(at + 1)) ? 1 : 0;
    case "<":
      return matchAt(TAG, text, at)?.[0].length ?? (!last && matchAt(TAG_BEGUN, text, at) !== null ? "ask" : 0);
    case "`":
    case "|":
      return run;
    default:
      return 0;
  }
}

/** Leaves out markup and emoji. Blanks become one, or one end of a line; what is left out between two words is a blank. It holds back no more than what may be the beginning of a mark. */
export class MarkupFilter implements TextFilter {
  #held = "";
  #out = "";
  /** Nothing of this line was said. */
  #lineBegins = true;
  /** The character in front of where we are. */
  #before = "";
  /** The last character that was given; "": none was. */
  #ends = "";
  #gap: "" | " " | "\n" = "";
  /** The gap is one that markup left, or stands beside it. */
  #soft = false;
  #comment = false;

  push(piece: string): string {
    this.#held += piece;
    return this.#run(false);
  }

  end(): string {
    return this.#run(true);
  }

  #run(last: boolean): string {
    this.#out = "";
    let at = 0;
    while (at < this.#held.length) {
      const next = this.#take(at, last);
      if (next === at) break;
      at = next;
    }
    this.#held = this.#held.slice(at);
    return this.#out;
  }

  /** Takes what stands here; where it goes on. The same place: more text has to tell. */
  #take(at: number, last: boolean): number {
    if (this.#comment) return this.#skipComment(at, last);
    const blanks = matchAt(BLANKS, this.#held, at)?.[0];
    if (blanks !== undefined) {
      if (/[\n\r\u2028\u2029]/.test(blanks)) [this.#gap, this.#lineBegins] = ["\n", true];
      else this.#gap ||= " ";
      this.#before = " ";
      return at + blanks.length;
    }
    const plain = this.#lineBegins ? undefined : matchAt(PLAIN, this.#held, at)?.[0];
    const skip = plain === undefined ? this.#skipAt(at, last) : 0;
    if (skip === "ask") return at;
    if (skip > 0) {
      this.#leave(this.#held.slice(at, at + skip));
      return at + skip;
    }
    const text = plain ?? String.fromCodePoint(this.#held.codePointAt(at) ?? 0);
    this.#say(text);
    this.#before = text.slice(-1);
    return at + text.length;
  }

  #skipAt(at: number, last: boolean): Skip {
    const text = this.#held;
    const begins = this.#lineBegins ? lineMark(text, at, last) : 0;
    if (begins !== 0) return begins;
    const emoji = matchAt(EMOJI, text, at);
    if (emoji !== null) return emoji[0].length;
    this.#comment = text.startsWith(COMMENT, at);
    return this.#comment ? COMMENT.length : mark(text, at, this.#before, last);
  }

  #skipComment(at: number, last: boolean): number {
    const end = this.#held.indexOf("-->", at);
    this.#comment = end < 0 && !last;
    if (end < 0) return last ? this.#held.length : Math.max(at, this.#held.length - 2);
    return end + 3;
  }

  #say(text: string): void {
    const joins = this.#soft && (CLOSES.test(text) || OPENS.test(this.#ends));
    if (this.#ends !== "" && !joins) this.#out += this.#gap;
    this.#out += text;
    this.#ends = text.slice(-1);
    this.#gap = "";
    this.#soft = this.#lineBegins = false;
  }

  /** Leaves out what markup is; some of it leaves no blank. */
  #leave(text: string): void {
    const address = AUTOLINK.exec(text)?.[1];
    const joins = /^[[*_\\!]$/.test(text);
    if (address !== undefined) this.#say(address);
    else if (!joins) this.#gap ||= " ";
    this.#soft ||= !joins;
    this.#before = /^[\\[]$/.test(text) ? this.#before : text.slice(-1);
  }
}
