import { capitalise, endWith } from "./english.ts";

/** Turns talk about a person into talk to that person. Pure. */

const PERSON =
  "(?:they|he|she|(?:the|this) (?:customer|caller|person|patient|client|user|recipient|guest|member|buyer|lead)|the other side)";
const ADVERB = "(?:still|also|already|really|now|just|indeed|actually)";
const KEPT_VERBS = /^(can|could|will|would|should|may|might|must|did|had|to|and|or)$/;
const IRREGULAR: Readonly<Record<string, string>> = { is: "are", was: "were", has: "have", does: "do", goes: "go" };

/** A verb's form after "you": "confirms" becomes "confirm", "is" becomes "are". */
export function afterYou(verb: string): string {
  const irregular = IRREGULAR[verb];
  if (irregular !== undefined) return irregular;
  if (KEPT_VERBS.test(verb)) return verb;
  if (/[^aeiou]ies$/.test(verb)) return verb.replace(/ies$/, "y");
  if (/(ss|sh|ch|x|zz)es$/.test(verb)) return verb.replace(/es$/, "");
  return /[^su]s$/.test(verb) ? verb.slice(0, -1) : verb;
}

/**
 * "she confirms her order" becomes "you confirm your order"; `name` is the person's name when it is known.
 * Text in quotation marks is left alone.
 */
export function toSecondPerson(text: string, name: string | null = null): string {
  const who = name === null ? PERSON : `(?:${PERSON}|${escapePattern(name)})`;
  return text
    .split(/("[^"]*"|“[^”]*”)/)
    .map((piece, index) => (index % 2 === 1 ? piece : addressed(piece, who)))
    .join("");
}

function addressed(text: string, who: string): string {
  const subject = new RegExp(
    `\\b${who}(?: (${ADVERB}))? (?!of\\b|on\\b|at\\b|in\\b|for\\b|with\\b|about\\b)([a-z]+)\\b`,
    "gi",
  );
  return text
    .replace(new RegExp(`\\b${who}(?:'s|’s)(?= )`, "gi"), "your")
    .replace(/\b(their|his)\b/gi, "your")
    .replace(
      /\bher(?= (?!to\b|of\b|that\b|if\b|whether\b|for\b|about\b|on\b|at\b|in\b|and\b|or\b|again\b)[a-z])/gi,
      "your",
    )
    .replace(
      subject,
      (_all, adverb: string | undefined, verb: string) =>
        `you ${adverb === undefined ? "" : `${adverb} `}${afterYou(verb)}`,
    )
    .replace(new RegExp(`\\b(?:${who}|them|him|her)\\b`, "gi"), "you")
    .replace(/\bthemselves|himself|herself\b/gi, "yourself");
}

const AUXILIARY = "are|were|can|could|will|would|should|may|might|must|did|had";
const PARTICIPLE = /^(?:(?:still|also|already) )?(?:\w+ed|been|got|had|made|seen|taken|chosen|heard|found|read|done)\b/;

/** Yes-or-no question from a clause in the second person: "you confirm X" becomes "Do you confirm X?". */
export function yesNoQuestion(clause: string): string {
  const text = clause.trim().replace(/[.?!]+$/, "");
  const mine = new RegExp(`^you (?:(${ADVERB}) )?(${AUXILIARY}|have|do) ?(.*)$`, "i").exec(text);
  if (mine !== null) {
    const [, adverb, verb = "", rest = ""] = mine;
    const middle = adverb === undefined ? "" : `${adverb} `;
    if (verb === "do" || (verb === "have" && !PARTICIPLE.test(rest))) return `Do you ${middle}${verb} ${rest}?`;
    return `${capitalise(verb)} you ${middle}${rest}?`;
  }
  if (/^you\b/i.test(text)) return `Do ${text.charAt(0).toLowerCase()}${text.slice(1)}?`;
  const copula = /^(.+?) (is|are|was|were|will|would|can|could|has) (.+)$/.exec(text);
  if (copula !== null) return `${capitalise(copula[2] ?? "")} ${copula[1] ?? ""} ${copula[3] ?? ""}?`;
  const verb = /^(.+?) (still )?(suit|work|fit)s (.+)$/.exec(text);
  if (verb !== null) return `Does ${verb[1] ?? ""} ${verb[2] ?? ""}${verb[3] ?? ""} ${verb[4] ?? ""}?`;
  return `Could you tell me whether ${text}?`;
}

/** Open question from "which day you prefer", "when you would be at home", "what day suits you". */
export function openQuestion(clause: string): string {
  const text = clause.trim().replace(/[.?!]+$/, "");
  const asked = new RegExp(`^(.*?) you (?:(${ADVERB}) )?(${AUXILIARY})\\b ?(.*)$`, "i").exec(text);
  if (asked !== null) {
    const [, start = "", adverb, verb = "", rest = ""] = asked;
    return capitalise(`${start} ${verb} you ${adverb === undefined ? "" : `${adverb} `}${rest}`.trim()) + "?";
  }
  const plain = /^(.*?) (you (?:\w+ )?\w+.*)$/i.exec(text);
  // "which day suits you" has its verb before "you" already.
  const verbBefore = /^(?:which|what|who)\b.* ?(?:suits?|works?|fits?|is|helps?|brings?)$/i.test(plain?.[1] ?? "");
  if (plain !== null && !verbBefore) return `${capitalise(plain[1] ?? "")} do ${plain[2] ?? ""}?`;
  return endWith(capitalise(text), "?");
}

/** The text as a literal inside a regular expression. */
export function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&");
}
