import type { TextFilter } from "./character-filter.ts";
import { isOurs, markAt, MARK_BEGINS, SPOKEN_MARKS, type Mark } from "./thought-marks.ts";

/** What of a text is for the listener at a place of it. */
type Where =
  | { readonly is: "answer" }
  /** Within tags. `after`: what followed where one of the same name ended within another: the answer, if the outer one never ends. */
  | { readonly is: "tags"; readonly bracket: string; readonly open: readonly string[]; readonly after: string | null }
  /** Up to the next token, or up to one that is ours. */
  | { readonly is: "tokens"; readonly theirs: boolean }
  | { readonly is: "words"; readonly ends: string }
  /** The name of a channel, or whose turn it is. */
  | { readonly is: "channel" | "turn"; readonly name: string };
const ANSWER: Where = { is: "answer" };

/** No name of a channel or role is longer. */
const MAX_NAME_CHARS = 80;
/** The answer behind a thought within a thought; more is not kept. */
const MAX_AFTER_CHARS = 4000;
/** Thoughts within thoughts; a deeper one counts as the one around it. */
const MAX_OPEN = 8;
const CHANNEL = /^\s*([a-z_]*)/i;

/** Behind the mark, for tags. */
function inTags(where: Extract<Where, { is: "tags" }>, mark: Mark): Where {
  if (mark.type === "begin" && mark.bracket === where.bracket)
    return { ...where, open: [...where.open, mark.name].slice(0, MAX_OPEN), after: null };
  if (mark.type !== "end" || mark.bracket !== where.bracket) return where;
  const at = where.open.lastIndexOf(mark.name);
  // one that nothing began ends what is open: some begin <thinking> and end </think>
  const open = where.open.slice(0, at < 0 ? -1 : at);
  if (open.length === 0) return ANSWER;
  return { ...where, open, after: open.at(-1) === mark.name ? "" : null };
}

/** Behind the mark. */
function behind(where: Where, mark: Mark): Where {
  if (where.is === "tags") return inTags(where, mark);
  if (mark.type === "begin")
    return where.is === "answer" ? { is: "tags", bracket: mark.bracket, open: [mark.name], after: null } : where;
  if (mark.type !== "token") return where;
  const channel = where.is === "channel" ? (CHANNEL.exec(where.name)?.[1] ?? "").toLowerCase() : null;
  switch (mark.role) {
    case "channel":
      return { is: "channel", name: "" };
    case "turn":
      return { is: "turn", name: "" };
    case "thought":
      return { is: "tokens", theirs: false };
    case "theirs":
      return { is: "tokens", theirs: true };
    case "ours":
      return ANSWER;
    default:
      // a header may name more than its channel: who is called, and in which format
      if (channel !== null && mark.name === "constrain") return where;
      if (channel !== null && mark.name === "message" && channel !== "final") return { is: "tokens", theirs: false };
      if (where.is === "turn" && isOurs(where.name.trim()) === false) return { is: "tokens", theirs: true };
      if (where.is === "tokens" && where.theirs && mark.name !== "" && !/end|eot|eos|return/.test(mark.name))
        return where;
      return ANSWER;
  }
}

/**
 * Leaves out what a model writes for itself: thoughts in the spellings of thought-marks.ts, anywhere in the text, an unfinished one up to
 * the end, and the tokens of its chat template. It holds back no more than what may be the beginning of a mark.
 */
export class ThoughtFilter implements TextFilter {
  #where: Where = ANSWER;
  #held = "";
  #out = "";
  /** Something was left out where we are. */
  #gap = false;
  /** The last character that was given; "": none was. */
  #ends = "";

  push(piece: string): string {
    this.#held += piece;
    return this.#run(false);
  }

  end(): string {
    this.#run(true);
    const where = this.#where;
    if (where.is === "channel" || where.is === "turn") this.#readName(where.is, where.name, true);
    if (where.is === "tags" && where.after !== null) this.#say(where.after);
    return this.#out;
  }

  #run(last: boolean): string {
    this.#out = "";
    if (this.#readBeginning(last)) return "";
    if (this.#where.is === "words" && !this.#readWords(this.#where.ends, last)) return "";
    const text = this.#held;
    let from = 0;
    this.#held = "";
    MARK_BEGINS.lastIndex = 0;
    for (let found = MARK_BEGINS.exec(text); found !== null; found = MARK_BEGINS.exec(text)) {
      const mark = markAt(text, found.index, last);
      if (mark === null) continue;
      this.#read(text.slice(from, found.index));
      from = found.index;
      if (mark === "begun") {
        this.#held = text.slice(from);
        return this.#out;
      }
      // what belongs to a call is not read here
      if (mark.type === "token" && mark.role === "call" && this.#where.is === "answer") continue;
      this.#pass(mark);
      from += mark.length;
      MARK_BEGINS.lastIndex = from;
    }
    this.#read(text.slice(from));
    return this.#out;
  }

  #pass(mark: Mark): void {
    const before = this.#where;
    this.#where = behind(before, mark);
    this.#gap ||= before.is === "answer" || this.#where.is === "answer";
  }

  #say(text: string): void {
    const begun = this.#ends !== "";
    const blank = /\s$/.test(this.#ends);
    const first = begun && !(this.#gap && blank) ? text : text.trimStart();
    if (first === "") return;
    if (this.#gap && begun && !blank && !/^\s/.test(first)) this.#out += " ";
    this.#gap = false;
    this.#ends = first.slice(-1);
    this.#out += first;
  }

  /** Reads what stands between two marks. */
  #read(text: string): void {
    const where = this.#where;
    if (where.is === "answer") this.#say(text);
    else if (where.is === "channel" || where.is === "turn") this.#readName(where.is, where.name + text, false);
    else if (where.is === "tags" && where.after !== null && where.after.length < MAX_AFTER_CHARS)
      this.#where = { ...where, after: where.after + text };
  }

  /** A name ends with its line, or before what is none. */
  #readName(is: "channel" | "turn", text: string, last: boolean): void {
    const line = is === "channel" ? text.search(/\n/) : text.search(/(?<=\w)[^\w]|^\s*[^\w\s]/);
    if (line < 0 && !last && text.length < MAX_NAME_CHARS) {
      this.#where = { is, name: text };
      return;
    }
    const name = (/^\s*([\w-]*)/.exec(text)?.[1] ?? "").toLowerCase();
    const ours = is === "channel" ? name === "final" : isOurs(name);
    if (ours === false) {
      this.#where = { is: "tokens", theirs: is === "turn" };
      return;
    }
    this.#where = ANSWER;
    this.#say(ours === null ? text : ` ${text.trimStart().slice(name.length).replace(/^\s*:/, "")}`);
  }

  /** A thought that begins the answer in words; true where more text has to tell. */
  #readBeginning(last: boolean): boolean {
    if (this.#ends !== "" || this.#where.is !== "answer") return false;
    const text = this.#held.trimStart();
    const lower = text.toLowerCase();
    for (const { begins, goesOn, ends } of SPOKEN_MARKS) {
      if (lower.startsWith(begins) && goesOn.test(text.slice(begins.length))) this.#where = { is: "words", ends };
      else if (!last && lower !== "" && begins.startsWith(lower)) return true;
    }
    return false;
  }

  /** True where the thought in words is over. */
  #readWords(ends: string, last: boolean): boolean {
    const at = this.#held.toLowerCase().indexOf(ends);
    if (at < 0) {
      this.#held = last ? "" : this.#held.slice(-ends.length);
      return false;
    }
    this.#held = this.#held.slice(at + ends.length);
    this.#where = ANSWER;
    return true;
  }
}
