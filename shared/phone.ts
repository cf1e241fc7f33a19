import { parsePhoneNumberFromString as parseExactly } from "libphonenumber-js/max";
import { parsePhoneNumberFromString as parse } from "libphonenumber-js/min";
import { WRITTEN_PHONE } from "./contracts/define.ts";
import { fail } from "./errors.ts";

/** Longest text that is parsed: fifteen digits, a plus, and a separator between any two of them. */
const LONGEST_TEXT = 32;

const WRITTEN = new RegExp(WRITTEN_PHONE);
const SEPARATORS = /[ ().-]/g;
const E164 = /^\+[1-9][0-9]{6,14}$/;
/** North American area codes begin with 2 to 9; a length check alone lets +1 000… through. */
const NO_AREA_CODE = /^\+1[01]/;

/** Whether a text is written as E.164: a plus and 7 to 15 digits. */
export const isE164 = (text: string): boolean => E164.test(text);

/**
 * The number in E.164 (`+14155550100`), or null when the text is no valid phone number with its country code.
 * Only ASCII is taken: other scripts' digits, invisible marks, line breaks, `tel:` and extensions are refused rather than guessed at,
 * because two spellings of one number must never differ for the blacklist. Checked is the form libphonenumber knows for the country
 * (calling code, lengths, trunk prefix). Its tables of allocated ranges are left out: they age, a new range would be refused, and the carrier's
 * own refusal (INVALID_NUMBER) rings nowhere.
 */
export function toE164(text: string): string | null {
  if (text.length > LONGEST_TEXT || !WRITTEN.test(text)) return null;
  const e164 = parsed(text.replace(SEPARATORS, ""));
  // a trunk zero may be dropped once; what changes again on a second reading is no number
  return e164 !== null && parsed(e164) === e164 ? e164 : null;
}

function parsed(text: string): string | null {
  const number = parse(text, { extract: false });
  if (!number?.isPossible() || number.ext !== undefined) return null;
  return isE164(number.number) && !NO_AREA_CODE.test(number.number) ? number.number : null;
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
export const givenNumber = (text: string, name: string): string =>
  toE164(text) ??
  fail("INVALID_PHONE_NUMBER", `${name} is no valid phone number; send it in E.164. Nothing was changed.`, {
    errors: [{ path: name, message: "is not a phone number in E.164, such as +14155550100" }],
  });

/** The number that a list is narrowed to by its filter `name`. INVALID_PHONE_NUMBER. */
export const soughtNumber = (text: string, name: string): string =>
  toE164(text) ??
  fail(
    "INVALID_PHONE_NUMBER",
    `The filter ${name} is no valid phone number; write it in E.164 (in a URL the plus is %2B).`,
    { errors: [{ path: name, message: "is not a phone number in E.164, such as +14155550100" }] },
  );
