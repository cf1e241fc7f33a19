import { parsePhoneNumberFromString as parseExactly } from "libphonenumber-js/max";
import { parsePhoneNumberFromString as parse } from "libphonenumber-js/min";
import { MAX_PHONE_TEXT } from "./contracts/define.ts";
import { fail } from "./errors.ts";

const E164 = /^\+[1-9][0-9]{6,14}$/;
/** North American area codes begin with 2 to 9; a length check alone lets +1 000… through. */
const NO_AREA_CODE = /^\+1[01]/;

/** Whether a text is written as E.164: a plus and 7 to 15 digits. */
export const isE164 = (text: string): boolean => E164.test(text);

/** What a person's or program's text was read as: the number in E.164 (`+14155550100`), or why it is none: the end of a sentence that begins with its field. */
export type ReadNumber = { e164: string } | { issue: string };

const NO_NUMBER = "is not a phone number in E.164, such as +14155550100";
const LOST_DIGITS = "is in the scientific notation of a spreadsheet, which loses digits; format its column as text";
const MAY_BE_DECIMALS =
  "ends in a dot or comma with digits that may be a spreadsheet's decimals; write it like +14155550100";
const issue = (what: string): ReadNumber => ({ issue: what });

/** Marks that show nothing: soft hyphens, joiners, zero-width blanks, byte order marks, and marks of direction but the one that turns digits round (U+202E). */
const INVISIBLE = /\u00ad|\u061c|\ufeff|[\u200b-\u200f]|[\u202a-\u202d]|[\u2060-\u2064]|[\u2066-\u206f]/g;
const BLANKS = /\p{Zs}/gu;
const DASHES = /[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]/g;
/** What spreadsheets and address books put around a number: quotes, a formula of one text, the apostrophe of a text cell, the scheme of RFC 3966. */
const WRAPPERS: readonly RegExp[] = [
  /^=\s*"(.*)"$/s,
  /^"(.*)"$/s,
  /^'(.*)'$/s,
  /^[\u201c\u201d\u201e](.*)[\u201c\u201d]$/s,
  /^[\u2018\u2019](.*)[\u2018\u2019]$/s,
  /^['\u2018\u2019](.*)$/s,
  /^tel:(.*)$/is,
];
const MAX_WRAPPERS = 4;

/** The text without what is around the number, with ASCII blanks and dashes. */
function unwrapped(text: string): string {
  let bare = text.replace(INVISIBLE, "").trim();
  for (let n = 0; n < MAX_WRAPPERS; n++) {
    const inner = WRAPPERS.map((wrapper) => wrapper.exec(bare)?.[1]).find((found) => found !== undefined);
    if (inner === undefined) break;
    bare = inner.trim();
  }
  return bare.replace(BLANKS, " ").replace(DASHES, "-");
}

const SCIENTIFIC = /^\+?[0-9]+(?:[.,][0-9]+)?[eE][+-]?[0-9]+$/;
const DECIMALS = /[.,][0-9]+$/;
const SEPARATORS = /[ ().-]/g;
const ONLY_DIGITS = /^\+?[0-9]+$/;
/** A dot and so many digits behind digits alone are decimals, never a group. */
const MOST_DECIMALS = 2;

/**
 * The text without the decimals of a spreadsheet (`.0`, `,00`); null: digits behind a dot or comma that are none, or may be either. Dots separate groups of two digits and more, and
 * so does the last of several: `+33.6.12.34.56.00`.
 */
function withoutDecimals(text: string): string | null {
  const [tail = ""] = DECIMALS.exec(text) ?? [];
  if (tail === "") return text;
  const head = text.slice(0, -tail.length);
  const [zeros, digits] = [/^.0+$/.test(tail), tail.length - 1];
  if (digits === 1 || tail.startsWith(",")) return zeros ? head : null;
  if (ONLY_DIGITS.test(head)) return zeros ? head : digits <= MOST_DECIMALS ? null : text;
  return zeros && !head.includes(".") ? null : text;
}

const shown = (character: string): string =>
  /^[!-~]$/.test(character)
    ? character
    : `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;

/** What keeps a text from being a plus and digits with separators between them; null: it is that. */
function foreignIn(text: string): string | null {
  const [foreign] = /[^0-9+ ().-]/u.exec(text) ?? [];
  if (foreign !== undefined)
    return `holds ${shown(foreign)}, which no number in E.164 has; write it like +14155550100, without an extension`;
  if (text.lastIndexOf("+") > 0) return "holds a plus behind other characters; give one number, such as +14155550100";
  if (text.startsWith("+")) return null;
  return text.startsWith("00")
    ? "begins with 00; write a plus in its place, such as +14155550100"
    : "has no plus and country code in front, without which it may be another number; write it like +14155550100";
}

/** Spellings of one number that its country has given up, and the one it has now. Mexico: the 1 of mobile numbers, 01, 044 and 045 ended in 2019. */
const GIVEN_UP: readonly (readonly [RegExp, string])[] = [[/^\+52(?:1|01|044|045)([2-9][0-9]{9})$/, "+52$1"]];

function parsed(text: string): string | null {
  const known = GIVEN_UP.find(([old]) => old.test(text));
  const number = parse(known ? text.replace(...known) : text, { extract: false });
  if (!number?.isPossible() || number.ext !== undefined) return null;
  return isE164(number.number) && !NO_AREA_CODE.test(number.number) ? number.number : null;
}

/**
 * Reads a number as it was typed, everywhere the same: what a spreadsheet or an address book adds is taken away where it is certain what the number was, and named where it is not;
 * two spellings of one number must never differ for the blacklist. Digits are ASCII. Checked is the form libphonenumber knows for the country (calling code, lengths, trunk
 * prefix). Its tables of allocated ranges are left out: they age, a new range would be refused, and the carrier's own refusal (INVALID_NUMBER) rings nowhere.
 */
export function readNumber(text: string): ReadNumber {
  if (text.length > MAX_PHONE_TEXT) return issue(NO_NUMBER);
  const bare = unwrapped(text);
  if (SCIENTIFIC.test(bare)) return issue(LOST_DIGITS);
  const whole = withoutDecimals(bare);
  if (whole === null) return issue(MAY_BE_DECIMALS);
  const foreign = whole === "" ? NO_NUMBER : foreignIn(whole);
  if (foreign !== null) return issue(foreign);
  if (!/^\+[ (]*[1-9].*[0-9]$/.test(whole)) return issue(NO_NUMBER);
  const e164 = parsed(whole.replace(SEPARATORS, ""));
  // a trunk zero may be dropped once; what changes again on a second reading is no number
  return e164 !== null && parsed(e164) === e164 ? { e164 } : issue(NO_NUMBER);
}

/** The number in E.164, or null when the text is no valid phone number with its country code. */
export function toE164(text: string): string | null {
  const read = readNumber(text);
  return "e164" in read ? read.e164 : null;
}

/** Why a text is no phone number: the end of a sentence that begins with its field; null: it is one. */
export function numberIssue(text: string): string | null {
  const read = readNumber(text);
  return "issue" in read ? read.issue : null;
}

/** Countries of recent numbers: each lead needs its country four times, and our own numbers come with every lead. */
const countries = new Map<string, string | null>();
const MAX_COUNTRIES = 20_000;

/**
 * ISO 3166 alpha-2 country of a number in E.164. Where a calling code is shared and the range is not allocated, its main country (+1: US);
 * null where the number belongs to no country (satellite, universal free-phone) or is no number.
 */
export function countryOf(e164: string): string | null {
  const known = countries.get(e164);
  if (known !== undefined) return known;
  if (!E164.test(e164)) return null;
  const number = parseExactly(e164, { extract: false });
  const country = number?.country ?? number?.getPossibleCountries()[0] ?? null;
  if (countries.size >= MAX_COUNTRIES) countries.clear();
  countries.set(e164, country);
  return country;
}

/** The number that a request gives in its field `name`, E.164. INVALID_PHONE_NUMBER. */
export function givenNumber(text: string, name: string): string {
  const read = readNumber(text);
  return "e164" in read
    ? read.e164
    : fail("INVALID_PHONE_NUMBER", `${name} ${read.issue}. Nothing was changed.`, {
        errors: [{ path: name, message: read.issue }],
      });
}

/** The number that a list is narrowed to by its filter `name`. INVALID_PHONE_NUMBER. */
export function soughtNumber(text: string, name: string): string {
  const read = readNumber(text);
  return "e164" in read
    ? read.e164
    : fail("INVALID_PHONE_NUMBER", `The filter ${name} ${read.issue} (in a URL the plus is %2B).`, {
        errors: [{ path: name, message: read.issue }],
      });
}
