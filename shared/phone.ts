import { parsePhoneNumberFromString as parseExactly } from "libphonenumber-js/max";
import { parsePhoneNumberFromString as parse } from "libphonenumber-js/min";

/** Longest text looked at: fifteen digits, a plus, and a separator between any two of them. */
const LONGEST_TEXT = 32;

/** A plus, a country code, then digits with ASCII separators a person may write between them; it ends with a digit. Linear: one class, no nesting. */
const WRITTEN = /^\+[1-9][0-9 ().-]{4,29}[0-9]$/;
const SEPARATORS = /[ ().-]/g;
const E164 = /^\+[1-9][0-9]{6,14}$/;

/**
 * The number in E.164 (`+14155550100`), or null when the text is no valid phone number with its country code.
 * Only ASCII is taken: other scripts' digits, invisible marks, line breaks, `tel:` and extensions are refused rather than guessed at,
 * because two spellings of one number must never be told apart by the blacklist. Validity is that of libphonenumber's numbering plan per
 * country (length and leading digits); its tables of allocated ranges are left out, since they age and the carrier knows better.
 */
export function toE164(text: string): string | null {
  if (text.length > LONGEST_TEXT || !WRITTEN.test(text)) return null;
  const parsed = parse(text.replace(SEPARATORS, ""), { extract: false });
  if (!parsed?.isValid() || parsed.ext !== undefined) return null;
  return E164.test(parsed.number) ? parsed.number : null;
}

/**
 * ISO 3166 alpha-2 country of a number in E.164. Where a calling code is shared and the range is not allocated, its main country (+1: US);
 * null where the number belongs to no country (satellite, universal free-phone) or is no number.
 */
export function countryOf(e164: string): string | null {
  if (!E164.test(e164)) return null;
  const parsed = parseExactly(e164, { extract: false });
  return parsed?.country ?? parsed?.getPossibleCountries()[0] ?? null;
}
