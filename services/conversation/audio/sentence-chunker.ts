/** A shorter beginning is not worth a synthesis request of its own. */
const FIRST_MIN_CHARS = 12;
/** From this length on the first part may end at a comma, so that speech begins early. */
const FIRST_COMMA_CHARS = 25;
/** Longest part; a longer one is cut at a blank. */
const CHUNK_MAX_CHARS = 300;
/** Text after a mark that may be needed to decide whether it ends a sentence. */
const AHEAD_CHARS = 20;

/** Marks that end a sentence before a blank, and those of scripts without blanks. */
const ENDS = ".!?…।॥؟۔";
const WIDE_ENDS = "。！？｡";
/** Marks that end a clause, which is enough for the first part. */
const CLAUSES = ";:؛";
const WIDE_CLAUSES = "；：";
const COMMAS = ",،";
const WIDE_COMMAS = "，、";
const ANY_MARK = new RegExp(`[${ENDS}${WIDE_ENDS}${CLAUSES}${WIDE_CLAUSES}${COMMAS}${WIDE_COMMAS}\\n]`, "gu");
/** Characters between a mark and the blank: more marks, quotes, brackets, markup. */
const CLOSERS = /[.!?…।॥؟۔。！？"'”’»)\]*_`」』）]/u;

/** Words whose dot does not end a sentence. */
const ABBREVIATIONS = new Set([
  ..."dr mr mrs ms mx prof st mt jr sr rev gen sgt capt lt hon vs approx dept est ext fig inc ltd corp no nos vol al e.g i.e cf ave blvd apt".split(
    " ",
  ),
  ..."nr str bzw ca inkl exkl evtl ggf tel hr fr frl z.b d.h u.a o.ä s.o v.a i.d.r mind max min mio mrd abs art tägl zzgl geb vgl gem".split(
    " ",
  ),
  ..."mme mlle mm me bd av env éd p.ex c.-à-d n.b sra srta dña ud uds vd vds p.ej pág núm aprox dott sig sig.ra sigg avv ing ecc dhr mevr bijv d.w.z evt jl incl tél tfno".split(
    " ",
  ),
]);
/** Words whose dot ends a sentence only before a capital. */
const SOMETIMES = new Set(
  "a.m p.m am pm etc usw enz u.s u.k jan feb mar apr jun jul aug sep sept oct nov dec co".split(" "),
);
const MONTH = /^(?:jan|feb|mär|mae|apr|mai|jun|jul|aug|sep|okt|nov|dez)/i;

type Verdict = "end" | "none" | "unknown";

/** The word before a dot, with dots within it. */
const wordBefore = (text: string, at: number): string =>
  /[\p{L}\p{N}.-]*$/u.exec(text.slice(Math.max(at - AHEAD_CHARS, 0), at))?.[0].toLowerCase() ?? "";

/** Whether the dot at `at` ends a sentence; `rest` follows the blanks after it. */
function dotEnds(text: string, at: number, rest: string): Verdict {
  const word = wordBefore(text, at);
  if (ABBREVIATIONS.has(word) || (/^\p{L}$/u.test(word) && word !== "i")) return "none";
  const number = /^\d{1,2}$/.test(word);
  if (number && text.slice(0, at).trim() === word) return "none"; // 1. as in a list
  const careful = number || SOMETIMES.has(word) || text.charAt(at) === "…" || /[.…]/.test(text.charAt(at + 1));
  if (!careful) return "end";
  if (rest === "" || (number && rest.length < 3)) return "unknown";
  if (number && MONTH.test(rest)) return "none";
  return /^\p{Ll}/u.test(rest) ? "none" : "end";
}

/** End of the marks, quotes and brackets after a mark. */
function closed(text: string, at: number): number {
  let end = at;
  while (end < text.length && CLOSERS.test(text.charAt(end))) end++;
  return end;
}

/** Whether a part may end with the mark at `at`, and where it ends. */
function judge(text: string, at: number, first: boolean): { verdict: Verdict; end: number } {
  const mark = text.charAt(at);
  if (mark === "\n") return { verdict: "end", end: at };
  const comma = COMMAS.includes(mark) || WIDE_COMMAS.includes(mark);
  const clause = comma || CLAUSES.includes(mark) || WIDE_CLAUSES.includes(mark);
  const end = clause ? at + 1 : closed(text, at + 1);
  if (clause && (!first || (comma && end < FIRST_COMMA_CHARS))) return { verdict: "none", end };
  if (end >= text.length) return { verdict: "unknown", end };
  const wide = WIDE_ENDS.includes(mark) || WIDE_CLAUSES.includes(mark) || WIDE_COMMAS.includes(mark);
  if (wide) return { verdict: "end", end };
  if (!/\s/.test(text.charAt(end))) return { verdict: "none", end };
  const rest = text.slice(end, end + AHEAD_CHARS).trimStart();
  // groups of a dictated number belong together
  if (/\d/.test(text.charAt(at - 1))) {
    if (rest === "") return { verdict: "unknown", end };
    if (/^[\d+(]/.test(rest)) return { verdict: "none", end };
  }
  return { verdict: mark === "." || mark === "…" ? dotEnds(text, at, rest) : "end", end };
}

/** End of the first part of the text; null: not known yet. */
function partEnd(text: string, first: boolean): number | null {
  ANY_MARK.lastIndex = 0;
  for (let found = ANY_MARK.exec(text); found && found.index < CHUNK_MAX_CHARS; found = ANY_MARK.exec(text)) {
    const { verdict, end } = judge(text, found.index, first);
    if (verdict === "unknown" && text.length < CHUNK_MAX_CHARS + AHEAD_CHARS) return null;
    if (verdict === "end" && end <= CHUNK_MAX_CHARS && (!first || end >= FIRST_MIN_CHARS)) return end;
    ANY_MARK.lastIndex = Math.max(end, found.index + 1);
  }
  return text.length < CHUNK_MAX_CHARS + AHEAD_CHARS ? null : forcedEnd(text);
}

/** Where to cut a text without an end in time: at its last blank or within a word, but never within a character. */
function forcedEnd(text: string): number {
  const blank = text.slice(0, CHUNK_MAX_CHARS + 1).search(/\s\S*$/);
  if (blank > 0) return blank;
  return /[\uD800-\uDBFF]/.test(text.charAt(CHUNK_MAX_CHARS - 1)) ? CHUNK_MAX_CHARS - 1 : CHUNK_MAX_CHARS;
}

/**
 * Cuts a growing text into a first clause, so that speech begins early, and whole sentences after it. All parts together are the
 * text that was pushed, apart from blanks between them.
 */
export function sentenceChunker() {
  let text = "";
  let first = true;

  function complete(): string[] {
    const parts: string[] = [];
    for (let end = partEnd(text, first); end !== null; end = partEnd(text, first)) {
      take(parts, end);
    }
    return parts;
  }
  function take(parts: string[], end: number): void {
    const part = text.slice(0, end).trim();
    text = text.slice(end).trimStart();
    if (part === "") return;
    first = false;
    parts.push(part);
  }

  return {
    /** Takes a piece; returns the parts that are complete now, in order. */
    push(piece: string): string[] {
      text = (text + piece).trimStart();
      return complete();
    },
    /** The text is complete: returns the parts that are left. */
    end(): string[] {
      const parts = complete();
      while (text.length > CHUNK_MAX_CHARS) take(parts, forcedEnd(text));
      take(parts, text.length);
      first = true;
      return parts;
    },
  };
}
