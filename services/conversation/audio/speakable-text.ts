/** Pictures, their colours and joints, flags and framed keys: a voice would read their names aloud. © ® ™ can be spoken. */
const PICTURES =
  /(?![©®™])(?:\p{Extended_Pictographic}|\p{Emoji_Modifier}|\p{Regional_Indicator}|\u{FE0E}|\u{FE0F}|\u{20E3})\u{200D}?/gu;

/** What becomes of markup, in this order. Every pattern is bounded, so that no text takes long. */
const RULES: readonly (readonly [RegExp, string])[] = [
  [/!?\[([^\][]{0,300})\]\([^()\s]{0,500}(?:\s"[^"]{0,100}")?\)/g, "$1"], // links and images: their words
  [/^[ \t]*`{3,}[\w-]{0,20}[ \t]*$/gm, " "], // fences of code
  [/^[ \t]*(?:[-*_][ \t]{0,2}){3,}$/gm, " "], // a line across
  [/^[ \t]*(?:>[ \t]?){1,5}/gm, ""], // quotations
  [/^[ \t]*#{1,6}[ \t]+/gm, ""], // headings
  [/^[ \t]*[-*+•‣–][ \t]+(?:\[[ xX]\][ \t]+)?/gm, ""], // points of a list
  [/<\/?[a-zA-Z][^<>]{0,80}>/g, " "], // tags
  [/^[ \t]*\|?(?:[ \t]*:?-{3,}:?[ \t]*\|){1,20}[ \t:-]*$/gm, " "], // the line under a table's head
  [/[`|]|\*{2,}|~{2,}|_{2,}/g, " "],
  [/(?<=\S)\*|\*(?![\s.,;:!?]|$)/g, ""], // a key named * stands alone and stays
  [/(?<![\p{L}\p{N}])_(?=\S)|(?<=\S)_(?![\p{L}\p{N}])/gu, ""], // stressed words; names_like_this stay
  [/\s+([.,;!?…।。])(?=\s|$)/g, "$1"], // blanks that markup has left
];
const SAYS_SOMETHING = /[\p{L}\p{N}\p{Sc}*#%&@+]/u;

/** A part of a text as a voice should read it: no markup, no pictures, single blanks; "" where nothing to say is left. */
export function speakable(text: string): string {
  const plain = RULES.reduce((rest, [pattern, by]) => rest.replace(pattern, by), text.replace(PICTURES, ""))
    .replace(/\s+/g, " ")
    .trim();
  return SAYS_SOMETHING.test(plain) ? plain : "";
}
