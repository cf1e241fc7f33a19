/** Emoji with their modifiers, joiners and flags: a voice would read their names aloud. © ® ™ can be spoken. */
const EMOJI =
  /(?![©®™])(?:\p{Extended_Pictographic}|\p{Emoji_Modifier}|\p{Regional_Indicator}|\u{FE0E}|\u{FE0F}|\u{20E3})\u{200D}?/gu;

/** Replacements of markup, in this order. Every pattern is bounded, so that no text takes long. */
const RULES: readonly (readonly [RegExp, string])[] = [
  [/[ \t]+/g, " "], // first: no rule below meets two in a row
  [/!?\[([^\][]{0,300})\]\([^()\s]{0,500}(?:\s"[^"]{0,100}")?\)/g, "$1"], // links and images: their text
  [/^[ \t]*`{3,}[\w-]{0,20}[ \t]*$/gm, " "], // code fences
  [/^[ \t]*(?:[-*_][ \t]{0,2}){3,}$/gm, " "], // horizontal rules
  [/^[ \t]*(?:>[ \t]?){1,5}/gm, ""], // quotations
  [/^[ \t]*#{1,6}[ \t]+/gm, ""], // headings
  [/^[ \t]*[-*+•‣–][ \t]+(?:\[[ xX]\][ \t]+)?/gm, ""], // list items
  [/<\/?[a-zA-Z][^<>]{0,80}>/g, " "], // tags
  [/^[ \t]*\|?(?:[ \t]*:?-{3,}:?[ \t]*\|){1,20}[ \t:-]*$/gm, " "], // the rule under a table header
  [/[`|]|\*{2,}|~{2,}|_{2,}/g, " "],
  [/(?<=\S)\*|\*(?![\s.,;:!?]|$)/g, ""], // the DTMF digit * stands alone and stays
  [/(?<![\p{L}\p{N}])_(?=\S)|(?<=\S)_(?![\p{L}\p{N}])/gu, ""], // emphasis; names_like_this stay
];
const SAYS_SOMETHING = /[\p{L}\p{N}\p{Sc}*#%&@+]/u;

/** Text as a voice should read it: without markup and emoji, with single blanks; "" where nothing is left to say. */
export function speakable(text: string): string {
  const plain = RULES.reduce((rest, [pattern, by]) => rest.replace(pattern, by), text.replace(EMOJI, ""))
    .replace(/\s+/g, " ")
    .replace(/ ([.,;!?…।。])(?= |$)/g, "$1") // blanks left by markup
    .trim();
  return SAYS_SOMETHING.test(plain) ? plain : "";
}
