/** A text that comes in pieces goes through it: `push` gives what is decided of it, `end` the rest. However a text is cut, all it gives together is the same. */
export interface TextFilter {
  push(piece: string): string;
  end(): string;
}

/** Characters that markup writes by their names: a voice would spell the names. */
const NAMED: Readonly<Record<string, string>> = {
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " ",
  ndash: "–",
  mdash: "—",
  hellip: "…",
  lsquo: "‘",
  rsquo: "’",
  ldquo: "“",
  rdquo: "”",
  laquo: "«",
  raquo: "»",
  bull: "•",
  middot: "·",
  deg: "°",
  euro: "€",
  pound: "£",
  copy: "©",
  reg: "®",
  trade: "™",
};
/** `&amp;` before another is what is left of one that was written twice. */
const ENTITY =
  /&(?:amp;){0,4}(?:(lt|gt|quot|apos|nbsp|[nm]dash|hellip|[lr][sd]quo|[lr]aquo|bull|middot|deg|euro|pound|copy|reg|trade|#\d{1,7}|#x[\da-f]{1,6});)?/gi;
/** The end of a piece that may be the beginning of an entity. */
const BEGUN_ENTITY = /&(?:amp;){0,4}[#\w]{0,8}$/;
const MAX_CODE_POINT = 0x10_ffff;

/** Colours of a terminal. */
const TERMINAL = /(?!\s)\p{Cc}\[[\d;]{0,12}[A-Za-z]/gu;
/** Control characters, lone halves of characters, private use, invisible marks: direction, width, joints, variants, tags. */
const UNHEARD =
  /(?![\t\n\r\v\f])[\p{Cc}\p{Cs}\p{Co}]|\p{Variation_Selector}|[\u00AD\u061C\u115F\u1160\u180E\u200B\u200E\u200F\u202A-\u202E\u2060-\u206F\u3164\uFEFF\uFFA0\uFFF0-\uFFFF]|\u034F|\u17B4|\u17B5|[\u{1BCA0}-\u{1BCA3}\u{1D173}-\u{1D17A}\u{E0000}-\u{E00FF}]/gu;
/** Joiners belong to the spelling of scripts that join their letters; elsewhere they hide something. */
const JOINER =
  /(?<![[\p{L}\p{M}]--[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}]])[\u200C\u200D]/gv;

/** Letters and digits that are styled by their code: bold, italic, script. */
const STYLED = /[\u{1D400}-\u{1D7FF}]+/gu;

function named(entity: string, name: string | undefined): string {
  if (name === undefined) return entity.length > 1 ? "&" : entity;
  if (!name.startsWith("#")) return NAMED[name.toLowerCase()] ?? entity;
  const code = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
  return code <= MAX_CODE_POINT ? String.fromCodePoint(code) : "";
}

/** Writes characters as themselves, and leaves out those that nobody hears: what hides a mark from the filters behind it, or breaks what a carrier reads. */
export function characterFilter(): TextFilter {
  let held = "";
  let before = "";
  const take = (text: string): string => {
    const heard = text
      .replace(ENTITY, named)
      .replace(TERMINAL, "")
      .replace(UNHEARD, "")
      .replace(STYLED, (letters) => letters.normalize("NFKC"));
    const known = before.length;
    const plain = (before + heard).replace(JOINER, "");
    const last = Array.from(plain.slice(-4));
    before = last.slice(/[\u200C\u200D]/.test(last.at(-1) ?? "") ? -2 : -1).join("");
    return plain.slice(known);
  };
  return {
    push(piece) {
      const text = held + piece;
      const begun = BEGUN_ENTITY.exec(text.slice(-40));
      const half = /[\uD800-\uDBFF]$/.test(text) ? 1 : 0;
      const cut = text.length - Math.max(begun?.[0].length ?? 0, half);
      held = text.slice(cut);
      return take(text.slice(0, cut));
    },
    end() {
      const last = held;
      held = "";
      return take(last);
    },
  };
}
